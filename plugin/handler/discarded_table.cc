// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/discarded_table.h"

#include "my_base.h"
#include "my_sys.h"
#include "mysqld_error.h"
#include "sql/dd/properties.h"

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

int RefuseDiscarded(const char* table) {
  my_error(ER_TABLESPACE_DISCARDED, MYF(0), table);
  return HA_ERR_TABLESPACE_MISSING;
}

}  // namespace rowan
