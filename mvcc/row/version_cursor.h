// SPDX-License-Identifier: GPL-2.0-only
// VersionCursor: an ordered scan of an index as a snapshot sees it, or of the newest versions with
// row locks. It knows where the scan is (ScanPlace), even across statements. It never holds a latch
// between calls: consistent scans copy a growing batch of visible entries from a leaf under one
// latch (1, then 4, 16, ... up to a whole leaf) and serve from memory; locking scans work row by
// row.
//
// Consistent read of a clustered entry: newest version if visible, else rebuilt from undo. Versions
// of a still active writer are stepped over under the leaf latch (its rollback cannot overtake us),
// older ones after releasing it. Secondary entries are decided by their own header: never a
// clustered visit.
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <utility>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/ids.h"
#include "base/status.h"
#include "mvcc/row/entry_batch.h"
#include "mvcc/row/index.h"
#include "mvcc/row/locking_scan.h"
#include "mvcc/row/read_note.h"
#include "mvcc/row/read_options.h"
#include "mvcc/row/scan_state.h"
#include "mvcc/row/snapshot_scan.h"
#include "mvcc/row/version_view.h"
#include "mvcc/txn/txn.h"
#include "mvcc/txn_manager.h"

namespace rowan {

/// What it shows is valid until its next call.
class VersionCursor {
 public:
  explicit VersionCursor(TxnManager* manager);
  ~VersionCursor() = default;
  VersionCursor(const VersionCursor&) = delete;
  VersionCursor& operator=(const VersionCursor&) = delete;

  /// Binds to an index for a statement; cheap (no latch, no allocation when warm). The caller keeps
  /// `index` alive and, for kSnapshot, an open snapshot. Bind resumes at the place and with the
  /// bounds of a suspended scan, or those set since Forget; Open starts without.
  void Bind(Txn* txn, Index* index, const ReadOptions& options);
  void Open(Txn* txn, Index* index, const ReadOptions& options) {
    Forget();
    Bind(txn, index, options);
  }
  /// The statement ends: keeps the place as a key, and the bounds.
  void Suspend();
  /// Forgets place, bounds and batch.
  void Close();
  /// Forgets the place and the batch after kOutOfMemory, without allocating: an optimistic
  /// transaction has lost what it read and has to be rolled back.
  void LetGo();
  /// Forgets place and bounds. Needs no transaction.
  void Forget();
  /// Upper bound of scans forwards (exclusive; empty = none): they lock and copy nothing beyond it.
  void SetEnd(Bytes end_key);
  /// Lower bound of scans backwards (inclusive; empty = none): they return nothing before it.
  void SetStart(Bytes start_key) {
    if (start_key.empty()) return scan_.start_key.clear();
    scan_.start_key.assign(start_key.begin(), start_key.end());
  }

  /// Exact clustered key, or exact full secondary key. kNotFound: none visible.
  Status Get(Bytes key, VersionView* view);
  /// First visible entry >= key / last visible entry < key. kEndOfRange: none. These and the steps
  /// below look at txn->interrupted while they skip entries: kInterrupted.
  Status Seek(Direction direction, Bytes key, VersionView* view) {
    return Begin(direction, {ScanStart::From::kKey, key, key}, view);
  }
  Status SeekAtLeast(Bytes key, VersionView* view) { return Seek(Direction::kForward, key, view); }
  Status SeekBefore(Bytes key, VersionView* view) { return Seek(Direction::kBackward, key, view); }
  /// First visible entry after the one with this full key, whether or not it exists. (`key` with a
  /// zero byte appended would find a repeat of it again.)
  Status SeekAfter(Bytes key, VersionView* view);
  Status SeekFirst(VersionView* view) { return Begin(Direction::kForward, kFromEnd, view); }
  Status SeekLast(VersionView* view) { return Begin(Direction::kBackward, kFromEnd, view); }
  /// Continues from where the scan is in either direction. kEndOfRange.
  Status Next(VersionView* view) { return Step(Direction::kForward, view); }
  Status Prev(VersionView* view) { return Step(Direction::kBackward, view); }
  Status Step(Direction direction, VersionView* view) {
    if (scan_.on_entry() && direction == scan_.direction && scan_.position + 1 < scan_.items.size())
        [[likely]] {
      ++scan_.position;
      return Show(direction, view);
    }
    return StepFar(direction, view);
  }

  // --- in batches, which end at the latest with a leaf ---
  /// The first batch after a seek, which begins with the entry it found, has up to this many
  /// entries; the next ones grow. Until it is set again; 1 at first.
  void SetFirstBatch(size_t entries) { scan_.first_limit = entries; }
  /// What has been copied from the current entry on; the scan moves to the last of it, so that Next
  /// begins the next batch. REQUIRES: the last move succeeded.
  [[nodiscard]] EntryBatch TakeBatch() {
    const std::span<const BatchItem> items(scan_.items);
    const size_t first = std::exchange(scan_.position, items.size() - 1);
    return {scan_.arena.At(0, 0).data(), items.subspan(first)};
  }

