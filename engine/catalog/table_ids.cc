// SPDX-License-Identifier: GPL-2.0-only
#include "engine/catalog/table_ids.h"

#include <algorithm>

#include "base/assertions.h"
#include "engine/catalog/catalog.h"

namespace rowan {
namespace {

/// Ids for this many spaces are reserved at once, so DDL rarely writes the control file.
constexpr uint32_t kChunk = 256;

}  // namespace

void TableIds::Adopt(const ControlData& control) {
  const MutexLock lock(&mutex_);
  next_space_ = space_mark_ = control.next_space_id.value();
  next_index_ = index_mark_ = control.next_index_id.value();
  next_table_ = table_mark_ = control.next_table_id.value();
}

TableIds::Next TableIds::next() const {
  const MutexLock lock(&mutex_);
  return {SpaceId(next_space_), TableId(next_table_), IndexId(next_index_)};
}

Status TableIds::Assign(TableDef* definition) {
  const MutexLock lock(&mutex_);
  const Status reserved = ReserveLocked(static_cast<uint32_t>(definition->indexes.size()));
  if (!reserved.ok()) return reserved;
  ROWAN_DCHECK(next_space_ < space_mark_ && next_table_ < table_mark_);
  ROWAN_DCHECK(next_space_ >= kFirstTableSpace.value());
  definition->space = SpaceId(next_space_++);
  definition->id = TableId(next_table_++);
  for (IndexDef& index : definition->indexes) index.id = IndexId(next_index_++);
  return Status::Ok();
}

Result<IndexId> TableIds::NewIndex() {
  const MutexLock lock(&mutex_);
  const Status reserved = ReserveLocked(1);
  if (!reserved.ok()) return reserved;
  ROWAN_DCHECK(next_index_ < index_mark_ && next_index_ > kCatalogIndex.value());
  return IndexId(next_index_++);
}

Status TableIds::ReserveLocked(uint32_t indexes) {
  if (next_space_ + 1 <= space_mark_ && next_table_ + 1 <= table_mark_ &&
      next_index_ + indexes <= index_mark_) {
    return Status::Ok();
  }
  const uint32_t space_wanted = next_space_ + kChunk;
  const uint64_t table_wanted = next_table_ + kChunk;
  const uint64_t index_wanted = next_index_ + std::max(uint64_t{kChunk} * 4, uint64_t{indexes});
  const Status status = storage_->ReserveIds([=](ControlData& data) {
    data.next_space_id = SpaceId(space_wanted);
    data.next_table_id = TableId(table_wanted);
    data.next_index_id = IndexId(index_wanted);
  });
  if (!status.ok()) return status;
  ROWAN_DCHECK(space_wanted >= space_mark_ && table_wanted >= table_mark_ &&
               index_wanted >= index_mark_);
  space_mark_ = space_wanted;
  table_mark_ = table_wanted;
  index_mark_ = index_wanted;
  return status;
}

}  // namespace rowan
