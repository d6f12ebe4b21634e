// SPDX-License-Identifier: GPL-2.0-only
// Entries that were computed under other settings. What an expression gives may depend on settings
// of the session, such as time_zone; an index has what the session that wrote the row computed, and
// a session that changes the row computes again which entry that was. If it is a different one, the
// row's entries are searched for in the index.
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include "base/logging.h"

namespace rowan {

Status ha_rowan::Find(uint32_t index_number, Bytes key, std::vector<EncodedEntry>* entries) {
  TellOfOtherSettings(index_number);
  if (entry_search_ == nullptr) entry_search_ = std::make_unique<EntrySearch>();
  const EntrySearch::Target target{session_, engine_table(), &codec(), index_number, key};
  if (codec().HasSeveralEntries(index_number)) return entry_search_->FindAll(target, entries);
  return entry_search_->FindOne(target, &entries->emplace_back());
}

void ha_rowan::TellOfOtherSettings(uint32_t index_number) const {
  if (!part_->share()->MayTellOfOtherSettings()) return;
  const TableDef& definition = engine_table()->definition();
  LogWarning(
      "Index '{}' of table '{}' has entries whose expression gives another value under the "
      "settings of the session that changes their rows, such as time_zone, lc_time_names or "
      "sql_mode. They are sought in the index, which takes longer. ALTER TABLE ... FORCE computes "
      "all of them anew.",
      definition.indexes[index_number].name, definition.name);
}

}  // namespace rowan
