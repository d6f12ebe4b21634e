// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/logged_documents.h"

#include "sql/field.h"
#include "sql/table.h"
#include "sql/table_trigger_dispatcher.h"

namespace rowan {

void LogWholeDocuments(TABLE* table) {
  if (table->triggers == nullptr ||
      !table->triggers->has_triggers(TRG_EVENT_UPDATE, TRG_ACTION_BEFORE)) {
    return;
  }
  for (uint i = 0; i < table->s->fields; ++i) {
    const Field* field = table->field[i];
    if (table->is_logical_diff_enabled(field)) table->disable_logical_diffs_for_current_row(field);
  }
}

}  // namespace rowan
