// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/version_cursor.h"

#include <algorithm>
#include <utility>

#include "base/assertions.h"
#include "base/logging.h"
#include "mvcc/row/version_cursor_impl.h"

namespace rowan {
void ByteArena::Grow(size_t more) {
  const size_t capacity = std::max<size_t>(1024, std::max(2 * capacity_, size_ + more));
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(capacity);
  if (size_ != 0) std::memcpy(bytes.get(), bytes_.get(), size_);
  bytes_ = std::move(bytes);
  capacity_ = capacity;
}

VersionCursor::VersionCursor(TxnManager* manager) : impl_(std::make_unique<Impl>(manager)) {}
VersionCursor::~VersionCursor() = default;

void VersionCursor::Open(Txn* txn, IndexRef* index, const ReadOptions& options) {
  Impl& it = *impl_;
  ROWAN_DCHECK(options.mode != ReadMode::kSnapshot || txn->snapshot.active());
  it.txn = txn;
  it.index = index;
  it.options = options;
  if (it.cursor.has_value()) {
    it.cursor->Reset(&index->tree);
  } else {
    it.cursor.emplace(&index->tree);
  }
  it.has_end = false;
  it.counted_leaf = kNoPage;
  it.StartBatch(true);
}

void VersionCursor::Close() {
  impl_->StartBatch(true);
  impl_->index = nullptr;
}

void VersionCursor::SetEnd(Bytes end_key) {
  impl_->has_end = !end_key.empty();
  impl_->end_key.assign(end_key.begin(), end_key.end());
}

Status VersionCursor::SeekAtLeast(Bytes key, VersionView* view) {
  Impl& it = *impl_;
  it.StartBatch(true);
  it.StartCover(key, key);
  return it.Deliver(it.Collect(it.cursor->SeekAtLeast(key)), view);
}

Status VersionCursor::SeekAfter(Bytes key, VersionView* view) {
  Impl& it = *impl_;
  it.StartBatch(true);
  // Behind every ordinal; keys delimit themselves, so the next one is behind this, too.
  it.seek_key.assign(key.begin(), key.end());
  it.seek_key.insert(it.seek_key.end(), kOrdinalBytes, std::byte{0xFF});
  it.StartCoverBehind(key, it.seek_key);
  return it.Deliver(it.Collect(it.cursor->SeekAtLeast(it.seek_key)), view);
}

Status VersionCursor::SeekBefore(Bytes key, VersionView* view) {
  Impl& it = *impl_;
  it.StartBatch(false);
  it.StartCover(key, key);
  return it.Deliver(it.Collect(it.cursor->SeekBefore(key)), view);
}

Status VersionCursor::SeekFirst(VersionView* view) {
  Impl& it = *impl_;
  it.StartBatch(true);
  it.StartCover({}, {});
  return it.Deliver(it.Collect(it.cursor->SeekFirst()), view);
}

Status VersionCursor::SeekLast(VersionView* view) {
  Impl& it = *impl_;
  it.StartBatch(false);
  it.StartCoverFromLast();
  return it.Deliver(it.Collect(it.cursor->SeekLast()), view);
}

Status VersionCursor::Get(Bytes key, VersionView* view) {
  Impl& it = *impl_;
  it.StartBatch(true);
  Status status = it.Exact(key, it.cursor->SeekAtLeast(key));
  if (it.locking() && it.options.lock_gaps) status = it.CoverAbsent(key, status);
  status = it.Deliver(status, view);
  if (status.ok()) return status;
  it.place = Impl::Place::kNowhere;
  return status.Is(Code::kEndOfRange) ? Status(Code::kNotFound) : status;
}

Status VersionCursor::Next(VersionView* view) {
  Impl& it = *impl_;
  using Place = Impl::Place;
  if (it.place == Place::kPastEnd) return Status(Code::kEndOfRange);
  if (it.place != Place::kOnItem) return SeekFirst(view);
  if (it.forward ? ++it.position < it.items.size() : it.position-- > 0) {
    it.Show(view);
    return Status::Ok();
  }
  return it.Deliver(it.forward ? it.Continue() : it.TurnAround(true), view);
}

Status VersionCursor::Prev(VersionView* view) {
  Impl& it = *impl_;
  using Place = Impl::Place;
  if (it.place == Place::kBeforeStart) return Status(Code::kEndOfRange);
  if (it.place == Place::kPastEnd && it.has_end) {
    const std::vector<std::byte> end = it.end_key;
    return SeekBefore(end, view);
  }
  if (it.place != Place::kOnItem) return SeekLast(view);
  if (it.forward ? it.position-- > 0 : ++it.position < it.items.size()) {
    it.Show(view);
    return Status::Ok();
  }
  return it.Deliver(it.forward ? it.TurnAround(false) : it.Continue(), view);
}

void VersionCursor::UnlockCurrent() {
  if (impl_->place == Impl::Place::kOnItem) impl_->GiveBackCurrentLock();
}

bool VersionCursor::current_is_unlocked() const {
  return impl_->place == Impl::Place::kOnItem && impl_->current_is_unlocked;
}

Status VersionCursor::LockCurrent(VersionView* view) {
  Impl& it = *impl_;
  ROWAN_CHECK(current_is_unlocked());
  const BatchItem& item = it.items[it.position];
  const Bytes key = it.arena.At(item.key_offset, item.key_bytes);
  it.seek_key.assign(key.begin(), key.end());
  it.StartBatch(it.forward);
  const bool semi_consistent = std::exchange(it.options.semi_consistent, false);
  const Status status = it.Deliver(it.LockFrom(it.SeekAgain()), view);
  it.options.semi_consistent = semi_consistent;
  return status;
}

Result<uint64_t> VersionCursor::CountAll(const std::atomic<bool>* interrupted) {
  ROWAN_CHECK(!impl_->locking());
  return impl_->Count(interrupted);
}

// --- shared by both kinds of scan ---

Status VersionCursor::Impl::Deliver(Status status, VersionView* view) {
  if (cursor->latched()) cursor->Unlatch();
  if (status.ok()) {
    Show(view);
    return status;
  }
  place = !status.Is(Code::kEndOfRange) ? Place::kNowhere
          : forward                     ? Place::kPastEnd
                                        : Place::kBeforeStart;
  return status;
}

void VersionCursor::Impl::Show(VersionView* view) const {
  const BatchItem& item = items[position];
  view->key = StripOrdinal(arena.At(item.key_offset, item.key_bytes), item.has_ordinal);
  view->value = arena.At(item.value_offset, item.value_bytes);
}

Status VersionCursor::Impl::Continue() {
  if (finished) return Status(Code::kEndOfRange);
  constexpr size_t kBatchGrowth = 4;
  constexpr size_t kBatchMax = 16384;  // more than any leaf holds
  limit = std::min(kBatchMax, limit * kBatchGrowth);
  items.clear();
  arena.Clear();
  return Collect(forward ? cursor->Next() : cursor->Prev());
}

Status VersionCursor::Impl::TurnAround(bool forward_now) {
  // The step that brought us here left `position` outside; the item turned at is the first one.
  const BatchItem& item = items.front();
  const Bytes key = arena.At(item.key_offset, item.key_bytes);
  seek_key.assign(key.begin(), key.end());
  const bool has_ordinal = item.has_ordinal;
  StartBatch(forward_now);
  const Bytes plain_key = StripOrdinal(seek_key, has_ordinal);
  if (!forward_now) {
    StartCover(plain_key, seek_key);
    return Collect(cursor->SeekBefore(seek_key));
  }
  StartCoverBehind(plain_key, seek_key);
  seek_key.push_back(std::byte{0});  // the least key behind it
  return Collect(cursor->SeekAtLeast(seek_key));
}

Status VersionCursor::Impl::Damage(const char* what) const {
  LogError("index {} in space {}: page {}: {}", index->id().value(), index->tree.space().value(),
           cursor->leaf().value(), what);
  return Status(Code::kCorrupt, what, cursor->leaf().value());
}

}  // namespace rowan
