// SPDX-License-Identifier: GPL-2.0-only
#include "buffer/redo_backlog.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/assertions.h"
#include "buffer/page/page_header.h"
#include "wal/redo.h"

namespace rowan {
namespace {

constexpr size_t kCapacityMin = 64;
constexpr uint32_t kUnitBytes = sizeof(uint64_t);
/// A small backlog takes little; later blocks are larger than its directory's pages.
constexpr uint32_t kBlockUnits = (uint32_t{64} << 10) / kUnitBytes;
/// Chunks grow with the list, so a list's unused space stays in proportion.
constexpr uint32_t kChunkBytesMin = 16;
constexpr uint32_t kChunkBytesMax = 64;
/// Groups from which one page's records are read at once.
constexpr size_t kSliceGroups = 8192;

}  // namespace

struct RedoBacklog::Chunk {
  uint32_t next;
  uint8_t capacity;  ///< of `bytes`, which follow the header
  uint8_t used;

  static constexpr uint32_t kHeaderBytes = 6;
  static_assert(kChunkBytesMax - kHeaderBytes <= UINT8_MAX);
  static_assert(kChunkBytesMin - kHeaderBytes >= kVarintBytesMax);
  [[nodiscard]] std::byte* bytes() { return reinterpret_cast<std::byte*>(this) + kHeaderBytes; }
  [[nodiscard]] const std::byte* bytes() const {
    return reinterpret_cast<const std::byte*>(this) + kHeaderBytes;
  }
};

/// Walks a list.
class RedoBacklog::ListCursor {
 public:
  /// `list`: the page's, as found pending.
  ListCursor(const RedoBacklog* backlog, const Page& page, uint32_t list)
      : backlog_(backlog), chunk_(backlog->ChunkAt(list)), position_(page.start) {}

  /// False at the end.
  bool Next(Lsn* group_start) {
    while (at_ == chunk_->used) {
      if (chunk_->next == 0) return false;
      chunk_ = backlog_->ChunkAt(chunk_->next);
      at_ = 0;
    }
    uint64_t distance = 0;
    const std::byte* next =
        GetVarint(chunk_->bytes() + at_, chunk_->bytes() + chunk_->used, &distance);
    ROWAN_CHECK(next != nullptr);
    at_ = static_cast<size_t>(next - chunk_->bytes());
    position_ += distance;
    *group_start = position_;
    return true;
  }

