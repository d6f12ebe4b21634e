// SPDX-License-Identifier: GPL-2.0-only
#include "engine/catalog/table.h"

#include <algorithm>
#include <utility>

#include "btree/cursor.h"

namespace rowan {
namespace {

/// First value >= `next` that the server's auto_increment_offset/increment permit; UINT64_MAX if
/// there is none.
uint64_t AlignUp(uint64_t next, uint64_t offset, uint64_t increment) {
  if (increment <= 1) return next;
  // The server ignores an offset larger than the increment.
  const uint64_t first = offset > increment ? 0 : offset;
  if (next <= first) return first;
  const uint64_t steps = (next - first + increment - 1) / increment;
  uint64_t distance = 0;
  uint64_t value = 0;
  if (__builtin_mul_overflow(steps, increment, &distance)) return UINT64_MAX;
  if (__builtin_add_overflow(first, distance, &value)) return UINT64_MAX;
  return value;
}

uint64_t SaturatingAdd(uint64_t value, uint64_t amount) {
  uint64_t sum = 0;
  return __builtin_add_overflow(value, amount, &sum) ? UINT64_MAX : sum;
}

}  // namespace

Table::Table(TableDef definition, PageAllocator* allocator)
    : definition_(std::move(definition)), allocator_(allocator), name_(definition_.name) {
  index_created_by_.assign(definition_.indexes.size(), kNoTxn);
  indexes_.reserve(definition_.indexes.size());
  for (const IndexDef& index : definition_.indexes) {
    indexes_.push_back(std::make_shared<Index>(allocator, definition_.space, index.root, index.id,
                                               definition_.id, index.clustered));
  }
}

Table::Table(TableDef definition, PageAllocator* allocator, const Table& former)
    : Table(std::move(definition), allocator) {
  for (size_t i = 0; i < indexes_.size(); ++i) {
    for (size_t j = 0; j < former.indexes_.size(); ++j) {
      if (indexes_[i]->id() != former.indexes_[j]->id()) continue;
      indexes_[i] = former.indexes_[j];
      index_created_by_[i] = former.index_created_by_[j];
    }
  }
  created_by_ = former.created_by_;
  index_dropped_by_ = former.index_dropped_by_;
  auto_increment_.store(former.auto_increment(), std::memory_order_relaxed);
  auto_increment_mark_.store(former.auto_increment_mark_.load(std::memory_order_relaxed),
                             std::memory_order_relaxed);
  row_id_.store(former.row_id_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  update_time_.store(former.update_time(), std::memory_order_relaxed);
  SetStatistics(former.statistics());
  KeepCardinalities(former);
}

void Table::KeepCardinalities(const Table& former) {
  const auto same = [](const IndexDef& one, const IndexDef& other) { return one.id == other.id; };
  const std::vector<IndexDef>& now = definition_.indexes;
  const std::vector<IndexDef>& then = former.definition_.indexes;
  // With other indexes they are counted again.
  if (!std::equal(now.begin(), now.end(), then.begin(), then.end(), same)) return;
  cardinalities_.PublishTrees(former.cardinalities_.Trees());
  if (former.cardinalities_.version() == 0) return;
  cardinalities_.Publish(former.cardinalities_.All(), former.statistics().rows);
}

std::shared_ptr<Index> Table::FindIndex(IndexId id) const {
  for (const std::shared_ptr<Index>& index : indexes_) {
    if (index->id() == id) return index;
  }
  return nullptr;
}

std::string Table::name() const {
  const MutexLock lock(&name_mutex_);
  return name_;
}

void Table::SetName(const std::string& name) {
  const MutexLock lock(&name_mutex_);
  name_ = name;
}

Status Table::EdgeKey(size_t index_number, IndexEdge edge, std::vector<std::byte>* key) const {
  Cursor cursor(&index(index_number)->tree);
  const Status status = edge == IndexEdge::kFirst ? cursor.SeekFirst() : cursor.SeekLast();
  if (status.ok()) key->assign(cursor.key().begin(), cursor.key().end());
  return status;
}

Status Table::LoadCounters() {
  Result<uint64_t> mark = allocator_->ReadCounter(space());
  if (!mark.ok()) return mark.status();
  auto_increment_mark_.store(*mark, std::memory_order_relaxed);
  auto_increment_.store(std::max<uint64_t>(*mark, 1), std::memory_order_relaxed);
  // Hidden row ids are 8-byte big-endian keys: the next one follows the last key in the tree,
  // delete-marked or not. Harmless for tables with a primary key, which never use it.
  std::vector<std::byte> last;
  const Status status = EdgeKey(0, IndexEdge::kLast, &last);
  if (status.Is(Code::kEndOfRange)) return Status::Ok();
  if (!status.ok()) return status;
  if (last.size() == sizeof(uint64_t)) {
    row_id_.store(LoadBe64(last.data()) + 1, std::memory_order_relaxed);
  }
  return Status::Ok();
}

uint64_t Table::TakeAutoIncrement(const AutoIncrementSeries& series, uint64_t count) {
  uint64_t next = auto_increment_.load(std::memory_order_relaxed);
  uint64_t first = 0;
  uint64_t behind = 0;
  do {
    if (next > series.most) return UINT64_MAX;
    first = AlignUp(next, series.offset, series.increment);
    if (first > series.most) first = next;
    uint64_t span = 0;
    if (__builtin_mul_overflow(std::max<uint64_t>(series.increment, 1), count, &span)) {
      span = UINT64_MAX;
    }
    behind = std::min(SaturatingAdd(first, span), series.most);
  } while (!auto_increment_.compare_exchange_weak(next, behind, std::memory_order_relaxed));
  return first;
}

void Table::RaiseAutoIncrement(uint64_t next) {
  uint64_t current = auto_increment_.load(std::memory_order_relaxed);
  while (current < next) {
    if (auto_increment_.compare_exchange_weak(current, next, std::memory_order_relaxed)) return;
  }
}

Status Table::KeepAutoIncrement(uint64_t value) {
  // Pairs with the store in WriteAutoIncrementMark: what is read here has been appended.
  if (value < auto_increment_mark_.load(std::memory_order_acquire)) return Status::Ok();
  const MutexLock lock(&auto_increment_mutex_);
  if (value < auto_increment_mark_.load(std::memory_order_relaxed)) return Status::Ok();
  // The counter itself, so that deleting row after row writes once.
  return WriteAutoIncrementMark(auto_increment_.load(std::memory_order_relaxed));
}

Status Table::SetAutoIncrement(uint64_t next) {
  const MutexLock lock(&auto_increment_mutex_);
  auto_increment_.store(std::max<uint64_t>(next, 1), std::memory_order_relaxed);
  return WriteAutoIncrementMark(next);
}

Status Table::PersistAutoIncrement() {
  const MutexLock lock(&auto_increment_mutex_);
  const uint64_t next = auto_increment_.load(std::memory_order_relaxed);
  if (auto_increment_mark_.load(std::memory_order_relaxed) == next) return Status::Ok();
  return WriteAutoIncrementMark(next);
}

Status Table::WriteAutoIncrementMark(uint64_t next) {
  const Status status = allocator_->WriteCounter(space(), next);
  if (status.ok()) auto_increment_mark_.store(next, std::memory_order_release);
  return status;
}

void Table::CollectChanges(std::shared_ptr<ChangedRows> rows) {
  const MutexLock lock(&changed_rows_mutex_);
  changed_rows_ = std::move(rows);
  collects_changes_.store(changed_rows_ != nullptr, std::memory_order_relaxed);
}

void Table::AddChangedRow(Bytes key) {
  std::shared_ptr<ChangedRows> rows;
  {
    const MutexLock lock(&changed_rows_mutex_);
    rows = changed_rows_;
  }
  if (rows != nullptr) rows->Add(key);
}

Table::Statistics Table::statistics() const {
  return {rows_.load(std::memory_order_relaxed), clustered_pages_.load(std::memory_order_relaxed),
          secondary_pages_.load(std::memory_order_relaxed),
          file_pages_.load(std::memory_order_relaxed), used_pages_.load(std::memory_order_relaxed)};
}

void Table::SetStatistics(const Statistics& statistics) {
  rows_.store(statistics.rows, std::memory_order_relaxed);
  clustered_pages_.store(statistics.clustered_pages, std::memory_order_relaxed);
  secondary_pages_.store(statistics.secondary_pages, std::memory_order_relaxed);
  file_pages_.store(statistics.file_pages, std::memory_order_relaxed);
  used_pages_.store(statistics.used_pages, std::memory_order_relaxed);
  changes_.store(0, std::memory_order_relaxed);
}

void Table::AddRows(int64_t delta) {
  changes_.fetch_add(1, std::memory_order_relaxed);
  if (delta == 0) return;
  uint64_t rows = rows_.load(std::memory_order_relaxed);
  uint64_t next = 0;
  do {
    const bool below_zero = delta < 0 && rows < static_cast<uint64_t>(-delta);
    next = below_zero ? 0 : rows + static_cast<uint64_t>(delta);
  } while (!rows_.compare_exchange_weak(rows, next, std::memory_order_relaxed));
}

}  // namespace rowan
