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
constexpr size_t kBlockBytes = size_t{1} << 20;

}  // namespace

/// The body follows.
struct RedoBacklog::Record {
  Record* previous;  ///< the page's record before this one
  uint64_t group_end;
  uint32_t body_bytes;
  RecordType type;
  uint8_t version;

  [[nodiscard]] Bytes body() const {
    return {reinterpret_cast<const std::byte*>(this + 1), body_bytes};
  }
};

RedoBacklog::RedoBacklog() { Clear(); }
RedoBacklog::~RedoBacklog() = default;

void RedoBacklog::Clear() {
  capacity_ = kCapacityMin;
  pages_ = std::make_unique<Page[]>(capacity_);
  used_ = 0;
  blocks_.clear();
  block_used_ = kBlockBytes;
  record_bytes_ = 0;
}

size_t RedoBacklog::SlotOf(uint64_t key) const {
  size_t slot = (key * 0x9E3779B97F4A7C15) >> (64 - std::countr_zero(capacity_));
  while (pages_[slot].key != 0 && pages_[slot].key != key) slot = (slot + 1) & (capacity_ - 1);
  return slot;
}

void RedoBacklog::Add(const RecordView& record, Lsn group_start, Lsn group_end) {
  const uint64_t key = record.page.Packed();
  ROWAN_DCHECK(key != 0);
  Arrival& place = arrivals_[next_arrival_++ % kArrivals];
  if (place.record != nullptr) Link(place);
  place = {Copy(record, group_end), key, group_start.value(),
           FindRedo(record.type, record.version)->initialises_page};
  const size_t slot = (key * 0x9E3779B97F4A7C15) >> (64 - std::countr_zero(capacity_));
  __builtin_prefetch(&pages_[slot], 1);
}

void RedoBacklog::Finish() {
  for (size_t i = 0; i < kArrivals; ++i) {
    Arrival& place = arrivals_[next_arrival_++ % kArrivals];
    if (place.record != nullptr) Link(place);
    place = Arrival();
  }
}

RedoBacklog::Record* RedoBacklog::Copy(const RecordView& record, Lsn group_end) {
  const size_t bytes = (sizeof(Record) + record.body.size() + alignof(Record) - 1) /
                       alignof(Record) * alignof(Record);
  if (bytes > kBlockBytes - block_used_) {
    // A block may be short of its end by one record; only page images make that much.
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(std::max(bytes, kBlockBytes)));
    block_used_ = 0;
  }
  std::byte* place = blocks_.back().get() + block_used_;
  block_used_ = std::min(block_used_ + bytes, kBlockBytes);
  record_bytes_ += bytes;
  auto* copy = new (place) Record{nullptr, group_end.value(),
                                  static_cast<uint32_t>(record.body.size()), record.type,
                                  record.version};
  if (!record.body.empty()) std::memcpy(copy + 1, record.body.data(), record.body.size());
  return copy;
}

void RedoBacklog::Link(const Arrival& arrival) {
  if (2 * (used_ + 1) > capacity_) Enlarge();
  Page& page = pages_[SlotOf(arrival.key)];
  if (page.key == 0) {
    page.key = arrival.key;
    page.start = arrival.start;
    ++used_;
  }
  Record* newest = page.newest.load(std::memory_order_relaxed);
  page.fresh = arrival.fresh || (page.fresh && newest != nullptr);
  arrival.record->previous = arrival.fresh ? nullptr : newest;
  page.newest.store(arrival.record, std::memory_order_relaxed);
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
    page.fresh = old[i].fresh;
    page.newest.store(old[i].newest.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
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

Lsn RedoBacklog::EndOf(const Page& page) {
  return Lsn(page.newest.load(std::memory_order_acquire)->group_end);
}

Status RedoBacklog::Apply(const Page& page, MutableBytes bytes) {
  std::vector<const Record*> records;
  const Record* const newest = page.newest.load(std::memory_order_acquire);
  for (const Record* record = newest; record != nullptr; record = record->previous) {
    records.push_back(record);
  }
  const PageId id = PageId::Unpack(page.key);
  const uint64_t lsn = PageLsnOf(bytes.data()).value();
  uint64_t applied = 0;
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    if ((*record)->group_end <= lsn) continue;
    const RedoEntry* entry = FindRedo((*record)->type, (*record)->version);
    const Status status = entry->apply(id, bytes, (*record)->body());
    if (!status.ok()) return status;
    ++applied;
  }
  if (applied != 0) SetPageLsn(bytes.data(), Lsn(newest->group_end));
  records_applied_.fetch_add(applied, std::memory_order_relaxed);
  return Status::Ok();
}

}  // namespace rowan
