// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/blocks/distinct_rows.h"

namespace rowan {
namespace {

/// As for groups: more of it would fall out of the processor's caches.
constexpr size_t kMemoryMax = size_t{16} << 20;

/// By then it shows whether rows repeat. A row that is looked up in vain costs a tenth of what the
/// server's step costs; of so many repeated ones it pays.
constexpr uint64_t kTrialRows = 8192;
constexpr uint64_t kNewRowsPerRepeated = 7;

}  // namespace

void DistinctRows::Forget() {
  table_.Clear();
  offered_ = 0;
}

void DistinctRows::Restart() {
  Forget();
  has_given_up_ = false;
}

void DistinctRows::Reduce(Batch* batch, Selection* rows) {
  if (has_given_up_) return;
  key_.Read(batch, rows);
  offered_ += rows->size();
  rows->Retain([this, batch](RowNumber row) {
    key_.Encode(batch->plan(), row, &bytes_);
    bool is_new = false;
    table_.Find(bytes_, &is_new);
    return is_new;
  });
  const uint64_t repeated = offered_ - table_.size();
  has_given_up_ = offered_ >= kTrialRows && repeated * kNewRowsPerRepeated < table_.size();
  if (has_given_up_ || table_.bytes() > kMemoryMax) Forget();
}

}  // namespace rowan
