// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/discarded_table.h"

#include "my_base.h"
#include "my_sys.h"
#include "mysqld_error.h"
#include "sql/dd/properties.h"
#include "sql/table.h"

namespace rowan {
namespace {

constexpr const char* kDiscardedProperty = "rowan_discarded";

}  // namespace

bool IsDiscarded(const dd::Properties& properties) { return properties.exists(kDiscardedProperty); }

void SetDiscarded(bool discarded, dd::Properties* properties) {
  if (discarded) {
    properties->set(kDiscardedProperty, true);
  } else {
    properties->remove(kDiscardedProperty);
  }
}

int RefuseDiscarded(const TABLE_SHARE& share) {
  my_error(ER_TABLESPACE_DISCARDED, MYF(0), share.normalized_path.str);
  return HA_ERR_TABLESPACE_MISSING;
}

}  // namespace rowan
