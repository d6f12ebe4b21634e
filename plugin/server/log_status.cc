// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/log_status.h"

#include "sql-common/json_dom.h"
#include "sql/handler.h"

#include "engine/engine.h"
#include "plugin/server/instance.h"

namespace rowan {
namespace {

// Nothing need be stopped: the position is read once, and a commit that is in the binary log was
// logged before the server locked it.
bool Lock(handlerton*) { return false; }
bool Unlock(handlerton*) { return false; }

bool Collect(handlerton*, Json_dom* json) {
  const EngineFigures figures = g_engine->Figures();
  Json_object positions;
  const Json_int lsn(static_cast<longlong>(figures.log_tail.value()));
  const Json_int checkpoint(static_cast<longlong>(figures.log_checkpoint.value()));
  return positions.add_clone("LSN", &lsn) || positions.add_clone("LSN_checkpoint", &checkpoint) ||
         static_cast<Json_object*>(json)->add_clone("Rowan", &positions);
}

}  // namespace

void SetLogStatusHooks(handlerton* hton) {
  hton->lock_hton_log = Lock;
  hton->unlock_hton_log = Unlock;
  hton->collect_hton_log_info = Collect;
}

}  // namespace rowan
