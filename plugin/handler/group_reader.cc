// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/group_reader.h"

#include <bit>
#include <utility>

#include "sql/table.h"

#include "base/key_prefix.h"
#include "plugin/handler/key_bounds.h"

namespace rowan {

void GroupReader::Open(TablePart* part) {
  part->reader()->OpenScan(plan_->winners.index_number);
  scan_ = std::move(plan_->closed_scan);
  if (scan_ == nullptr) {
    scan_ = std::make_unique<GroupScan>(part->reader(), &part->codec(), plan_->winners);
  }
}

void GroupReader::Close() {
  const bool is_of_plan =
      plan_ != nullptr && scan_ != nullptr && scan_->winners() == plan_->winners;
  if (is_of_plan) plan_->closed_scan = std::move(scan_);
  scan_.reset();
}

void GroupReader::Prepare(const Read& read) const {
  TablePart& part = *read.part;
  if (part.scan.prepared) return;
  // The server expects virtual columns from an index in an index-only read.
  const bool key_read = read.key_read->asked && plan_->access_key == plan_->group_key;
  bool from_entry = key_read || (plan_->is_covering && EntryHasRowReference(part));
  const MY_BITMAP* const columns =
      key_read ? read.key_read->ColumnsOf(part, plan_->access_key, &from_entry)
               : part.server_table()->read_set;
  part.ComputeColumns(read.key_read->asked);
  part.SetColumns(columns, read.keys);
  part.reader()->set_entry_only(from_entry && part.reader()->index() != 0);
  part.reader()->SetFilter(nullptr);
  part.scan.prepared = true;
}

key_part_map GroupReader::EncodeKey(const Read& read, const Key& key, ByteBuffer* encoded) const {
  const key_part_map parts = PartsInImage(*read.part->server_table(), plan_->access_key, key.parts);
  bool complete = false;
  read.part->codec().EncodeSearchKey(plan_->group_key, key.key, parts, encoded, &complete);
  return parts;
}

Bytes GroupReader::EndOf(const Read& read) {
  if (read.end == nullptr) return {};
  EncodeKey(read, {read.end->key, read.end->keypart_map, read.end->flag}, &end_);
  if (read.end->flag != HA_READ_BEFORE_KEY) PrefixSuccessor(end_, &end_);
  return end_;
}

Status GroupReader::First(const Read& read, GroupScan::Direction direction) {
  Prepare(read);
  return PassCondition(read, scan_->Begin({{}, EndOf(read)}, direction, read.record));
}

Status GroupReader::Search(const Read& read, const Key& key) {
  Prepare(read);
  const key_part_map parts = EncodeKey(read, key, &low_);
  PrefixSuccessor(low_, &after_);
  GroupScan::Range range;
  auto direction = GroupScan::Direction::kBackward;
  switch (key.flag) {
    case HA_READ_KEY_EXACT:
    case HA_READ_PREFIX: direction = GroupScan::Direction::kForward; [[fallthrough]];
    case HA_READ_PREFIX_LAST:
      range = {low_, after_};
      range.is_group = std::popcount(parts) == static_cast<int>(plan_->winners.group_parts);
      break;
    case HA_READ_PREFIX_LAST_OR_PREV:
    case HA_READ_KEY_OR_PREV: range.high = after_; break;
    case HA_READ_BEFORE_KEY: range.high = low_; break;
    case HA_READ_AFTER_KEY:
    case HA_READ_KEY_OR_NEXT:
      direction = GroupScan::Direction::kForward;
      range = {key.flag == HA_READ_AFTER_KEY ? after_ : low_, EndOf(read)};
      if (range.low.empty()) return Status(Code::kEndOfRange);
      break;
    default: return Status(Code::kUnsupported);
  }
  return PassCondition(read, scan_->Begin(range, direction, read.record));
}

Status GroupReader::Next(const Read& read) {
  Prepare(read);
  return PassCondition(read, scan_->Next(read.record));
}

Status GroupReader::PassCondition(const Read& read, Status found) {
  while (found.ok() && read.condition != nullptr && !read.condition->Matches()) {
    if (read.session->interrupted()) return Status(Code::kInterrupted);
    found = scan_->Next(read.record);
  }
  return found;
}

}  // namespace rowan
