// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/lock/conflict_summary.h"

#include <algorithm>

namespace rowan {

const ConflictSummary::Writer* ConflictSummary::Find(TxnId id) const {
  const auto found = writers_.find(id.value());
  if (found != writers_.end()) return &found->second;
  return id.value() >= stretch_first_ && id.value() <= stretch_last_ ? &stretch_ : nullptr;
}

void ConflictSummary::Fold() {
  for (size_t left = (writers_.size() + 1) / 2; left > 0; --left) {
    const auto& [id, writer] = *writers_.begin();
    stretch_first_ = std::min(stretch_first_, id);
    stretch_last_ = std::max(stretch_last_, id);
    stretch_.prepare_time = std::min(stretch_.prepare_time, writer.prepare_time);
    stretch_.earliest_out = std::min(stretch_.earliest_out, writer.earliest_out);
    stretch_.commit_time = std::max(stretch_.commit_time, writer.commit_time);
    writers_.erase(writers_.begin());
  }
}

void ConflictSummary::Clear() { *this = {}; }

}  // namespace rowan
