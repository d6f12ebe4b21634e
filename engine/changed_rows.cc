// SPDX-License-Identifier: GPL-2.0-only
#include "engine/changed_rows.h"

#include <utility>

#include "base/format.h"

namespace rowan {

ChangedRows::ChangedRows(FileSystem* files, std::string folder, std::string name,
                         size_t memory_bytes)
    : files_(files),
      folder_(std::move(folder)),
      name_(std::move(name)),
      memory_bytes_(memory_bytes),
      keys_(NewSorterLocked()) {}

std::unique_ptr<EntrySorter> ChangedRows::NewSorterLocked() {
  // The one that was taken has a file of its own.
  return std::make_unique<EntrySorter>(files_, folder_, Format("{}_{}", name_, turn_++ % 2),
                                       memory_bytes_);
}

void ChangedRows::Add(Bytes key) {
  const MutexLock lock(&mutex_);
  if (!failure_.ok()) return;
  failure_ = keys_->Add({.key = key});
  ++count_;
}

Result<std::unique_ptr<EntrySorter>> ChangedRows::Take() {
  const MutexLock lock(&mutex_);
  if (!failure_.ok()) return failure_;
  count_ = 0;
  return std::exchange(keys_, NewSorterLocked());
}

uint64_t ChangedRows::count() const {
  const MutexLock lock(&mutex_);
  return count_;
}

}  // namespace rowan
