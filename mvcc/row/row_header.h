// SPDX-License-Identifier: GPL-2.0-only
// What stands before the row in a clustered entry's value, and before the payload in a secondary
// one.
//
// Clustered value:
//   offset size
//   0      1    flags
//   1      6    transaction id
//   7      6    undo pointer
//   13     ..   row bytes
// Secondary value: creator and deleter stand only where the flags say so, one after the other.
//   offset size
//   0      1    flags
//   1      6    creator id, if kEntryHasCreator
//               6 bytes of deleter id, if kEntryDeleted
//               payload (original bytes that the key's weights lose)
//
// A clustered entry holds the newest version; older ones hang off the undo pointer. A secondary
// entry is one interval of visibility: from its creator's commit to its deleter's. An absent
// creator means "visible to all". If a key value comes back while the first interval is still
// needed, a second entry is added: its tree key is the same key followed by a 4-byte
// big-endian repeat number (1, 2, ...); 0 is not stored, so the usual key has no suffix. Keys are
// self-delimiting, hence the order is (key, repeat) and no other key falls between. Keys are
// opaque to this layer, so the flag kEntryHasRepeat tells that the last 4 bytes of the tree key
// are one. Bit 0 is "delete-marked" in both: a scan that knows all ids to be visible looks
// at nothing else.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "base/ids.h"
#include "btree/entry_mark.h"
#include "btree/value_cut.h"
#include "mvcc/txn/undo_pointer.h"

namespace rowan {

inline constexpr size_t kClusteredHeaderBytes = 13;
inline constexpr size_t kSecondaryHeaderBytesMax = 13;
inline constexpr size_t kRepeatBytes = 4;

enum ClusteredFlags : uint8_t { kRowDeleted = 1 };
enum SecondaryFlags : uint8_t { kEntryDeleted = 1, kEntryHasCreator = 2, kEntryHasRepeat = 4 };
/// Cuts the creator from an entry that no longer needs it.
inline constexpr ValueCut kCreatorCut{kEntryHasCreator, 1, 6};
static_assert(kRowDeleted == kEntryMarked && kEntryDeleted == kEntryMarked,
              "scans and the visibility map test bit 0 of either header");

struct ClusteredHeader {
  bool deleted = false;
  TxnId txn;
  UndoPointer undo;
};

struct SecondaryHeader {
  TxnId creator;            ///< kNoTxn: visible to all
  TxnId deleter;            ///< kNoTxn: not delete-marked
  bool has_repeat = false;  ///< the tree key ends in a repeat
  size_t size_bytes = 1;
};

/// False when the value is shorter than its header (damage).
inline bool ParseClustered(Bytes value, ClusteredHeader* header, Bytes* row) {
  if (value.size() < kClusteredHeaderBytes) return false;
  header->deleted = (static_cast<uint8_t>(value[0]) & kRowDeleted) != 0;
  header->txn = TxnId(LoadLe48(value.data() + 1));
  header->undo = LoadUndoPointer(value.data() + 7);
  *row = value.subspan(kClusteredHeaderBytes);
  return true;
}

/// Creator of a secondary value: kNoTxn if it has none, or is shorter than its header.
inline TxnId CreatorOf(Bytes value) {
  constexpr size_t kEnd = kCreatorCut.offset + kCreatorCut.bytes;
  if (value.size() < kEnd || (static_cast<uint8_t>(value[0]) & kEntryHasCreator) == 0) {
    return kNoTxn;
  }
  return TxnId(LoadLe48(value.data() + kCreatorCut.offset));
}

inline void StoreClusteredHeader(std::byte* target, const ClusteredHeader& header) {
  target[0] = static_cast<std::byte>(header.deleted ? kRowDeleted : 0);
  StoreLe48(target + 1, header.txn.value());
  StoreUndoPointer(target + 7, header.undo);
}

inline bool ParseSecondary(Bytes value, SecondaryHeader* header, Bytes* payload) {
  if (value.empty()) return false;
  const auto flags = static_cast<uint8_t>(value[0]);
  size_t position = 1;
  header->has_repeat = (flags & kEntryHasRepeat) != 0;
  header->creator = kNoTxn;
  header->deleter = kNoTxn;
  if ((flags & kEntryHasCreator) != 0) {
    if (value.size() < position + 6) return false;
    header->creator = TxnId(LoadLe48(value.data() + position));
    position += 6;
  }
  if ((flags & kEntryDeleted) != 0) {
    if (value.size() < position + 6) return false;
    header->deleter = TxnId(LoadLe48(value.data() + position));
    position += 6;
  }
  header->size_bytes = position;
  *payload = value.subspan(position);
  return true;
}

/// Writes the header (room for kSecondaryHeaderBytesMax) and returns its size.
inline size_t StoreSecondaryHeader(std::byte* target, TxnId creator, TxnId deleter,
                                   bool has_repeat = false) {
  uint8_t flags = has_repeat ? kEntryHasRepeat : 0;
  size_t position = 1;
  if (creator != kNoTxn) {
    flags |= kEntryHasCreator;
    StoreLe48(target + position, creator.value());
    position += 6;
  }
  if (deleter != kNoTxn) {
    flags |= kEntryDeleted;
    StoreLe48(target + position, deleter.value());
    position += 6;
  }
  target[0] = static_cast<std::byte>(flags);
  return position;
}

/// The key as callers know it: the tree key without its repeat. An empty span means damage.
inline Bytes StripRepeat(Bytes tree_key, bool has_repeat) {
  if (!has_repeat) return tree_key;
  if (tree_key.size() <= kRepeatBytes) return {};
  return tree_key.first(tree_key.size() - kRepeatBytes);
}

}  // namespace rowan
