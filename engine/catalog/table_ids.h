// SPDX-License-Identifier: GPL-2.0-only
// TableIds: ids for new tables, indexes and spaces, never reused in the life of an instance: they
// are reserved in the control file first.
// Thread safety: all members.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "engine/catalog/table_def.h"
#include "storage/storage.h"

namespace rowan {

class TableIds {
 public:
  explicit TableIds(Storage* storage) : storage_(storage) {}

  /// Continues where the control file says.
  void Adopt(const ControlData& control);
  /// Fills in the ids of a new table, its space and its indexes. A failure stops the log.
  Status Assign(TableDef* definition);
  Result<IndexId> NewIndex();
  /// The next ids: for a clean shutdown, which returns the rest of a reservation.
  struct Next {
    SpaceId space;
    TableId table;
    IndexId index;
  };
  [[nodiscard]] Next next() const;

 private:
  Status ReserveLocked(uint32_t indexes) ROWAN_REQUIRES(mutex_);

  Storage* const storage_;
  mutable Mutex mutex_{LatchRank::kTableIds};
  // Next to hand out, and the mark reserved in the control file.
  uint32_t next_space_ ROWAN_GUARDED_BY(mutex_) = 0;
  uint32_t space_mark_ ROWAN_GUARDED_BY(mutex_) = 0;
  uint64_t next_index_ ROWAN_GUARDED_BY(mutex_) = 0;
  uint64_t index_mark_ ROWAN_GUARDED_BY(mutex_) = 0;
  uint64_t next_table_ ROWAN_GUARDED_BY(mutex_) = 0;
  uint64_t table_mark_ ROWAN_GUARDED_BY(mutex_) = 0;
};

}  // namespace rowan
