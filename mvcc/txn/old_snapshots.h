// SPDX-License-Identifier: GPL-2.0-only
// OldSnapshots: the few long-open snapshots, and the point up to which all others see everything.
// What was written and deleted between two of them, none can see: its purge need not wait for them
// to close. OldSnapshotFinder tells old from young by the age of a CSN.
// Thread safety: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "mvcc/txn/snapshot.h"

namespace rowan {

struct OldSnapshots {
  /// More than a handful pin versions for another reason (a pool of sessions that never end their
  /// transactions); each is asked about each deleted row.
  static constexpr size_t kMax = 16;
  std::array<Snapshot, kMax> open{};
  size_t count = 0;
  /// Transactions with a CSN below are seen by every snapshot, present or future, except these.
  Csn limit{0};
};

class OldSnapshotFinder {
 public:
  explicit OldSnapshotFinder(uint64_t age_nanos) : age_nanos_(age_nanos) {}

  /// `open`: ascending by CSN, every snapshot with a CSN below `announced`.
  void Find(const std::vector<Snapshot>& open, Csn announced, uint64_t now_nanos);
  [[nodiscard]] const OldSnapshots& found() const { return found_; }

 private:
  const uint64_t age_nanos_;
  uint64_t marked_nanos_ = 0;
  Csn young_from_{0};  ///< was current at least `age_nanos_` ago
  Csn next_mark_{0};   ///< was current at `marked_nanos_`
  OldSnapshots found_;
};

}  // namespace rowan
