// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/blocks/semi_joins.h"

#include <algorithm>
#include <utility>

#include "plugin/blocks/incomplete_dates.h"

namespace rowan {
namespace {

/// Enough rows to know how many are dropped; a look-up costs more than one in 16 saves.
constexpr uint64_t kRowsOfTally = 4096;
constexpr uint64_t kRowsOfDropped = 16;

}  // namespace

SemiJoins::SemiJoins(std::vector<Join> joins, std::string description)
    : all_(std::make_shared<All>()) {
  all_->joins = std::move(joins);
  all_->description = std::move(description);
}

void SemiJoins::ReadDimensions() const {
  if (all_->are_read) return;
  all_->are_read = true;  // by the session: before any other thread gets one of these
  for (const Join& join : all_->joins) {
    join.dimension->Read();
    if (!join.dimension->is_decided()) break;
    if (join.dimension->is_complete()) all_->usable.push_back(&join);
  }
  std::stable_sort(all_->usable.begin(), all_->usable.end(),
                   [](const Join* one, const Join* other) {
                     return one->dimension->share() < other->dimension->share();
                   });
}

std::unique_ptr<RowReduction> SemiJoins::MakeAnother() const {
  ReadDimensions();
  return std::unique_ptr<RowReduction>(new SemiJoins(all_));
}

void SemiJoins::Reduce(Batch* batch, Selection* rows) {
  ReadDimensions();
  tallies_.resize(all_->usable.size());
  for (size_t i = 0; i < tallies_.size() && !rows->empty(); ++i) {
    Tally& tally = tallies_[i];
    const bool pays =
        tally.offered < kRowsOfTally || tally.dropped >= tally.offered / kRowsOfDropped;
    if (!pays) continue;
    const uint32_t offered = rows->size();
    Drop(*all_->usable[i], batch, rows);
    tally.offered += offered;
    tally.dropped += offered - rows->size();
  }
}

void SemiJoins::Drop(const Join& join, Batch* batch, Selection* rows) {
  const ValueKind kind = batch->plan().TypeOf(join.value).kind;
  const ValueVector& values = batch->Read(join.value, rows);
  PutIncompleteDatesAside(kind, values, batch, rows);
  const KeySet& keys = join.dimension->keys();
  const uint8_t* const nulls = values.nulls();
  if (kind == ValueKind::kBytes) {
    rows->Retain(
        [&](RowNumber row) { return nulls[row] == 0 && keys.Has(KeyOfSet(kind, values, row)); });
    return;
  }
  const auto* const numbers = values.As<uint64_t>();
  rows->Retain([&](RowNumber row) { return nulls[row] == 0 && keys.Has(numbers[row]); });
}

}  // namespace rowan
