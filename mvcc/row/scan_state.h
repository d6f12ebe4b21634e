// SPDX-License-Identifier: GPL-2.0-only
// ScanState: what the parts of a VersionCursor share: what is scanned, in which direction, where
// the scan is, and the batch of copied entries. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "btree/cursor.h"
#include "btree/direction.h"
#include "mvcc/row/batch_item.h"
#include "mvcc/row/byte_arena.h"
#include "mvcc/row/index.h"
#include "mvcc/row/read_counts.h"
#include "mvcc/row/read_options.h"
#include "mvcc/row/row_header.h"
#include "mvcc/row/version_chain.h"
#include "mvcc/txn_manager.h"

namespace rowan {

/// Where a scan is. Without its batch it is at a key or outside, and so survives a statement.
struct ScanPlace {
  enum class Kind : uint8_t {
    kNowhere,  ///< it has not begun
    kOnEntry,  ///< on the current item of the batch
    kAtKey,    ///< at the entry with `key`, which was returned and may be gone
    kInGap,    ///< before the first entry from `key` on, after the last one before it
    kPastEnd,
    kBeforeStart,
  };
  Kind kind = Kind::kNowhere;
  std::vector<std::byte> key{};  ///< meaningful in kAtKey and kInGap
};

/// Where a seek starts: forward it finds the first entry from `key` on, backward the last one
/// before it. `tree_key`: the same among the keys of the tree.
struct ScanStart {
  enum class From : uint8_t {
    kKey,
    kAfterKey,  ///< forward, after the entry with `key`; `tree_key` is just after it
    kEnd,       ///< the end of the index where the scan begins; without keys
  };
  From from = From::kKey;
  Bytes key{};
  Bytes tree_key{};
};

struct ScanState {
  explicit ScanState(TxnManager* manager_in) : manager(manager_in), versions(manager_in->undo()) {}

  /// StartBatch follows.
  void Open(Txn* new_txn, Index* new_index, const ReadOptions& new_options);
  /// Starts a batch in a direction with the smallest size; a place on an entry is lost.
  void StartBatch(Direction scan_direction);
  void ClearBatch() {
    items.clear();
    arena.Clear();
    copied_bytes = 0;
  }
  /// Copies key and `value` of the entry under the tree cursor.
  Status Copy(Bytes value, bool has_repeat);
  /// Keys and values of the batch from an item on, without what lies between them.
  [[nodiscard]] uint64_t BytesFrom(size_t first) const {
    uint64_t bytes = 0;
    for (size_t i = first; i < items.size(); ++i) {
      bytes += items[i].key_bytes + (items[i].has_repeat ? kRepeatBytes : 0) + items[i].value_bytes;
    }
    return bytes;
  }
  /// What is left of the batch was copied in vain.
  void CountUnused() {
    if (!on_entry() || position + 1 >= items.size()) return;
    counts.unused_entries += items.size() - position - 1;
    counts.unused_bytes += BytesFrom(position + 1);
  }
  void StandOnFirst() {
    position = 0;
    place.kind = ScanPlace::Kind::kOnEntry;
  }
  [[nodiscard]] bool on_entry() const { return place.kind == ScanPlace::Kind::kOnEntry; }
  [[nodiscard]] Bytes PlainKeyOf(const BatchItem& item) const {
    return arena.At(item.key_offset, item.key_bytes);
  }
  /// As it is in the tree.
  [[nodiscard]] Bytes KeyOf(const BatchItem& item) const {
    return arena.At(item.key_offset, item.key_bytes + (item.has_repeat ? kRepeatBytes : 0));
  }
  /// Positions the tree cursor on the first entry of `key`, if there is one. kNotFound: there is
  /// none, with what Cursor::SeekExactly tells about its leaf; not found in a secondary index: ok
  /// and !AtKey, or kEndOfRange.
  Status SeekTo(Bytes key);
  /// True when the tree cursor stands on an entry of `key`, with a repeat number or without.
  [[nodiscard]] bool AtKey(Bytes key);
  /// Seeks `seek_key`, or its neighbour in the direction of the scan.
  Status SeekAgain();
  Status Step() { return cursor->Step(direction); }

  [[nodiscard]] bool forward() const { return direction == Direction::kForward; }
  [[nodiscard]] bool has_end() const { return !end_key.empty(); }
  [[nodiscard]] bool locking() const {
    return options.mode == ReadMode::kLockShared || options.mode == ReadMode::kLockExclusive;
  }
  /// The next row can be far where there are only dead or skipped ones.
  [[nodiscard]] bool interrupted() const {
    return txn->interrupted.load(std::memory_order_relaxed);
  }
  [[nodiscard]] LockMode lock_mode() const {
    return options.mode == ReadMode::kLockShared ? LockMode::kShared : LockMode::kExclusive;
  }
  [[nodiscard]] bool BehindEnd() {
    return has_end() && forward() && CompareBytes(cursor->key(), end_key) >= 0;
  }
  Status Damage(const char* what) const;

  TxnManager* const manager;
  Txn* txn = nullptr;
  Index* index = nullptr;
  ReadOptions options;
  std::optional<Cursor> cursor;
  VersionChain versions;

  ScanPlace place;
  Direction direction = Direction::kForward;
  bool finished = false;   ///< nothing more in this direction
  bool alone = false;      ///< the item was got by its key: the tree cursor does not stand there
  size_t first_limit = 1;  ///< entries in the first batch after a start
  size_t limit = 1;        ///< entries in the next batch
  size_t position = 0;     ///< current item
  uint32_t batches = 0;    ///< collected by consistent scans
  bool leaf_was_absent = false;  ///< Get found a leaf that was not in the pool, since it was asked
  bool watches_leaves = false;   ///< Get looks for such leaves even where it locks
  ReadCounts counts;             ///< since they were last taken
  std::vector<BatchItem> items;
  ByteArena arena;
  uint64_t copied_bytes = 0;  ///< of the batch's keys and values, as they came from the leaf

  std::vector<std::byte> end_key;    ///< of forward scans, exclusive; empty: none
  std::vector<std::byte> start_key;  ///< of backward scans, inclusive; empty: none
  std::vector<std::byte> seek_key;   ///< tree key to come back to
};

}  // namespace rowan
