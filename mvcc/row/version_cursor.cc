// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/version_cursor.h"

#include <algorithm>
#include <cstring>

#include "base/assertions.h"
#include "base/full_fence.h"

namespace rowan {

VersionCursor::VersionCursor(TxnManager* manager)
    : scan_(manager), snapshot_(&scan_, &note_), locking_(&scan_), note_(&scan_) {}

void VersionCursor::Bind(Txn* txn, Index* index, const ReadOptions& options) {
  ROWAN_DCHECK(options.mode != ReadMode::kSnapshot || txn->snapshot.active());
  scan_.Open(txn, index, options);
  snapshot_.Open();
  StartBatch(Direction::kForward);
}

void VersionCursor::StartBatch(Direction direction) {
  note_.Stop();
  RestartBatch(direction);
}

void VersionCursor::RestartBatch(Direction direction) {
  scan_.StartBatch(direction);
  snapshot_.StartBatch();
  locking_.StartBatch();
}

void VersionCursor::Suspend() {
  if (scan_.on_entry()) Stay(Place::kAtKey, scan_.PlainKeyOf(scan_.items[scan_.position]));
  StartBatch(scan_.direction);
  scan_.index = nullptr;
}

void VersionCursor::Close() {
  StartBatch(Direction::kForward);
  Forget();
  scan_.index = nullptr;
}

void VersionCursor::Forget() {
  scan_.place.kind = Place::kNowhere;
  scan_.end_key.clear();
  scan_.start_key.clear();
}

void VersionCursor::LetGo() {
  if (scan_.cursor.has_value()) scan_.cursor->LetGo();
  note_.LetGo();
  RestartBatch(Direction::kForward);
  scan_.place.kind = Place::kNowhere;
}

void VersionCursor::SetEnd(Bytes end_key) {
  // What is collected already was noted as far as it goes; with the same end it goes on being so.
  if (EqualBytes(scan_.end_key, end_key)) return;
  if (!note_.growing()) note_.Stop();
  scan_.end_key.assign(end_key.begin(), end_key.end());
}

// --- where the scan is ---

ScanPlace VersionCursor::place() const {
  const bool has_key = scan_.place.kind == Place::kAtKey || scan_.place.kind == Place::kInGap;
  if (!scan_.on_entry()) return has_key ? scan_.place : ScanPlace{.kind = scan_.place.kind};
  const Bytes key = scan_.PlainKeyOf(scan_.items[scan_.position]);
  return {Place::kAtKey, {key.begin(), key.end()}};
}

void VersionCursor::Stay(Place kind, Bytes key) {
  std::vector<std::byte>& kept = scan_.place.key;
  if (key.size() != kept.size()) {
    kept.assign(key.begin(), key.end());
  } else if (!key.empty()) {
    std::memmove(kept.data(), key.data(), key.size());
  }
  if (scan_.on_entry()) StartBatch(scan_.direction);
  scan_.place.kind = kind;
}

void VersionCursor::StayOutside(Direction direction) {
  if (scan_.place.kind == Place::kInGap) return;
  const bool forward = direction == Direction::kForward;
  const std::vector<std::byte>& bound = forward ? scan_.end_key : scan_.start_key;
  Stay(!bound.empty() ? Place::kInGap : forward ? Place::kPastEnd : Place::kBeforeStart, bound);
}

Status VersionCursor::PassStart() {
  if (scan_.txn->isolation <= IsolationLevel::kReadCommitted) UnlockCurrent();
  Stay(Place::kInGap, scan_.start_key);
  return Status(Code::kEndOfRange);
}

// --- moving ---

Status VersionCursor::Begin(Direction direction, const ScanStart& start, VersionView* view) {
  StartBatch(direction);
  if (const Status noted = note_.Start(start); !noted.ok()) return Deliver(noted, view);
  locking_.cover()->Start(start);
  const bool from_end = start.from == ScanStart::From::kEnd;
  return Deliver(Collect(scan_.cursor->Seek(direction, from_end ? nullptr : &start.tree_key)),
                 view);
}

Status VersionCursor::BeginAfter(size_t plain_bytes, VersionView* view) {
  scan_.seek_key.push_back(std::byte{0});  // the least key after it
  const Bytes place = scan_.seek_key;
  return Begin(Direction::kForward, {ScanStart::From::kAfterKey, place.first(plain_bytes), place},
               view);
}

Status VersionCursor::SeekAfter(Bytes key, VersionView* view) {
  // After every repeat; keys delimit themselves, so the next one is after this, too.
  scan_.seek_key.assign(key.begin(), key.end());
  scan_.seek_key.insert(scan_.seek_key.end(), kRepeatBytes, std::byte{0xFF});
  return BeginAfter(key.size(), view);
}

Status VersionCursor::StepFar(Direction direction, VersionView* view) {
  const bool forward = direction == Direction::kForward;
  switch (scan_.place.kind) {
    case Place::kOnEntry:
      if (direction != scan_.direction) return StepBack(view);
      return scan_.alone ? SeekAfter(scan_.PlainKeyOf(scan_.items.front()), view)
                         : Deliver(Continue(), view);
    case Place::kAtKey:
      return forward ? SeekAfter(scan_.place.key, view) : SeekBefore(scan_.place.key, view);
    case Place::kInGap: {
      const Status status = Seek(direction, scan_.place.key, view);
      if (status.Is(Code::kEndOfRange)) scan_.place.kind = Place::kInGap;
      return status;
    }
    case Place::kPastEnd:
      if (forward) return Status(Code::kEndOfRange);
      return scan_.has_end() ? SeekBefore(scan_.end_key, view) : SeekLast(view);
    case Place::kBeforeStart: return forward ? SeekFirst(view) : Status(Code::kEndOfRange);
    case Place::kNowhere: break;
  }
  return Begin(direction, kFromEnd, view);
}

Status VersionCursor::StepBack(VersionView* view) {
  if (scan_.position > 0) {
    --scan_.position;
    return Show(Opposite(scan_.direction), view);
  }
  const BatchItem& item = scan_.items.front();
  const Bytes key = scan_.KeyOf(item);
  const size_t plain_bytes = scan_.PlainKeyOf(item).size();
  scan_.seek_key.assign(key.begin(), key.end());
  if (!scan_.forward()) return BeginAfter(plain_bytes, view);
  const Bytes place = scan_.seek_key;
  return Begin(Direction::kBackward, {ScanStart::From::kKey, place.first(plain_bytes), place},
               view);
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

Status VersionCursor::Deliver(Status status, VersionView* view) {
  if (scan_.cursor->latched()) scan_.cursor->Unlatch();
  if (status.ok()) return Show(scan_.direction, view);
  scan_.place.kind = !status.Is(Code::kEndOfRange) ? Place::kNowhere
                     : scan_.forward()             ? Place::kPastEnd
                                                   : Place::kBeforeStart;
  return status;
}

Status VersionCursor::Get(Bytes key, VersionView* view) {
  StartBatch(Direction::kForward);
  if (const Status noted = note_.Key(key); !noted.ok()) return Deliver(noted, view);
  const bool unlatched = scan_.index->clustered && !scan_.locking();
  if (unlatched) {
    // The note before the leaf's version: a writer changes the leaf before it looks for notes.
    if (scan_.txn->serial != nullptr) FullFence();
    const std::optional<Status> got = snapshot_.TryGetUnlatched(key);
    if (got.has_value()) {
      const Status status = note_.Check(*got);
      if (status.ok()) return Show(Direction::kForward, view);
      scan_.place.kind = Place::kNowhere;
      return status;
    }
  }
  if (unlatched || scan_.watches_leaves) {
    const PageId leaf = LeafAhead(key);
    scan_.leaf_was_absent |= leaf.page != kNoPage && !scan_.index->tree.pool()->IsResident(leaf);
  }
  const Status positioned = unlatched ? scan_.cursor->SeekFound(key) : scan_.SeekTo(key);
  const Status status = Deliver(
      note_.Check(scan_.locking() ? locking_.Get(key, positioned) : snapshot_.Get(key, positioned)),
      view);
  if (status.ok()) return status;
  scan_.place.kind = Place::kNowhere;
  return status.Is(Code::kEndOfRange) ? Status(Code::kNotFound) : status;
}

void VersionCursor::PeekAhead(size_t most, KeyVisit visit) {
  if (!scan_.locking() || !scan_.on_entry() || scan_.index->clustered) return;
  scan_.cursor->PeekAhead(scan_.direction, most, [&](Bytes key, Bytes value) {
    SecondaryHeader header;
    Bytes payload;
    if (ParseSecondary(value, &header, &payload)) visit(StripRepeat(key, header.has_repeat));
  });
}

void VersionCursor::UnlockCurrent() {
  if (scan_.on_entry()) locking_.UnlockCurrent();
}

bool VersionCursor::current_is_unlocked() const {
  return scan_.on_entry() && locking_.current_is_unlocked();
}

Status VersionCursor::LockCurrent(VersionView* view) {
  ROWAN_CHECK(current_is_unlocked());
  const Bytes key = scan_.KeyOf(scan_.items[scan_.position]);
  scan_.seek_key.assign(key.begin(), key.end());
  StartBatch(scan_.direction);
  return Deliver(locking_.CollectLocked(scan_.SeekAgain()), view);
}

Result<uint64_t> VersionCursor::CountRange(Bytes from, Bytes end) {
  ROWAN_CHECK(!scan_.locking());
  note_.Stop();
  const Status noted = note_.Range(from, end);
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
  if (const Status noted = note_.Range(from, end); !noted.ok()) return Deliver(noted, view);
  std::vector<std::byte> key;
  const Status found = note_.Check(snapshot_.Find(from, end, ordinal, &key));
  RestartBatch(ordinal.direction);
  scan_.end_key.assign(end.begin(), end.end());
  if (!found.ok()) return Deliver(found, view);
  scan_.seek_key = key;
  return Deliver(Collect(scan_.SeekAgain()), view);
}

}  // namespace rowan
