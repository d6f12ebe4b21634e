// SPDX-License-Identifier: GPL-2.0-only
// Inside of VersionCursor: the batch of copied entries and the state of the walk. Included by the
// version_cursor*.cc files only.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "btree/cursor.h"
#include "mvcc/row/row_header.h"
#include "mvcc/row/row_versions.h"
#include "mvcc/row/version_cursor.h"

namespace rowan {

/// Bytes that are appended and thrown away together; the memory is kept. Offsets, not pointers,
/// because it moves when it grows.
class ByteArena {
 public:
  void Clear() { size_ = 0; }
  uint32_t Append(Bytes bytes) {
    if (size_ + bytes.size() > capacity_) Grow(bytes.size());
    const size_t offset = size_;
    if (!bytes.empty()) std::memcpy(bytes_.get() + offset, bytes.data(), bytes.size());
    size_ += bytes.size();
    return static_cast<uint32_t>(offset);
  }
  /// The three behind each other.
  uint32_t Append(Bytes first, Bytes second, Bytes third) {
    const size_t more = first.size() + second.size() + third.size();
    if (size_ + more > capacity_) Grow(more);
    const size_t offset = size_;
    std::byte* target = bytes_.get() + offset;
    for (const Bytes& part : {first, second, third}) {
      if (!part.empty()) std::memcpy(target, part.data(), part.size());
      target += part.size();
    }
    size_ += more;
    return static_cast<uint32_t>(offset);
  }
  [[nodiscard]] Bytes At(uint32_t offset, uint32_t size) const {
    return {bytes_.get() + offset, size};
  }

 private:
  void Grow(size_t more);

  std::unique_ptr<std::byte[]> bytes_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

/// One copied entry. `pending`: the newest version is not ours to see; value is that version's row
/// and the older one has still to be built, without the latch.
struct BatchItem {
  uint32_t key_offset = 0;
  uint32_t key_bytes = 0;  ///< tree key
  uint32_t value_offset = 0;
  uint32_t value_bytes = 0;
  bool has_ordinal = false;
  bool pending = false;
  ClusteredHeader header;  ///< only while pending
};

struct VersionCursor::Impl {
  explicit Impl(TxnManager* manager_in) : manager(manager_in), versions(manager_in->undo()) {}

  enum class Place { kNowhere, kOnItem, kPastEnd, kBeforeStart };

  // --- consistent scans: version_cursor_batch.cc ---
  /// Starts a batch in a direction with the smallest size.
  void StartBatch(bool scan_forward);
  /// `positioned` = result of the tree cursor's move onto the first candidate. Collects until at
  /// least one visible entry is in the batch, and stands on it.
  Status Fill(Status positioned);
  /// Copies visible entries of the latched leaf; sets `finished` when the end key was met.
  Status CollectLeaf();
  /// Of a leaf whose entries are decided, forward: takes entries before slot `stop`.
  Status CopyLeaf(size_t stop);
  Status CountLeaf(size_t stop);
  /// Slot behind the last entry of the latched leaf that is before the end key, looking from the
  /// current one on.
  size_t StopSlot();
  /// Decides on the entry under the tree cursor and copies (or counts) it.
  Status Consider(bool decided);
  Status CopyDecided(const NodeView& leaf, size_t slot);
  Status ConsiderRow(Bytes value);
  Status ConsiderEntry(Bytes value);
  bool IsOfNewerRow(Bytes entry_key);
  void Copy(Bytes value, bool has_ordinal);
  void CopyFrom(const NodeView& leaf, size_t slot, Bytes value, bool has_ordinal);
  void CopyPending(const ClusteredHeader& header, Bytes row);
  /// Builds the older versions of pending items, drops those that did not exist.
  Status ResolvePending();
  Status BuildVisible(BatchItem* item, bool* exists);
  /// The entry with exactly this key. kNotFound, kSkipped (locked by another, SKIP LOCKED).
  Status Exact(Bytes key, Status positioned);
  /// True when the tree cursor stands on an entry of `key`, with an ordinal or without.
  bool AtKey(Bytes key);
  Result<uint64_t> Count(const std::atomic<bool>* interrupted);
  Status CountFrom(Status positioned, const std::atomic<bool>* interrupted);

  // --- both kinds: version_cursor.cc ---
  Status Collect(Status positioned) { return locking() ? LockFrom(positioned) : Fill(positioned); }
  /// Ends a call: shows the current item, or remembers at which end we are.
  Status Deliver(Status status, VersionView* view);
  Status Continue();                    ///< next batch in the current direction
  Status TurnAround(bool forward_now);  ///< new batch from the current item in the other direction
  void Show(VersionView* view) const;
  Status Damage(const char* what) const;