 private:
  const RedoBacklog* const backlog_;
  const Chunk* chunk_;
  size_t at_ = 0;
  Lsn position_;
};

RedoBacklog::RedoBacklog() { Clear(); }
RedoBacklog::~RedoBacklog() = default;

void RedoBacklog::Clear() {
  capacity_ = kCapacityMin;
  pages_ = std::make_unique<Page[]>(capacity_);
  used_ = 0;
  blocks_.clear();
  chunk_next_ = 0;
}

uint64_t RedoBacklog::MemoryBytes() const {
  return uint64_t{chunk_next_} * kUnitBytes + capacity_ * sizeof(Page);
}

size_t RedoBacklog::FirstSlotOf(uint64_t key) const {
  return (key * 0x9E3779B97F4A7C15) >> (64 - std::countr_zero(capacity_));
}

size_t RedoBacklog::SlotOf(uint64_t key) const {
  ROWAN_DCHECK(key != 0 && used_ < capacity_);
  size_t slot = FirstSlotOf(key);
  while (pages_[slot].key != 0 && pages_[slot].key != key) slot = (slot + 1) & (capacity_ - 1);
  return slot;
}

void RedoBacklog::Add(const RecordView& record, Lsn group_start, Lsn group_end) {
  const uint64_t key = record.page.Packed();
  ROWAN_DCHECK(key != 0);
  ROWAN_DCHECK(group_start < group_end);
  Arrival& place = arrivals_[next_arrival_++ % kArrivals];
  if (place.key != 0) Link(place);
  place = {.key = key,
           .start = group_start,
           .group_bytes = static_cast<uint32_t>(group_end - group_start),
           .record_bytes = static_cast<uint32_t>(RedoPortion::kOverheadBytes + record.body.size()),
           .fresh = FindRedo(record.type, record.version)->initialises_page};
  __builtin_prefetch(&pages_[FirstSlotOf(key)], 1);
  PrefetchTail(arrivals_[(next_arrival_ + kArrivals / 2) % kArrivals].key);
}

void RedoBacklog::PrefetchTail(uint64_t key) const {
  const Page& page = pages_[FirstSlotOf(key)];
  if (page.key != key || key == 0) return;
  const std::byte* chunk = reinterpret_cast<const std::byte*>(ChunkAt(page.tail));
  __builtin_prefetch(chunk, 1);
  __builtin_prefetch(chunk + kChunkBytesMax - 1, 1);
}

void RedoBacklog::Finish() {
  for (size_t i = 0; i < kArrivals; ++i) {
    Arrival& place = arrivals_[next_arrival_++ % kArrivals];
    if (place.key != 0) Link(place);
    place = Arrival();
  }
}

void RedoBacklog::Link(const Arrival& arrival) {
  if (4 * (used_ + 1) > 3 * capacity_) Enlarge();
  Page& page = pages_[SlotOf(arrival.key)];
  const bool first = page.key == 0;
  ROWAN_DCHECK(first || page.newest <= arrival.start);
  if (first) {
    page.key = arrival.key;
    page.start = page.newest = arrival.start;
    page.tail = AddChunk(kChunkBytesMin);
    page.list.store(page.tail, std::memory_order_relaxed);
    ++used_;
  }
  if (arrival.fresh && !first) {
    // The list starts over. Its other chunks stay lost until Clear.
    page.tail = page.list.load(std::memory_order_relaxed);
    ChunkAt(page.tail)->next = 0;
    ChunkAt(page.tail)->used = 0;
    page.newest = page.start;
    page.record_bytes = 0;
  }
  if (first || arrival.fresh) page.fresh = arrival.fresh ? 1 : 0;
  const bool empty = first || arrival.fresh;
  if (empty || page.newest != arrival.start) Append(&page, arrival.start - page.newest);
  page.newest = arrival.start;
  page.newest_bytes = arrival.group_bytes & 0x7fffffff;
  page.record_bytes += std::min(arrival.record_bytes, UINT32_MAX - page.record_bytes);
}

void RedoBacklog::Append(Page* page, uint64_t distance) {
  std::array<std::byte, kVarintBytesMax> bytes;
  const size_t count = static_cast<size_t>(PutVarint(bytes.data(), distance) - bytes.data());
  Chunk* chunk = ChunkAt(page->tail);
  if (count > static_cast<size_t>(chunk->capacity - chunk->used)) {
    const uint32_t before = chunk->capacity + Chunk::kHeaderBytes;
    const uint32_t wanted = (before + before / 2) / kUnitBytes * kUnitBytes;
    page->tail = chunk->next = AddChunk(std::min(wanted, kChunkBytesMax));
    chunk = ChunkAt(page->tail);
  }
  ROWAN_DCHECK(chunk->used + count <= chunk->capacity);
  std::memcpy(chunk->bytes() + chunk->used, bytes.data(), count);
  chunk->used = static_cast<uint8_t>(chunk->used + count);
}

uint32_t RedoBacklog::AddChunk(uint32_t bytes) {
  ROWAN_DCHECK(bytes % kUnitBytes == 0 && bytes <= kChunkBytesMax);
  const uint32_t units = bytes / kUnitBytes;
  // Position 0 stands for none, so the first unit stays free.
  if (chunk_next_ == 0) chunk_next_ = 1;
  if (chunk_next_ % kBlockUnits + units > kBlockUnits) {
    chunk_next_ = (chunk_next_ / kBlockUnits + 1) * kBlockUnits;
  }
  if (chunk_next_ / kBlockUnits == blocks_.size()) {
    blocks_.push_back(std::make_unique_for_overwrite<uint64_t[]>(kBlockUnits));
  }
  const uint32_t place = chunk_next_;
  chunk_next_ += units;
  auto* chunk = new (blocks_.back().get() + place % kBlockUnits) Chunk;
  chunk->next = 0;
  chunk->capacity = static_cast<uint8_t>(bytes - Chunk::kHeaderBytes);
  chunk->used = 0;
  return place;
}

RedoBacklog::Chunk* RedoBacklog::ChunkAt(uint32_t place) const {
  ROWAN_DCHECK(place != 0 && place < chunk_next_);
  return reinterpret_cast<Chunk*>(blocks_[place / kBlockUnits].get() + place % kBlockUnits);
}

void RedoBacklog::Enlarge() {
  const std::unique_ptr<Page[]> old = std::move(pages_);
  const size_t old_capacity = capacity_;
  capacity_ *= 2;
  pages_ = std::make_unique<Page[]>(capacity_);
  for (size_t i = 0; i < old_capacity; ++i) {
    if (old[i].key == 0) continue;
    Page& page = pages_[SlotOf(old[i].key)];
    page.key = old[i].key;
    page.start = old[i].start;
    page.newest = old[i].newest;
    page.list.store(old[i].list.load(std::memory_order_relaxed), std::memory_order_relaxed);
    page.tail = old[i].tail;
    page.record_bytes = old[i].record_bytes;
    page.newest_bytes = old[i].newest_bytes;
    page.fresh = old[i].fresh;
  }
}

void RedoBacklog::AddKept(const KeptRedo* kept, std::span<const uint64_t> pages) {
  kept_ = kept;
  for (const uint64_t key : pages) AddKeptPage(key);
}

void RedoBacklog::AddKeptPage(uint64_t key) {
  if (4 * (used_ + 1) > 3 * capacity_) Enlarge();
  Page& page = pages_[SlotOf(key)];
  if (page.key != 0) return;
  page.key = key;
  page.list.store(Page::kKeptOnly, std::memory_order_relaxed);
  ++used_;
}

bool RedoBacklog::EndLog() {
  bool any = false;
  for (size_t i = 0; i < capacity_; ++i) {
    Page& page = pages_[i];
    if (!page.pending()) continue;
    const bool kept = HasKept(PageId::Unpack(page.key));
    page.fresh = 0;
    page.list.store(kept ? Page::kKeptOnly : 0, std::memory_order_release);
    any = any || kept;
  }
  log_ = nullptr;
  return any;
}

Status RedoBacklog::ApplyKept(PageId id, MutableBytes bytes, bool readable) const {
  return kept_->Apply(id, bytes, readable);
}

std::vector<uint64_t> RedoBacklog::PendingPages() const {
  std::vector<uint64_t> keys;
  keys.reserve(used_);
  for (size_t i = 0; i < capacity_; ++i) {
    if (pages_[i].pending()) keys.push_back(pages_[i].key);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

RedoBacklog::Page* RedoBacklog::Find(uint64_t key) const {
  Page& page = pages_[SlotOf(key)];
  return page.key == key && page.pending() ? &page : nullptr;
}

Result<std::unique_ptr<RedoPortion>> RedoBacklog::Gather(std::span<const uint64_t> keys,
                                                         uint64_t bytes_max) const {
  if (log_ == nullptr) return std::unique_ptr<RedoPortion>();  // what is left is kept
  auto portion = std::make_unique<RedoPortion>(log_);
  uint64_t bytes = 0;
  for (const uint64_t key : keys.first(std::min(keys.size(), RedoPortion::kPagesMax))) {
    const Page& page = pages_[SlotOf(key)];
    const uint32_t list = page.list.load(std::memory_order_acquire);
    if (page.key != key || list == 0 || list == Page::kKeptOnly) continue;
    if (bytes + page.record_bytes > bytes_max) continue;
    bytes += page.record_bytes;
    portion->AddPage(key);
    ListCursor cursor(this, page, list);
    for (Lsn start; cursor.Next(&start);) portion->Want(start);
  }
  const Status status = portion->Read();
  if (!status.ok()) return status;
  return portion;
}

Status RedoBacklog::Apply(const Page& page, MutableBytes bytes, const RedoPortion* portion) {
  const PageId id = PageId::Unpack(page.key);
  const RedoPortion::Record* first = nullptr;
  if (portion != nullptr && portion->Find(page.key, &first)) return ApplyRecords(id, first, bytes);
  const uint32_t list = page.list.load(std::memory_order_acquire);
  if (list == Page::kKeptOnly) return Status::Ok();
  ROWAN_CHECK(log_ != nullptr);
  ListCursor cursor(this, page, list);
  Lsn start;
  for (bool more = cursor.Next(&start); more;) {
    RedoPortion slice(log_);
    slice.AddPage(page.key);
    for (size_t groups = 0; more && groups < kSliceGroups; more = cursor.Next(&start)) {
      // Groups do not overlap: one that starts below the page's LSN ends there at the latest.
      if (start < PageLsnOf(bytes.data())) continue;
      slice.Want(start);
      ++groups;
    }
    const Status read = slice.Read();
    if (!read.ok()) return read;
    if (!slice.Find(page.key, &first)) continue;
    const Status applied = ApplyRecords(id, first, bytes);
    if (!applied.ok()) return applied;
  }
  return Status::Ok();
}

Status RedoBacklog::ApplyRecords(PageId id, const RedoPortion::Record* first, MutableBytes bytes) {
  const Lsn lsn = PageLsnOf(bytes.data());
  uint64_t applied = 0;
  Lsn end = lsn;
  for (const RedoPortion::Record* record = first; record != nullptr; record = record->next) {
    if (record->group_end <= lsn) continue;
    const RedoEntry* entry = FindRedo(record->type, record->version);
    const Status status = entry->apply(id, bytes, record->body());
    if (!status.ok()) return status;
    end = record->group_end;
    ++applied;
  }
  if (applied != 0) SetPageLsn(bytes.data(), end);
  records_applied_.fetch_add(applied, std::memory_order_relaxed);
  return Status::Ok();
}

}  // namespace rowan
