// SPDX-License-Identifier: GPL-2.0-only
#include "engine/group_scan.h"

#include <algorithm>
#include <utility>

#include "base/key_prefix.h"

namespace rowan {
namespace {

/// How many groups are found by seeks after steps were in vain: a failed try costs part of a seek.
constexpr uint32_t kSeeksBetweenTries = 16;

}  // namespace

Status GroupScan::Begin(const Range& range, Direction direction, void* record) {
  // Within one group the direction does not matter: its rows come in their order.
  is_group_ = range.is_group;
  forward_ = is_group_ ? !winners_.from_end : direction == Direction::kForward;
  cursor_->SetGate(this);
  // A bound opposite to the direction would stop the search for a group's first row.
  cursor_->SetEnd(forward_ ? range.high : Bytes());
  cursor_->SetStart(forward_ ? Bytes() : range.low);
  Status found;
  if (forward_) {
    found =
        range.low.empty() ? cursor_->SeekFirst(record) : cursor_->SeekAtLeast(range.low, record);
  } else {
    found =
        range.high.empty() ? cursor_->SeekLast(record) : cursor_->SeekBefore(range.high, record);
  }
  return EnterGroup(found, record);
}

Status GroupScan::Next(void* record) {
  if (winners_.count == GroupWinners::Count::kRows && rows_ >= winners_.most) {
    return GoToNextGroup(record);
  }
  const Status moved = winners_.from_end ? cursor_->Prev(record) : cursor_->Next(record);
  if (!moved.ok() && !moved.Is(Code::kEndOfRange)) return moved;
  if (moved.ok() && HasPrefix(cursor_->entry_key(), group_)) {
    return Wants() ? moved : GoToNextGroup(record);
  }
  // The step has left the group: if groups are reached at this end, into the next one.
  return aligned() ? EnterGroup(moved, record) : GoToNextGroup(record);
}

Status GroupScan::EnterGroup(Status found, void* record) {
  if (!found.ok()) return found;
  const Bytes key = cursor_->entry_key();
  const Bytes group = key.first(Split().group_bytes);
  group_.assign(group.begin(), group.end());
  rows_ = 0;
  values_ = 0;
  if (!aligned()) found = SeekFirstOf(group_, !winners_.from_end, record);
  if (found.ok() && winners_.passes_nulls && Split().order_is_null) found = SeekBehindNulls(record);
  if (found.ok()) Wants();
  return found;
}

Status GroupScan::SeekBehindNulls(void* record) {
  const Bytes null = cursor_->entry_key().first(Split().ordered_bytes);
  order_.assign(null.begin(), null.end());
  const Status found = SeekBehind(order_, !winners_.from_end, record);
  if (!found.ok() && !found.Is(Code::kEndOfRange)) return found;
  if (found.ok() && HasPrefix(cursor_->entry_key(), group_)) return found;
  return SeekFirstOf(order_, !winners_.from_end, record);
}

Status GroupScan::GoToNextGroup(void* record) {
  // There is only one group if the range is one, or rows are not grouped at all.
  if (is_group_ || group_.empty()) return Status(Code::kEndOfRange);
  const bool may_step = aligned() && steps_most_ > 0;
  if (may_step) return StepToNextGroup(record);
  if (seeks_to_come_ == 0 || --seeks_to_come_ == 0) steps_most_ = 2;
  return EnterGroup(SeekBehind(group_, forward_, record), record);
}

Status GroupScan::StepToNextGroup(void* record) {
  // After the greatest prefix there is no group, and no key to continue from.
  const bool is_last = std::all_of(group_.begin(), group_.end(),
                                   [](std::byte byte) { return byte == std::byte{0xFF}; });
  if (forward_ && is_last) return Status(Code::kEndOfRange);
  stepping_ = true;
  stepped_ = 0;
  const Status moved = forward_ ? cursor_->Next(record) : cursor_->Prev(record);
  stepping_ = false;
  if (stepped_ <= steps_most_) {
    steps_most_ = std::min(kStepsMax, 2 * steps_most_);
  } else {
    steps_most_ /= 2;
    seeks_to_come_ = kSeeksBetweenTries;
  }
  return EnterGroup(moved, record);
}

bool GroupScan::Admits(Bytes key, Bytes, Bytes* go_on) {
  if (!stepping_ || !HasPrefix(key, group_)) return true;
  if (++stepped_ > steps_most_) {
    if (forward_) PrefixSuccessor(group_, &seek_);
    *go_on = forward_ ? Bytes(seek_) : Bytes(group_);
  }
  return false;
}

Status GroupScan::SeekBehind(Bytes prefix, bool forwards, void* record) {
  if (!forwards) return cursor_->SeekBefore(prefix, record);
  PrefixSuccessor(prefix, &seek_);
  return seek_.empty() ? Status(Code::kEndOfRange) : cursor_->SeekAtLeast(seek_, record);
}

Status GroupScan::SeekFirstOf(Bytes prefix, bool forwards, void* record) {
  if (forwards) return cursor_->SeekAtLeast(prefix, record);
  PrefixSuccessor(prefix, &seek_);
  return seek_.empty() ? cursor_->SeekLast(record) : cursor_->SeekBefore(seek_, record);
}

bool GroupScan::Wants() {
  if (winners_.count == GroupWinners::Count::kRows) return rows_++ < winners_.most;
  const Bytes value = cursor_->entry_key().first(Split().ordered_bytes);
  const bool is_tie = rows_ > 0 && EqualBytes(value, order_);
  const uint64_t before = winners_.count == GroupWinners::Count::kDenseRank ? values_ : rows_;
  if (!is_tie && before >= winners_.most) return false;
  ++rows_;
  if (!is_tie) ++values_;
  order_.assign(value.begin(), value.end());
  return true;
}

KeyParts::GroupKey GroupScan::Split() const {
  return parts_->SplitKey(winners_.index_number, cursor_->entry_key(),
                          {winners_.group_parts, winners_.order_parts});
}

}  // namespace rowan
