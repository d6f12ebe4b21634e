// SPDX-License-Identifier: GPL-2.0-only
// EntrySearch: finds a row's entries in a secondary index by the clustered key in them. For indexes
// whose entries depend on more than the row (IndexEntry::computed), when those computed now differ
// from the stored ones.
//
// A search walks the index from its start. Where many entries share a value it seeks the row's
// place among them, so an index with few values costs few pages, whatever its size. After a long
// search, the next one first reads the keys of all entries into memory, as far as there is room.
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/status.h"
#include "btree/cursor.h"
#include "engine/catalog/table.h"
#include "engine/row_codec.h"
#include "engine/session.h"

namespace rowan {

class EntrySearch {
 public:
  static constexpr size_t kMemoryBytesMax = size_t{64} << 20;
  /// Entries that searches of one index walk over before the next one keeps all of them.
  static constexpr uint64_t kWalkedMany = 4096;

  explicit EntrySearch(size_t memory_bytes_max = kMemoryBytesMax)
      : memory_bytes_max_(memory_bytes_max) {}

  /// Whose entries in which index. REQUIRES: the session has locked the row, or no other session
  /// uses the table; so its entries do not change.
  struct Target {
    Session* session = nullptr;
    Table* table = nullptr;
    const RowCodec* codec = nullptr;
    uint32_t index_number = 0;
    Bytes row_key{};
  };

  /// In an index in which each row has one entry: that one, without `unique_prefix_bytes`. A
  /// missing one is damage: reported and kCorrupt. kInterrupted, here and below.
  Status FindOne(const Target& target, EncodedEntry* entry);
  /// The same for an index in which a row may have any number of entries, in key order.
  Status FindAll(const Target& target, std::vector<EncodedEntry>* entries);
  /// Entries looked at so far.
  [[nodiscard]] uint64_t walked_entries() const { return walked_entries_; }

 private:
  /// An entry under a cursor, until the cursor moves.
  struct Entry {
    Bytes key;  ///< without its repeat
    Bytes payload;
    Bytes row_key;
    bool live = false;
  };
  struct KeptEntry {
    uint64_t row_key_hash = 0;
    uint32_t place = 0;  ///< its key's place in kept_keys_
    uint32_t key_bytes = 0;
  };
  enum class Steps : uint8_t { kAll, kTowardsRow };

  using Visit = FunctionRef<bool(const Entry& entry)>;
  /// Visits live entries until `visit` returns false.
  Status Walk(const Target& target, Steps steps, Visit visit);
  Status Look(const Target& target, Cursor* cursor, Entry* entry);
  Status StepTowards(Bytes row_key, const Entry& entry, Cursor* cursor);
  Status KeepAll(const Target& target);
  /// kNotFound: unknown, or no longer the row's.
  Status FindKept(const Target& target, EncodedEntry* entry);
  Status FindLive(const Target& target, Bytes key, EncodedEntry* entry);

  const size_t memory_bytes_max_;
  uint64_t walked_entries_ = 0;
  // State of the index searched last.
  const Table* table_ = nullptr;
  uint32_t index_number_ = 0;
  uint64_t walked_here_ = 0;
  bool too_many_to_keep_ = false;
  std::vector<KeptEntry> kept_;  ///< by hash
  ByteBuffer kept_keys_;
  // State of the walk.
  ByteBuffer value_;  ///< what precedes the clustered key in the last entry walked
  uint32_t steps_in_value_ = 0;
  ByteBuffer seek_key_;
  ByteBuffer scratch_;
};

}  // namespace rowan
