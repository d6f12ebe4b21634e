// SPDX-License-Identifier: GPL-2.0-only
#include "engine/entry_search.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "base/key_prefix.h"
#include "mvcc/row/row_header.h"

namespace rowan {
namespace {

/// A seek on the leaf costs as much as 5 to 10 steps, and one to another leaf a multiple of that.
constexpr uint32_t kStepsInValueMax = 16;

uint64_t HashOf(Bytes row_key) { return std::hash<std::string_view>()(AsText(row_key)); }

void CopyTo(EncodedEntry* entry, Bytes key, Bytes payload) {
  entry->key.assign(key.begin(), key.end());
  entry->payload.assign(payload.begin(), payload.end());
}

}  // namespace

Status EntrySearch::FindOne(const Target& target, EncodedEntry* entry) {
  if (table_ != target.table || index_number_ != target.index_number) {
    table_ = target.table;
    index_number_ = target.index_number;
    walked_here_ = 0;
    too_many_to_keep_ = false;
    kept_.clear();
  }
  if (walked_here_ > kWalkedMany && kept_.empty() && !too_many_to_keep_) {
    const Status status = KeepAll(target);
    if (!status.ok()) return status;
  }
  Status status = FindKept(target, entry);
  if (!status.Is(Code::kNotFound)) return status;
  bool found = false;
  status = Walk(target, Steps::kTowardsRow, [&](const Entry& other) {
    found = EqualBytes(other.row_key, target.row_key);
    if (found) CopyTo(entry, other.key, other.payload);
    return !found;
  });
  if (!status.ok() || found) return status;
  const Index* index = target.table->index(target.index_number);
  return index->ReportDamage(index->tree.root(), "a row has no entry");
}

Status EntrySearch::FindAll(const Target& target, std::vector<EncodedEntry>* entries) {
  entries->clear();
  return Walk(target, Steps::kTowardsRow, [&](const Entry& entry) {
    if (!EqualBytes(entry.row_key, target.row_key)) return true;
    CopyTo(&entries->emplace_back(), entry.key, entry.payload);
    return true;
  });
}

// --- walking ---

Status EntrySearch::Walk(const Target& target, Steps steps, Visit visit) {
  Cursor cursor(&target.table->index(target.index_number)->tree, FixHint::kScan);
  value_.clear();
  steps_in_value_ = 0;
  Status moved = cursor.SeekFirst();
  while (moved.ok()) {
    Entry entry;
    const Status status = Look(target, &cursor, &entry);
    if (!status.ok()) return status;
    ++walked_here_;
    ++walked_entries_;
    if (entry.live && !visit(entry)) return Status::Ok();
    if (target.session->interrupted()) return Status(Code::kInterrupted);
    moved = steps == Steps::kAll ? cursor.Next() : StepTowards(target.row_key, entry, &cursor);
  }
  return moved.Is(Code::kEndOfRange) ? Status::Ok() : moved;
}

Status EntrySearch::Look(const Target& target, Cursor* cursor, Entry* entry) {
  SecondaryHeader header;
  if (!ParseSecondary(cursor->value(), &header, &entry->payload)) {
    return target.table->index(target.index_number)
        ->ReportDamage(cursor->leaf(), "an entry is shorter than its header");
  }
  entry->key = StripRepeat(cursor->key(), header.has_repeat);
  entry->live = header.deleter == kNoTxn;
  const Result<Bytes> row_key =
      target.codec->ClusteredKeyOf(target.index_number, entry->key, &scratch_);
  if (row_key.ok()) entry->row_key = row_key.value();
  return row_key.status();
}

/// Moves to the next entry, or past those with the same value and another row's key.
Status EntrySearch::StepTowards(Bytes row_key, const Entry& entry, Cursor* cursor) {
  const bool row_key_is_last =
      entry.row_key.data() + entry.row_key.size() == entry.key.data() + entry.key.size();
  if (!row_key_is_last) return cursor->Next();
  const Bytes value = entry.key.first(entry.key.size() - entry.row_key.size());
  if (!EqualBytes(value, value_)) {
    value_.assign(value.begin(), value.end());
    steps_in_value_ = 0;
  }
  const int order = CompareBytes(entry.row_key, row_key);
  if (order == 0 || ++steps_in_value_ < kStepsInValueMax) return cursor->Next();
  if (order < 0) {
    seek_key_.assign(value_.begin(), value_.end());
    seek_key_.insert(seek_key_.end(), row_key.begin(), row_key.end());
    return cursor->SeekAtLeast(seek_key_);
  }
  PrefixSuccessor(value_, &seek_key_);
  return seek_key_.empty() ? Status(Code::kEndOfRange) : cursor->SeekAtLeast(seek_key_);
}

// --- keeping ---

Status EntrySearch::KeepAll(const Target& target) {
  kept_keys_.clear();
  const Status status = Walk(target, Steps::kAll, [&](const Entry& entry) {
    const size_t bytes =
        kept_keys_.size() + entry.key.size() + (kept_.size() + 1) * sizeof(KeptEntry);
    too_many_to_keep_ = bytes > memory_bytes_max_;
    if (too_many_to_keep_) return false;
    kept_.push_back({HashOf(entry.row_key), static_cast<uint32_t>(kept_keys_.size()),
                     static_cast<uint32_t>(entry.key.size())});
    kept_keys_.insert(kept_keys_.end(), entry.key.begin(), entry.key.end());
    return true;
  });
  if (too_many_to_keep_ || !status.ok()) {
    kept_ = {};
    kept_keys_ = {};
  }
  std::sort(kept_.begin(), kept_.end(), [](const KeptEntry& left, const KeptEntry& right) {
    return left.row_key_hash < right.row_key_hash;
  });
  return status;
}

Status EntrySearch::FindKept(const Target& target, EncodedEntry* entry) {
  const uint64_t hash = HashOf(target.row_key);
  auto next = std::lower_bound(
      kept_.begin(), kept_.end(), hash,
      [](const KeptEntry& kept, uint64_t sought) { return kept.row_key_hash < sought; });
  for (; next != kept_.end() && next->row_key_hash == hash; ++next) {
    const Bytes key = Bytes(kept_keys_).subspan(next->place, next->key_bytes);
    const Status status = FindLive(target, key, entry);
    if (!status.Is(Code::kNotFound)) return status;
  }
  return Status(Code::kNotFound);
}

/// The row's live entry with this key, the plain one or a repeat of it.
Status EntrySearch::FindLive(const Target& target, Bytes key, EncodedEntry* entry) {
  Cursor cursor(&target.table->index(target.index_number)->tree);
  Status moved = cursor.SeekAtLeast(key);
  for (; moved.ok(); moved = cursor.Next()) {
    Entry other;
    const Status status = Look(target, &cursor, &other);
    if (!status.ok()) return status;
    ++walked_entries_;
    if (!EqualBytes(other.key, key)) return Status(Code::kNotFound);
    if (!other.live || !EqualBytes(other.row_key, target.row_key)) continue;
    CopyTo(entry, other.key, other.payload);
    return Status::Ok();
  }
  return moved.Is(Code::kEndOfRange) ? Status(Code::kNotFound) : moved;
}

}  // namespace rowan
