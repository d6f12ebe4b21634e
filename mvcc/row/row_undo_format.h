// SPDX-License-Identifier: GPL-2.0-only
// Payloads of the row undo records (docs/formats/undo_rows.md):
//
//   kClusteredInsert   the key
//   kClusteredUpdate   flags 1 | key size varint | key | old header 13 | kept prefix varint |
//                      kept suffix varint | old middle (the rest)
//   kSecondaryInsert   flags 1 | tree key, repeat included
//   kSecondaryDelete   flags 1 (zero) | tree key, repeat included
//   kBlobWrite, kBlobDrop   blob reference, 16 bytes
//
// The old row of an update is: the first `kept prefix` bytes of the newer row, the old middle, the
// last `kept suffix` bytes of the newer row. Thread safety: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "mvcc/row/row_header.h"

namespace rowan {

enum RowUndoFlags : uint8_t {
  kUndoRowDelete = 1,  ///< kClusteredUpdate: the newer version is delete-marked; purge looks at it
  kUndoMarkCleared = 1,  ///< kSecondaryInsert: revived an entry that this transaction had deleted
};

/// Bytes of an update payload besides the key and the old middle, at most.
inline constexpr size_t kRowUpdateOverheadMax = 1 + 5 + kClusteredHeaderBytes + 5 + 5;

struct RowUpdateUndo {
  uint8_t flags = 0;
  Bytes key;
  ClusteredHeader old_header;
  size_t kept_prefix = 0;
  size_t kept_suffix = 0;
  Bytes old_middle;
};

/// The small pieces of an update payload between the spans it refers to.
struct RowUpdatePieces {
  std::array<std::byte, 1 + 5> before_key;
  size_t before_key_bytes = 0;
  std::array<std::byte, kClusteredHeaderBytes + 5 + 5> after_key;
  size_t after_key_bytes = 0;

  [[nodiscard]] Bytes head() const { return {before_key.data(), before_key_bytes}; }
  [[nodiscard]] Bytes tail() const { return {after_key.data(), after_key_bytes}; }
};

/// Describes how to get from `new_row` back to `old_row`; spans point into the arguments.
RowUpdateUndo MakeRowUpdate(Bytes key, const ClusteredHeader& old_header, Bytes old_row,
                            Bytes new_row, bool marks_deleted);
RowUpdatePieces EncodeRowUpdate(const RowUpdateUndo& update);
[[nodiscard]] inline size_t RowUpdateBytes(const RowUpdateUndo& update,
                                           const RowUpdatePieces& pieces) {
  return pieces.before_key_bytes + update.key.size() + pieces.after_key_bytes +
         update.old_middle.size();
}
/// False when the payload is damaged.
bool DecodeRowUpdate(Bytes payload, RowUpdateUndo* update);

/// Appends the old row to `target`; false when the delta does not fit `new_row` (damage).
bool AppendOldRow(const RowUpdateUndo& update, Bytes new_row, std::vector<std::byte>* target);

struct EntryUndo {
  uint8_t flags = 0;
  Bytes tree_key;
};
bool DecodeEntryUndo(Bytes payload, EntryUndo* entry);

}  // namespace rowan
