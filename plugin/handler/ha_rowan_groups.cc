// SPDX-License-Identifier: GPL-2.0-only
// Index scans that deliver only the first rows of each group (engine/group_scan.h), because the
// statement was found to need no others (plugin/pushdown/). The server calls as for any index scan:
// whatever range it asks for is one of whole groups, as the recogniser that made the plan has
// ensured.
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include <bit>
#include <utility>

#include "sql/sql_class.h"
#include "sql/system_variables.h"

#include "base/key_prefix.h"

namespace rowan {

bool ha_rowan::ReadsSnapshot() const {
  return session_ != nullptr && read_options_.mode == ReadMode::kSnapshot &&
         session_->isolation() != IsolationLevel::kSerializable;
}

bool ha_rowan::IsSearchableKey(uint key, uint32_t* index_number) const {
  *index_number = codec().IndexNumberOfKey(key);
  return codec().IsSearchable(*index_number) && !codec().HasSeveralEntries(*index_number) &&
         codec().SpatialReferenceOf(*index_number) == nullptr;
}

std::string ha_rowan::explain_extra() const {
  return group_plan_ == nullptr ? ExplainRowPlan() : group_plan_->description;
}

int ha_rowan::InitGroupScan() {
  part_->scan.prepared = false;
  spatial_scan_.reset();
  part_->scan.bounded_by_key = false;
  reader()->OpenScan(group_plan_->winners.index_number);
  group_scan_ = std::move(group_plan_->closed_scan);
  if (group_scan_ == nullptr) {
    group_scan_ = std::make_unique<GroupScan>(reader(), &codec(), group_plan_->winners);
  }
  return 0;
}

void ha_rowan::KeepGroupScan() {
  const bool is_of_plan = group_plan_ != nullptr && group_scan_ != nullptr &&
                          group_scan_->winners() == group_plan_->winners;
  if (is_of_plan) group_plan_->closed_scan = std::move(group_scan_);
  group_scan_.reset();
}

void ha_rowan::PrepareGroupRead() {
  if (part_->scan.prepared) return;
  // The server expects virtual columns from an index that it reads alone.
  const bool key_read = keyread_ && group_plan_->access_key == group_plan_->group_key;
  bool from_entry = key_read || (group_plan_->is_covering && EntryHasRowReference());
  const MY_BITMAP* const columns = key_read ? ColumnsOfKeyRead(&from_entry) : table->read_set;
  ComputeColumns(keyread_);
  reader()->SetColumns(columns, KeysFor(false));
  reader()->set_entry_only(from_entry && reader()->index() != 0);
  // A row that does not pass the condition is the first of its group none the less.
  reader()->SetFilter(nullptr);
  part_->scan.prepared = true;
}

Bytes ha_rowan::EndOfGroups() {
  if (range_end_ == nullptr) return {};
  bool complete = false;
  codec().EncodeSearchKey(group_plan_->group_key, range_end_->key,
                          PartsInImage(active_index, range_end_->keypart_map), &range_key_,
                          &complete);
  if (range_end_->flag != HA_READ_BEFORE_KEY) PrefixSuccessor(range_key_, &range_key_);
  return range_key_;
}

int ha_rowan::ReadFirstGroup(uchar* record, GroupScan::Direction direction) {
  PrepareGroupRead();
  return PassedCondition(group_scan_->Begin({{}, EndOfGroups()}, direction, record), record,
                         HA_ERR_END_OF_FILE);
}

int ha_rowan::ReadGroupsOf(uchar* record, const KeySearch& search) {
  PrepareGroupRead();
  bool complete = false;
  codec().EncodeSearchKey(group_plan_->group_key, search.key,
                          PartsInImage(active_index, search.parts), &search_key_, &complete);
  PrefixSuccessor(search_key_, &bound_key_);
  GroupScan::Range range;
  auto direction = GroupScan::Direction::kBackward;
  switch (search.flag) {
    case HA_READ_KEY_EXACT:
    case HA_READ_PREFIX: direction = GroupScan::Direction::kForward; [[fallthrough]];
    case HA_READ_PREFIX_LAST:
      range = {search_key_, bound_key_};
      range.is_group = std::popcount(PartsInImage(active_index, search.parts)) ==
                       static_cast<int>(group_plan_->winners.group_parts);
      break;
    case HA_READ_PREFIX_LAST_OR_PREV:
    case HA_READ_KEY_OR_PREV: range.high = bound_key_; break;
    case HA_READ_BEFORE_KEY: range.high = search_key_; break;
    case HA_READ_AFTER_KEY:
    case HA_READ_KEY_OR_NEXT:
      direction = GroupScan::Direction::kForward;
      range = {search.flag == HA_READ_AFTER_KEY ? bound_key_ : search_key_, EndOfGroups()};
      if (range.low.empty()) return HA_ERR_KEY_NOT_FOUND;
      break;
    default: return HA_ERR_UNSUPPORTED;
  }
  return PassedCondition(group_scan_->Begin(range, direction, record), record,
                         HA_ERR_KEY_NOT_FOUND);
}

int ha_rowan::ReadNextOfGroups(uchar* record) {
  PrepareGroupRead();
  return PassedCondition(group_scan_->Next(record), record, HA_ERR_END_OF_FILE);
}

int ha_rowan::PassedCondition(Status found, uchar* record, int error_at_end) {
  while (found.ok() && HasCondition() && !Matches()) {
    if (session_->interrupted()) return HA_ERR_QUERY_INTERRUPTED;
    found = group_scan_->Next(record);
  }
  return Found(found, error_at_end);
}

}  // namespace rowan
