// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/row_undo_format.h"

#include <algorithm>

#include "base/assertions.h"
#include "btree/common_suffix.h"
#include "btree/node.h"

namespace rowan {

RowUpdateUndo MakeRowUpdate(Bytes key, const ClusteredHeader& old_header, Bytes old_row,
                            Bytes new_row, bool marks_deleted) {
  RowUpdateUndo update;
  update.flags = marks_deleted ? kUndoRowDelete : 0;
  update.key = key;
  update.old_header = old_header;
  update.kept_prefix = CommonPrefix(old_row, new_row);
  const size_t rest = std::min(old_row.size(), new_row.size()) - update.kept_prefix;
  update.kept_suffix = CommonSuffix(old_row, new_row, rest);
  update.old_middle =
      old_row.subspan(update.kept_prefix, old_row.size() - update.kept_prefix - update.kept_suffix);
  return update;
}

RowUpdatePieces EncodeRowUpdate(const RowUpdateUndo& update) {
  ROWAN_DCHECK(update.key.size() < (uint64_t{1} << 35));  // varints of at most 5 bytes
  RowUpdatePieces pieces;
  pieces.before_key[0] = static_cast<std::byte>(update.flags);
  std::byte* end = PutVarint(pieces.before_key.data() + 1, update.key.size());
  pieces.before_key_bytes = static_cast<size_t>(end - pieces.before_key.data());
  StoreClusteredHeader(pieces.after_key.data(), update.old_header);
  end = PutVarint(pieces.after_key.data() + kClusteredHeaderBytes, update.kept_prefix);
  end = PutVarint(end, update.kept_suffix);
  pieces.after_key_bytes = static_cast<size_t>(end - pieces.after_key.data());
  return pieces;
}

bool DecodeRowUpdate(Bytes payload, RowUpdateUndo* update) {
  if (payload.empty()) return false;
  const std::byte* end = payload.data() + payload.size();
  update->flags = static_cast<uint8_t>(payload[0]);
  uint64_t key_bytes = 0;
  const std::byte* position = GetVarint(payload.data() + 1, end, &key_bytes);
  if (position == nullptr || key_bytes > static_cast<size_t>(end - position)) return false;
  update->key = {position, static_cast<size_t>(key_bytes)};
  position += key_bytes;
  Bytes rest;
  if (!ParseClustered({position, static_cast<size_t>(end - position)}, &update->old_header,
                      &rest)) {
    return false;
  }
  uint64_t prefix = 0;
  uint64_t suffix = 0;
  position = GetVarint(rest.data(), end, &prefix);
  if (position != nullptr) position = GetVarint(position, end, &suffix);
  if (position == nullptr) return false;
  update->kept_prefix = prefix;
  update->kept_suffix = suffix;
  update->old_middle = {position, static_cast<size_t>(end - position)};
  return true;
}

bool AppendOldRow(const RowUpdateUndo& update, Bytes new_row, std::vector<std::byte>* target) {
  if (update.kept_prefix > new_row.size() ||
      update.kept_suffix > new_row.size() - update.kept_prefix) {
    return false;
  }
  const Bytes prefix = new_row.first(update.kept_prefix);
  const Bytes suffix = new_row.last(update.kept_suffix);
  target->insert(target->end(), prefix.begin(), prefix.end());
  target->insert(target->end(), update.old_middle.begin(), update.old_middle.end());
  target->insert(target->end(), suffix.begin(), suffix.end());
  return true;
}

bool DecodeEntryUndo(Bytes payload, EntryUndo* entry) {
  if (payload.size() < 2) return false;
  entry->flags = static_cast<uint8_t>(payload[0]);
  entry->tree_key = payload.subspan(1);
  return true;
}

}  // namespace rowan
