// SPDX-License-Identifier: GPL-2.0-only
// ReadOptions: how a cursor reads. Thread safety: plain values.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "mvcc/lock/lock_mode.h"

namespace rowan {

class LeafDirectory;

enum class ReadMode : uint8_t {
  kSnapshot,         ///< consistent read with txn->snapshot
  kReadUncommitted,  ///< newest version, no locks
  kLockShared,
  kLockExclusive,
};

/// Finds the clustered key inside a secondary key: a part of that, or assembled in `*scratch`.
/// False when the key is malformed.
struct RowKeyFinder {
  using Find = bool (*)(const void* context, Bytes entry_key, std::vector<std::byte>* scratch,
                        Bytes* row_key);
  Find find = nullptr;
  const void* context = nullptr;
};

struct ReadOptions {
  ReadMode mode = ReadMode::kSnapshot;
  WaitPolicy wait_policy = WaitPolicy::kWait;
  /// Locking scans lock the key ranges they cover, records and gaps; Get of an absent row locks its
  /// key against inserts. For REPEATABLE READ and above.
  bool lock_gaps = false;
  /// Scans of a clustered index do not wait for a row that another transaction has locked: they
  /// hand out its last committed version, unlocked (see VersionCursor::LockCurrent). Get waits.
  bool semi_consistent = false;
  /// For consistent reads of secondary indexes (mvcc/txn/rows_ahead_of_snapshot.h). Without one the
  /// clustered key is taken to be the last part of the entry's key: ambiguous when its length
  /// varies.
  RowKeyFinder row_key{};
  /// The index's leaf directory, to bypass its unreadable pages; outlives the scan.
  const LeafDirectory* detour = nullptr;
};

}  // namespace rowan
