// SPDX-License-Identifier: GPL-2.0-only
// Entries that were computed under other settings. What an expression gives may depend on settings
// of the session, such as time_zone; an index has what the session computed that wrote the row, and
// whoever changes the row computes anew which entry that was. Where it is another one, the row's
// entries are sought in the index.
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include <algorithm>

#include "base/logging.h"

namespace rowan {

Status ha_rowan::ChangeAsStored(Status status, FunctionRef<Status()> change) {
  // Each turn makes one index right.
  for (size_t left = old_image_.entries.size(); left > 0 && IsOtherEntry(status); --left) {
    const Status taken = TakeStoredEntries(status.detail());
    if (!taken.ok()) return taken;
    status = change();
  }
  return status;
}

Status ha_rowan::TakeStoredEntries(uint32_t index_number) {
  TellOfOtherSettings(index_number);
  if (entry_search_ == nullptr) entry_search_ = std::make_unique<EntrySearch>();
  const EntrySearch::Target target{session_, engine_table(), &codec(), index_number,
                                   old_image_.key};
  RowImage::Entry& entry = old_image_.entries[index_number];
  if (!entry.has_several) return entry_search_->FindOne(target, &entry);
  std::vector<EncodedEntry> stored;
  const Status status = entry_search_->FindAll(target, &stored);
  if (!status.ok()) return status;
  std::vector<RowImage::Element>& elements = old_image_.elements;
  std::erase_if(elements, [&](const auto& one) { return one.index_number == index_number; });
  auto place = std::find_if(elements.begin(), elements.end(),
                            [&](const auto& one) { return one.index_number > index_number; });
  for (EncodedEntry& one : stored) {
    place = elements.insert(place, {index_number, std::move(one)}) + 1;
  }
  return Status::Ok();
}

void ha_rowan::TellOfOtherSettings(uint32_t index_number) const {
  if (!share_->MayTellOfOtherSettings()) return;
  const TableDef& definition = engine_table()->definition();
  LogWarning(
      "Index '{}' of table '{}' has entries whose expression gives another value under the "
      "settings of the session that changes their rows, such as time_zone, lc_time_names or "
      "sql_mode. They are sought in the index, which takes longer. ALTER TABLE ... FORCE computes "
      "all of them anew.",
      definition.indexes[index_number].name, definition.name);
}

}  // namespace rowan
