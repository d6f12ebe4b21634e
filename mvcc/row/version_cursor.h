// SPDX-License-Identifier: GPL-2.0-only
// VersionCursor: an ordered scan of an index as a snapshot sees it, or of the newest versions with
// row locks. It never holds a latch between calls: consistent scans copy a growing batch of visible
// entries from a leaf under one latch (1, then 4, 16, ... up to a whole leaf) and serve from
// memory; locking scans work row by row.
//
// Consistent read of a clustered entry: newest version if visible, else rebuilt from undo. Versions
// of a still active writer are stepped over under the leaf latch (its rollback cannot overtake us),
// older ones after releasing it. Secondary entries are decided by their own header: never a
// clustered visit.
// Thread safety: one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "mvcc/row/index.h"
#include "mvcc/row/locking_scan.h"
#include "mvcc/row/read_note.h"
#include "mvcc/row/read_options.h"
#include "mvcc/row/scan_state.h"
#include "mvcc/row/snapshot_scan.h"
#include "mvcc/txn/txn.h"
#include "mvcc/txn_manager.h"

namespace rowan {

/// One row or entry handed out: valid until the next call on the cursor.
struct VersionView {
  Bytes key;    ///< full tree key without repeat
  Bytes value;  ///< clustered: row bytes; secondary: payload
};

class VersionCursor {
 public:
  explicit VersionCursor(TxnManager* manager);
  ~VersionCursor() = default;
  VersionCursor(const VersionCursor&) = delete;
  VersionCursor& operator=(const VersionCursor&) = delete;

  /// Binds to an index for a statement; cheap (no latch, no allocation when warm). The caller keeps
  /// `index` alive and, for kSnapshot, an open snapshot.
  void Open(Txn* txn, Index* index, const ReadOptions& options);
  /// Forgets position and batch.
  void Close();
  /// The same after kOutOfMemory, without allocating: an optimistic transaction has lost what it
  /// read and has to be rolled back.
  void LetGo();
  /// Upper bound for forward batches (exclusive; empty = none): nothing beyond it is locked or
  /// copied.
  void SetEnd(Bytes end_key);

  /// Exact clustered key, or exact full secondary key. kNotFound: none visible.
  Status Get(Bytes key, VersionView* view);
  /// First visible entry >= key / last visible entry < key. kEndOfRange: none. These and the steps
  /// below look at txn->interrupted while they pass dead or skipped entries: kInterrupted.
  Status SeekAtLeast(Bytes key, VersionView* view);
  Status SeekBefore(Bytes key, VersionView* view);
  /// First visible entry after the one with this full key, whether or not it exists: how a scan
  /// goes on from a key it remembered. (`key` with a zero byte appended would find a repeat of it
  /// again.)
  Status SeekAfter(Bytes key, VersionView* view);
  Status SeekFirst(VersionView* view);
  Status SeekLast(VersionView* view);
  /// Continues from the current entry in either direction. kEndOfRange.
  Status Next(VersionView* view);
  Status Prev(VersionView* view);

  [[nodiscard]] bool HasCounts() const { return scan_.counts.examined_entries != 0; }
  /// What was read since the last call; of a scan that goes on, with what is left of its batch.
  ReadCounts TakeCounts() { return std::exchange(scan_.counts, {}); }

  /// READ COMMITTED: the row just read did not match; give its lock back.
  void UnlockCurrent();
  /// True when the current row is a committed version that a semi-consistent scan read without its
  /// lock.
  [[nodiscard]] bool current_is_unlocked() const;
  /// Waits for the lock of that row after all and reads it again; if it is gone by then, goes on to
  /// the next one in the direction of the scan. kEndOfRange, and the errors of a lock wait.
  Status LockCurrent(VersionView* view);

  // --- without copying entries, and where the visibility map says enough, without visiting their
  // --- leaves. REQUIRES: no locks asked for. The scan's place and end are lost ---
  /// Visible entries with from <= key < end; empty: no bound. kInterrupted.
  Result<uint64_t> CountRange(Bytes from, Bytes end);
  /// The visible entry with this number in the range, counted from 0 at its start (forward) or its
  /// end (not forward). The scan may go on from it, forwards up to `end`. kEndOfRange: the range
  /// has not so many.
  Status SeekNumber(Bytes from, Bytes end, SnapshotScan::Ordinal ordinal, VersionView* view);

 private:
  using Place = ScanState::Place;

  void StartBatch(bool forward);
  void RestartBatch(bool forward);  ///< of the scan that is under way
  void KeepEnd(Bytes end_key);
  Status Collect(Status positioned) {
    return note_.Check(scan_.locking() ? locking_.Collect(positioned)
                                       : snapshot_.Collect(positioned));
  }
  /// Ends a call: shows the current item, or remembers at which end we are.
  Status Deliver(Status status, VersionView* view);
  Status Continue();                    ///< next batch in the current direction
  Status TurnAround(bool forward_now);  ///< new batch from the current item in the other direction
  void Show(VersionView* view) const;

  ScanState scan_;
  SnapshotScan snapshot_;
  LockingScan locking_;
  ReadNote note_;
};

}  // namespace rowan