  // --- locking reads: version_cursor_lock.cc ---
  /// `positioned` as above: walks until a row is locked and copied.
  Status LockFrom(Status positioned);
  /// Locks and copies the entry under the tree cursor. kNotFound: dead; kSkipped, kLockWait. With
  /// `semi_consistent` a row that is locked by another is copied as its last commit left it.
  Status LockCandidate(bool semi_consistent);
  Status LockRow(bool semi_consistent);
  Status CopyCommitted(const ClusteredHeader& header, Bytes row);
  /// Asks for the lock of a live (else kNotFound) entry; `creator` and `deleter` may hold it
  /// implicitly.
  Status Ask(const LockTarget& target, TxnId creator, TxnId deleter, WaitPolicy policy);
  Status AskAll(const LockTarget& target, TxnId creator, TxnId deleter, WaitPolicy policy);
  /// A dead entry is under the tree cursor. kNotFound, unless covering its key fails.
  Status PassDead(Bytes key);
  void GiveBackCurrentLock();
  Status WaitAndReturn();  ///< sleeps, then puts the tree cursor back to where it was
  Status SeekAgain();      ///< to `seek_key`, or what is next to it in the direction of the scan

  // --- ranges of locking scans: version_cursor_cover.cc ---
  /// A scan starts at this key: forward the first one it may find, backward the first one it may
  /// not. `looked`: the same as a tree key.
  void StartCover(Bytes key, Bytes looked);
  void StartCoverBehind(Bytes key, Bytes tree_key);  ///< forward, behind an entry
  void StartCoverFromLast();                         ///< backward from the end of the index
  /// Before the entry under the tree cursor (`on_entry`) is looked at, or the scan ends (`at_end`):
  /// makes sure that the way there is locked, or will be with the entry under the present latch.
  /// `settled` false: the way led over leaves that are not latched any more; look again.
  Status CoverWay(bool on_entry, bool at_end, bool* settled);
  Status CoverToEnd();
  Status CoverGapBefore(Bytes key);
  /// Locks the live entry under the tree cursor and the way to it. `own`: nobody else can have it.
  Status LockCovered(const LockTarget& target, bool own, WaitPolicy policy);
  Status CoverDead(Bytes key);  ///< the way, and the key against inserts
  /// `found` is what Get found: if nothing, locks the key against inserts and looks again.
  Status CoverAbsent(Bytes key, Status found);
  Status SeekLooked();  ///< to what lies next behind all that was looked at
  /// The key with a zero byte behind it, valid until the next call.
  Bytes Behind(Bytes key);
  /// From the end of what is covered to the entry with this key, that included.
  RangePiece PieceTo(Bytes key, GapEdge edge);
  /// The scan is done with the entry under the tree cursor, which has this key.
  void NoteCovered(Bytes key);

  [[nodiscard]] bool locking() const {
    return options.mode == ReadMode::kLockShared || options.mode == ReadMode::kLockExclusive;
  }
  /// The way to the next row can be long where there are only dead or skipped ones.
  [[nodiscard]] bool interrupted() const {
    return txn->interrupted.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool visible(TxnId writer) const {
    return writer == kNoTxn || manager->IsVisible(txn->snapshot, writer, txn->txn_id());
  }
  [[nodiscard]] LockMode lock_mode() const {
    return options.mode == ReadMode::kLockShared ? LockMode::kShared : LockMode::kExclusive;
  }
  [[nodiscard]] bool BehindEnd() {
    return has_end && forward && CompareBytes(cursor->key(), end_key) >= 0;
  }
  /// Every entry of the latched leaf is decided by its delete mark alone.
  [[nodiscard]] bool LeafIsDecided() const {
    return options.mode == ReadMode::kReadUncommitted ||
           cursor->leaf_newest_change() < txn->snapshot.low_txn;
  }

  TxnManager* const manager;
  Txn* txn = nullptr;
  IndexRef* index = nullptr;
  ReadOptions options;
  std::optional<Cursor> cursor;
  RowVersions versions;

  Place place = Place::kNowhere;
  bool forward = true;
  bool finished = false;  ///< nothing more in this direction
  bool counting = false;  ///< Consider counts instead of copying
  uint64_t counted = 0;
  size_t limit = 1;     ///< entries in the next batch
  size_t position = 0;  ///< current item
  size_t pending = 0;   ///< items of the batch that are pending
  std::vector<BatchItem> items;
  ByteArena arena;
  PageNumber counted_leaf;  ///< last leaf that was counted as all-visible

  bool has_end = false;
  std::vector<std::byte> end_key;
  std::vector<std::byte> row_key_scratch;
  std::vector<std::byte> seek_key;  ///< tree key to come back to

  // Of a scan that locks ranges. Forward: all keys from where it started up to `covered` are
  // locked, and all tree keys before `looked` were looked at. Backward: from `covered` on, from
  // `looked` on.
  bool covering = false;
  bool covered_to_end = false;
  bool covered_unbounded = false;  ///< backward: nothing is covered yet, `covered` says nothing
  bool looked_unbounded = false;
  std::vector<std::byte> covered;
  std::vector<std::byte> looked;
  std::vector<std::byte> behind_scratch;

  LockKey current_lock;
  uint32_t current_lock_asks = 0;  ///< successful TryLocks for the current row
  bool current_is_unlocked = false;  ///< a committed version of a row that another has locked
};

}  // namespace rowan
