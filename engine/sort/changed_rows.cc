// SPDX-License-Identifier: GPL-2.0-only
#include "engine/sort/changed_rows.h"

#include <utility>

#include "base/format.h"

namespace rowan {

ChangedRows::ChangedRows(SortSpace space, std::string name, const Limits& limits)
    : space_(std::move(space)), name_(std::move(name)), limits_(limits), keys_(NewSorterLocked()) {}

std::unique_ptr<EntrySorter> ChangedRows::NewSorterLocked() {
  // The one that was taken has its own file.
  return space_.NewSorter(Format("{}_{}", name_, turn_++ % 2), limits_.memory_bytes);
}

void ChangedRows::Add(Bytes key) {
  const MutexLock lock(&mutex_);
  if (!failure_.ok()) return;
  const IndexEntry entry{.key = key};
  bytes_ += EntrySorter::StoredBytes(entry);
  if (bytes_ > limits_.bytes_max) {
    failure_ = Status(Code::kTooBig, kTooManyChanges);
    keys_ = NewSorterLocked();  // the builder gives up: no need to keep a file until then
    return;
  }
  failure_ = keys_->Add(entry);
  ++count_;
}

Result<std::unique_ptr<EntrySorter>> ChangedRows::Take() {
  const MutexLock lock(&mutex_);
  if (!failure_.ok()) return failure_;
  count_ = 0;
  bytes_ = 0;
  return std::exchange(keys_, NewSorterLocked());
}

Status ChangedRows::failure() const {
  const MutexLock lock(&mutex_);
  return failure_;
}

uint64_t ChangedRows::count() const {
  const MutexLock lock(&mutex_);
  return count_;
}

}  // namespace rowan
