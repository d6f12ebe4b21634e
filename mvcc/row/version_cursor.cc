// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/version_cursor.h"

#include <algorithm>

#include "base/assertions.h"

namespace rowan {

VersionCursor::VersionCursor(TxnManager* manager)
    : scan_(manager), snapshot_(&scan_, &note_), locking_(&scan_), note_(&scan_) {}

void VersionCursor::Open(Txn* txn, Index* index, const ReadOptions& options) {
  ROWAN_DCHECK(options.mode != ReadMode::kSnapshot || txn->snapshot.active());
  scan_.Open(txn, index, options);
  snapshot_.Open();
  StartBatch(true);
}

void VersionCursor::StartBatch(bool forward) {
  note_.Stop();
  RestartBatch(forward);
}

void VersionCursor::RestartBatch(bool forward) {
  scan_.StartBatch(forward);
  snapshot_.StartBatch();
  locking_.StartBatch();
}

void VersionCursor::Close() {
  StartBatch(true);
  scan_.index = nullptr;
}

void VersionCursor::LetGo() {
  if (scan_.cursor.has_value()) scan_.cursor->LetGo();
  note_.LetGo();
  RestartBatch(true);
}

void VersionCursor::SetEnd(Bytes end_key) {
  // What is collected already was noted as far as it goes; with the same end it goes on being so.
  if (scan_.has_end == !end_key.empty() && EqualBytes(scan_.end_key, end_key)) return;
  if (!note_.growing()) note_.Stop();
  KeepEnd(end_key);
}

void VersionCursor::KeepEnd(Bytes end_key) {
  scan_.has_end = !end_key.empty();
  scan_.end_key.assign(end_key.begin(), end_key.end());
}

Status VersionCursor::SeekAtLeast(Bytes key, VersionView* view) {
  StartBatch(true);
  if (const Status noted = note_.Forward(key, key); !noted.ok()) return Deliver(noted, view);
  locking_.cover()->Start(key, key);
  return Deliver(Collect(scan_.cursor->SeekAtLeast(key)), view);
}

Status VersionCursor::SeekAfter(Bytes key, VersionView* view) {
  StartBatch(true);
  // Behind every repeat; keys delimit themselves, so the next one is behind this, too.
  scan_.seek_key.assign(key.begin(), key.end());
  scan_.seek_key.insert(scan_.seek_key.end(), kRepeatBytes, std::byte{0xFF});
  if (const Status noted = note_.Forward(key, scan_.seek_key); !noted.ok()) {
    return Deliver(noted, view);
  }
  locking_.cover()->StartBehind(key, scan_.seek_key);
  return Deliver(Collect(scan_.cursor->SeekAtLeast(scan_.seek_key)), view);
}

Status VersionCursor::SeekBefore(Bytes key, VersionView* view) {
  StartBatch(false);
  if (const Status noted = note_.Backward(key, key); !noted.ok()) return Deliver(noted, view);
  locking_.cover()->Start(key, key);
  return Deliver(Collect(scan_.cursor->SeekBefore(key)), view);
}

Status VersionCursor::SeekFirst(VersionView* view) {
  StartBatch(true);
  if (const Status noted = note_.Forward({}, {}); !noted.ok()) return Deliver(noted, view);
  locking_.cover()->Start({}, {});
  return Deliver(Collect(scan_.cursor->SeekFirst()), view);
}

Status VersionCursor::SeekLast(VersionView* view) {
  StartBatch(false);
  if (const Status noted = note_.BackwardFromLast(); !noted.ok()) return Deliver(noted, view);
  locking_.cover()->StartFromLast();
  return Deliver(Collect(scan_.cursor->SeekLast()), view);
}

Status VersionCursor::Get(Bytes key, VersionView* view) {
  StartBatch(true);
  if (const Status noted = note_.Key(key); !noted.ok()) return Deliver(noted, view);
  const Status positioned = scan_.SeekTo(key);
  const Status status = Deliver(
      note_.Check(scan_.locking() ? locking_.Get(key, positioned) : snapshot_.Get(key, positioned)),
      view);
  if (status.ok()) return status;
  scan_.place = Place::kNowhere;
  return status.Is(Code::kEndOfRange) ? Status(Code::kNotFound) : status;
}

Status VersionCursor::Next(VersionView* view) {
  if (scan_.place == Place::kPastEnd) return Status(Code::kEndOfRange);
  if (scan_.place != Place::kOnItem) return SeekFirst(view);
  if (scan_.forward ? ++scan_.position < scan_.items.size() : scan_.position-- > 0) {
    Show(view);
    return Status::Ok();
  }
  return Deliver(scan_.forward ? Continue() : TurnAround(true), view);
}

Status VersionCursor::Prev(VersionView* view) {
  if (scan_.place == Place::kBeforeStart) return Status(Code::kEndOfRange);
  if (scan_.place == Place::kPastEnd && scan_.has_end) {
    const std::vector<std::byte> end = scan_.end_key;
    return SeekBefore(end, view);
  }
  if (scan_.place != Place::kOnItem) return SeekLast(view);
  if (scan_.forward ? scan_.position-- > 0 : ++scan_.position < scan_.items.size()) {
    Show(view);
    return Status::Ok();
  }
  return Deliver(scan_.forward ? TurnAround(false) : Continue(), view);
}

void VersionCursor::UnlockCurrent() {
  if (scan_.place == Place::kOnItem) locking_.UnlockCurrent();
}

bool VersionCursor::current_is_unlocked() const {
  return scan_.place == Place::kOnItem && locking_.current_is_unlocked();
}

Status VersionCursor::LockCurrent(VersionView* view) {
  ROWAN_CHECK(current_is_unlocked());
  const Bytes key = scan_.KeyOf(scan_.items[scan_.position]);
  scan_.seek_key.assign(key.begin(), key.end());
  StartBatch(scan_.forward);
  return Deliver(locking_.CollectLocked(scan_.SeekAgain()), view);
}

Result<uint64_t> VersionCursor::CountRange(Bytes from, Bytes end) {
  ROWAN_CHECK(!scan_.locking());
  note_.Stop();
  const Status noted = note_.Range(from, end, true);
  if (!noted.ok()) return noted;
  Result<uint64_t> count = snapshot_.Count(from, end);
  const Status allowed = note_.Check(count.status());
  SetEnd({});
  if (!allowed.ok()) return allowed;
  return count;
}

Status VersionCursor::SeekNumber(Bytes from, Bytes end, SnapshotScan::Ordinal ordinal,
                                 VersionView* view) {
  ROWAN_CHECK(!scan_.locking());
  note_.Stop();
  if (const Status noted = note_.Range(from, end, ordinal.forward); !noted.ok()) {
    return Deliver(noted, view);
  }
  std::vector<std::byte> key;
  const Status found = note_.Check(snapshot_.Find(from, end, ordinal, &key));
  RestartBatch(ordinal.forward);
  KeepEnd(end);
  if (!found.ok()) return Deliver(found, view);
  scan_.seek_key = key;
  return Deliver(Collect(scan_.SeekAgain()), view);
}

Status VersionCursor::Deliver(Status status, VersionView* view) {
  if (scan_.cursor->latched()) scan_.cursor->Unlatch();
  if (status.ok()) {
    Show(view);
    return status;
  }
  scan_.place = !status.Is(Code::kEndOfRange) ? Place::kNowhere
                : scan_.forward               ? Place::kPastEnd
                                              : Place::kBeforeStart;
  return status;
}

void VersionCursor::Show(VersionView* view) const {
  const BatchItem& item = scan_.items[scan_.position];
  view->key = StripRepeat(scan_.KeyOf(item), item.has_repeat);
  view->value = scan_.arena.At(item.value_offset, item.value_bytes);
}

Status VersionCursor::Continue() {
  if (scan_.finished) return Status(Code::kEndOfRange);
  if (const Status noted = note_.GoOn(); !noted.ok()) return noted;
  constexpr size_t kBatchGrowth = 4;
  constexpr size_t kBatchMax = 16384;  // more than any leaf holds
  scan_.limit = std::min(kBatchMax, scan_.limit * kBatchGrowth);
  scan_.ClearBatch();
  return Collect(scan_.Step());
}

Status VersionCursor::TurnAround(bool forward_now) {
  // The step that brought us here left `position` outside; the item turned at is the first one.
  const BatchItem& item = scan_.items.front();
  const Bytes key = scan_.KeyOf(item);
  scan_.seek_key.assign(key.begin(), key.end());
  const bool has_repeat = item.has_repeat;
  StartBatch(forward_now);
  const Bytes plain_key = StripRepeat(scan_.seek_key, has_repeat);
  const size_t plain_bytes = plain_key.size();
  if (!forward_now) {
    if (const Status noted = note_.Backward(plain_key, scan_.seek_key); !noted.ok()) return noted;
    locking_.cover()->Start(plain_key, scan_.seek_key);
    return Collect(scan_.cursor->SeekBefore(scan_.seek_key));
  }
  locking_.cover()->StartBehind(plain_key, scan_.seek_key);
  scan_.seek_key.push_back(std::byte{0});  // the least key behind it
  const Bytes place = scan_.seek_key;
  if (const Status noted = note_.Forward(place.first(plain_bytes), place); !noted.ok()) {
    return noted;
  }
  return Collect(scan_.cursor->SeekAtLeast(scan_.seek_key));
}

}  // namespace rowan