  // --- for whoever looks up each entry's row, in order (engine/rows_ahead.h) ---
  /// What has been copied after the current entry, by its number in the batch.
  struct CopiedAhead {
    uint32_t batch = 0;   ///< another number: other entries
    size_t position = 0;  ///< of the current entry
    size_t size = 0;
  };
  [[nodiscard]] CopiedAhead copied_ahead() const {
    return {scan_.batches, scan_.position, scan_.on_entry() ? scan_.items.size() : 0};
  }
  /// Key of an entry of the batch.
  [[nodiscard]] Bytes CopiedKey(size_t position) const {
    return scan_.PlainKeyOf(scan_.items[position]);
  }
  /// Visits the keys of at most so many entries that follow the current one on its leaf, of a scan
  /// that reads one at a time. None if the leaf has changed.
  using KeyVisit = FunctionRef<void(Bytes key)>;
  void PeekAhead(size_t most, KeyVisit visit);
  /// Whether a row that Get was asked for, since this was asked, was on a leaf that had to be read.
  /// Of reads that lock, only while they are watched: it takes a search of its own.
  [[nodiscard]] bool TakeLeafWasAbsent() {
    return scan_.leaf_was_absent && std::exchange(scan_.leaf_was_absent, false);
  }
  void WatchLeaves(bool watches) { scan_.watches_leaves = watches; }
  /// As Cursor::LeafAhead. REQUIRES: bound.
  [[nodiscard]] PageId LeafAhead(Bytes key) const {
    return {scan_.index->tree.space(), scan_.cursor->LeafAhead(key)};
  }

  /// Where the scan is, by a key instead of its batch.
  [[nodiscard]] ScanPlace place() const;
  /// Where the tree cursor stands: on the entry handed out, if the scan reads one at a time.
  [[nodiscard]] EntryPlace entry_place() const {
    return scan_.cursor.has_value() && scan_.on_entry() ? scan_.cursor->place() : EntryPlace{};
  }
  /// The scan is there from now on. `key` says something in kAtKey and kInGap.
  void Stay(ScanPlace::Kind kind, Bytes key);
  /// Nothing more was found in this direction, within the scan's bounds.
  void StayOutside(Direction direction);

  [[nodiscard]] bool HasCounts() const { return scan_.counts.examined_entries != 0; }
  /// What was read since the last call; of a scan that goes on, including the rest of its batch.
  ReadCounts TakeCounts() { return std::exchange(scan_.counts, {}); }
  /// Of another cursor that read for this one.
  void AddCounts(const ReadCounts& counts) { scan_.counts += counts; }

  /// READ COMMITTED: the row just read did not match; give its lock back.
  void UnlockCurrent();
  /// True when the current row is a committed version that a semi-consistent scan read without its
  /// lock.
  [[nodiscard]] bool current_is_unlocked() const;
  /// Waits for the lock of that row and reads it again; if it is gone by then, goes on to the next
  /// one in the direction of the scan. kEndOfRange, and the errors of a lock wait.
  Status LockCurrent(VersionView* view);

  // --- without copying entries, and without visiting leaves where the visibility map suffices.
  // REQUIRES: no locks asked for. The scan's place and end are lost ---
  /// Visible entries with from <= key < end; empty: no bound. kInterrupted.
  Result<uint64_t> CountRange(Bytes from, Bytes end);
  /// The visible entry with this number in the range. The scan may go on from it, forwards up to
  /// `end`. kEndOfRange: the range has fewer.
  Status SeekNumber(Bytes from, Bytes end, SnapshotScan::Ordinal ordinal, VersionView* view);

 private:
  using Place = ScanPlace::Kind;
  static constexpr ScanStart kFromEnd{.from = ScanStart::From::kEnd};

  void StartBatch(Direction direction);
  void RestartBatch(Direction direction);  ///< of the scan under way
  Status Begin(Direction direction, const ScanStart& start, VersionView* view);
  /// Begin forwards after the entry in `seek_key`, whose first `plain_bytes` are its plain key.
  Status BeginAfter(size_t plain_bytes, VersionView* view);
  Status StepFar(Direction direction, VersionView* view);
  Status StepBack(VersionView* view);  ///< against the direction in which the batch was read
  Status Continue();                   ///< next batch in the current direction
  Status Collect(Status positioned) {
    return note_.Check(scan_.locking() ? locking_.Collect(positioned)
                                       : snapshot_.Collect(positioned));
  }
  /// Ends a call: shows the current item, or remembers at which end we are.
  Status Deliver(Status status, VersionView* view);
  /// Shows the current item, reached by a step in this direction.
  Status Show(Direction direction, VersionView* view) {
    const BatchItem& item = scan_.items[scan_.position];
    view->key = scan_.PlainKeyOf(item);
    view->value = scan_.arena.At(item.value_offset, item.value_bytes);
    if (direction == Direction::kForward || scan_.start_key.empty()) return Status::Ok();
    return CompareBytes(view->key, scan_.start_key) < 0 ? PassStart() : Status::Ok();
  }
  Status PassStart();  ///< a step backwards has met an entry before the start

  ScanState scan_;
  SnapshotScan snapshot_;
  LockingScan locking_;
  ReadNote note_;
};

}  // namespace rowan
