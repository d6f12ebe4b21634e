// SPDX-License-Identifier: GPL-2.0-only
// SnapshotScan: consistent reads. A batch never spans leaves: it is what one latch shows. Batches
// grow from one entry to a whole leaf, so a point read copies one row and a long scan latches each
// leaf once. A row looked up by its key is copied without a latch, if nobody changes its leaf
// meanwhile and its newest version is the one to be seen.
// Thread safety: one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "mvcc/row/read_note.h"
#include "mvcc/row/scan_state.h"

namespace rowan {

class SnapshotScan {
 public:
  SnapshotScan(ScanState* scan, ReadNote* note) : scan_(scan), note_(note) {}

  void Open() {
    counted_leaf_ = kNoPage;
    asked_writer_ = kNoTxn;
    asked_writer_visible_ = true;
  }
  /// With ScanState::StartBatch.
  void StartBatch() { pending_.clear(); }
  /// `positioned` = result of the tree cursor's move onto the first candidate. Collects until at
  /// least one visible entry is in the batch, and stands on it.
  Status Collect(Status positioned);
  /// The row with exactly this clustered key, without latching its leaf: what Get says of it.
  /// Nothing: it takes a latch to say so.
  std::optional<Status> TryGetUnlatched(Bytes key);
  /// The entry with exactly this key. kNotFound. Not to be gone on from by the tree cursor.
  Status Get(Bytes key, Status positioned);

  // --- with the visibility map, where it suffices (snapshot_count.cc) ---
  /// Visible entries in [from, end); empty: no bound.
  Result<uint64_t> Count(Bytes from, Bytes end);
  /// The number of a visible entry of the range, from 0 at its start (forward) or end (backward).
  struct Ordinal {
    uint64_t number = 0;
    Direction direction = Direction::kForward;
  };
  /// Its tree key goes to `key`. kEndOfRange: there are too few.
  Status Find(Bytes from, Bytes end, Ordinal ordinal, std::vector<std::byte>* key);

 private:
  /// Copies visible entries of the latched leaf; sets `finished` when the end key was met.
  Status CollectLeaf();
  /// The entries of the latched leaf from this slot to the current one, and the bytes copied.
  void CountExamined(uint16_t first);
  /// Takes entries of a leaf whose entries are decided, forward those before slot `stop`.
  Status CopyLeaf(size_t stop);
  /// Puts the entry under the tree cursor into the batch and leaves it. kNotFound: not visible.
  Status TakeAlone();
  Status CountLeaf(size_t stop);
  /// As above for a leaf with changes that the snapshot may not see: most entries need only a look
  /// at their ids.
  Status CountUndecided(size_t stop);
  /// True if ids alone decide whether the snapshot sees the entry; `*counts`: whether it does.
  bool IsDecided(Bytes value, bool* counts);
  /// A scan that takes the whole latched leaf checks whether every snapshot sees the same on it,
  /// and tells the map: then it does not matter what holds low_txn back.
  bool ProveLeaf();
  /// Tells the visibility map about the latched leaf, whose live entries are known.
  void NoteLeaf(size_t live);
  [[nodiscard]] TxnId map_horizon() const;
  /// Counts [from, end) leaf by leaf. When there are more than `most` (true), `past_key_` is the
  /// first key considered of the leaf with number `most`, and `*count` what came before it.
  Result<bool> CountStretch(Bytes from, Bytes end, uint64_t most, uint64_t* count);
  Status CountOneLeaf();
  /// Finds entry `number` from `from` on by collecting entries.
  Status FindAmong(Bytes from, Bytes end, uint64_t number, std::vector<std::byte>* key);
  /// On the latched leaf, if its entries are decided: steps over visible entries, at most `*number`
  /// and not over the last one before the end key.
  void PassEntries(uint64_t* number);
  /// Slot after the last entry of the latched leaf that is before the end key, looking from the
  /// current one on.
  size_t StopSlot();
  /// No entry after the latched leaf is before the end key: its neighbour need not be read.
  [[nodiscard]] bool LeafReachesEnd() const;
  /// Decides on the entry under the tree cursor and copies (or counts) it.
  Status Consider();
  Status ConsiderRow(Bytes value);
  Status ConsiderEntry(Bytes value);
  /// True for an entry of a row that the transaction overwrote though its snapshot lacks it.
  bool IsOfRowAheadOfSnapshot(Bytes entry_key);
  Status Copy(Bytes value, bool has_repeat) {
    if (!counting_) return scan_->Copy(value, has_repeat);
    ++counted_;
    return Status::Ok();
  }
  Status CopyPending(const ClusteredHeader& header, Bytes row);
  /// Builds the older versions of pending items, drops those that did not exist.
  Status ResolvePending();
  Status BuildVisible(const ClusteredHeader& header, BatchItem* item, bool* exists);
  /// Optimistic serializability: the writer's change is not seen. A failure is left in the
  /// transaction, for the caller of the read (ReadNote::Check).
  void NoteNewer(TxnId writer);

  /// For one snapshot the answer never changes, and one writer often wrote many consecutive rows.
  [[nodiscard]] bool visible(TxnId writer) {
    const Txn* txn = scan_->txn;
    if (writer < txn->snapshot.low_txn) return true;  // also kNoTxn
    if (writer == asked_writer_) return asked_writer_visible_;
    asked_writer_ = writer;
    asked_writer_visible_ = scan_->manager->IsVisible(txn->snapshot, writer, txn->txn_id());
    if (!asked_writer_visible_ && txn->serial != nullptr) NoteNewer(writer);
    return asked_writer_visible_;
  }
  /// Every entry of the latched leaf is decided by its delete mark alone.
  [[nodiscard]] bool LeafIsDecided() const {
    return scan_->options.mode == ReadMode::kReadUncommitted ||
           scan_->cursor->leaf_newest_change() < scan_->txn->snapshot.low_txn ||
           scan_->index->tree.leaf_map()
               .Get(scan_->cursor->leaf())
               .HoldsFor(scan_->txn->snapshot.low_txn);
  }

  ScanState* const scan_;
  ReadNote* const note_;
  bool counting_ = false;  ///< Consider counts instead of copying
  uint64_t counted_ = 0;
  std::vector<ClusteredHeader> pending_;  ///< of the pending items of the batch, in order
  TxnId asked_writer_;  ///< of the last question to the commit ring, with the answer
  bool asked_writer_visible_ = true;
  PageNumber counted_leaf_;  ///< last leaf that was counted as all-visible
  std::vector<std::byte> row_key_scratch_;
  std::vector<std::byte> past_key_;
};

}  // namespace rowan
