// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/scan_state.h"

namespace rowan {

void ScanState::Open(Txn* new_txn, Index* new_index, const ReadOptions& new_options) {
  txn = new_txn;
  index = new_index;
  options = new_options;
  if (cursor.has_value()) {
    cursor->Reset(&new_index->tree);
  } else {
    cursor.emplace(&new_index->tree);
  }
  cursor->SetDetour(new_options.detour);
}

void ScanState::StartBatch(Direction scan_direction) {
  if (cursor.has_value() && cursor->latched()) cursor->Unlatch();
  CountUnused();
  if (on_entry()) place.kind = ScanPlace::Kind::kNowhere;
  direction = scan_direction;
  finished = false;
  alone = false;
  limit = first_limit;
  position = 0;
  ClearBatch();
}

Status ScanState::Copy(Bytes value, bool has_repeat) {
  const NodeView leaf = cursor->View();
  const size_t key_bytes = leaf.KeyLength(cursor->slot());
  const size_t repeat_bytes = has_repeat ? kRepeatBytes : 0;
  if (key_bytes < repeat_bytes) return Damage("an entry shorter than its repeat");
  BatchItem& item = items.emplace_back();
  item.key_offset = static_cast<uint32_t>(arena.size());
  arena.Commit(leaf.CopyKey(cursor->slot(), arena.Reserve(key_bytes)));
  item.key_bytes = static_cast<uint16_t>(key_bytes - repeat_bytes);
  item.has_repeat = has_repeat;
  item.value_offset = arena.Append(value);
  item.value_bytes = static_cast<uint32_t>(value.size());
  copied_bytes += key_bytes + value.size();
  return Status::Ok();
}

Status ScanState::SeekTo(Bytes key) {
  return index->clustered ? cursor->SeekExactly(key) : cursor->SeekAtLeast(key);
}

bool ScanState::AtKey(Bytes key) {
  const Bytes tree_key = cursor->key();
  if (tree_key.size() == key.size()) return EqualBytes(tree_key, key);
  if (index->clustered || tree_key.size() != key.size() + kRepeatBytes) return false;
  const Bytes value = cursor->value();
  return !value.empty() && (static_cast<uint8_t>(value[0]) & kEntryHasRepeat) != 0 &&
         EqualBytes(tree_key.first(key.size()), key);
}

Status ScanState::SeekAgain() {
  if (forward()) return cursor->SeekAtLeast(seek_key);
  seek_key.push_back(std::byte{0});  // the last entry not behind it
  return cursor->SeekBefore(seek_key);
}

Status ScanState::Damage(const char* what) const {
  return index->ReportDamage(cursor->leaf(), what);
}

}  // namespace rowan
