// SPDX-License-Identifier: GPL-2.0-only
// The stored form of a row to be changed, where it may differ from what was read.
// RereadRow: the server checks foreign keys and cascades between reading a row and changing it, and
// a cascade can return to that very row (a row that refers to itself, or tables that refer to each
// other): then what the server passes as the old row is out of date.
// StoredEntryFinder: the value of an expression may depend on settings of the session, such as
// time_zone; an index has what the session that wrote the row computed, and a session that changes
// the row recomputes that entry. If it differs, the row's entries are searched for in the index.
// Thread safety: the handler's.
#pragma once

#include <optional>
#include <vector>

#include "engine/entry_search.h"
#include "engine/table_cursor.h"
#include "engine/table_writer.h"
#include "plugin/handler/table_share.h"

struct TABLE;

namespace rowan {

class RereadRow {
 public:
  /// Reads rows as the reader of the server's rows does. All outlive it.
  RereadRow(TABLE* table, Table* engine_table, const RowCodec* codec);

  /// Rereads the row that the server read last, as `read`. Its cursor is `reader` or this one,
  /// whichever has the off-page values by which unchanged ones are recognised. kNotFound: a cascade
  /// has deleted it.
  Status Read(const unsigned char* read, TableCursor* reader, Session* session, StoredRecord* row);
  void GiveBackBuffers() { cursor_.GiveBackBuffers(); }

 private:
  const RowCodec& codec_;
  TableCursor cursor_;
  std::vector<unsigned char> record_;
};

class StoredEntryFinder final : public StoredEntries {
 public:
  /// `share` outlives it.
  explicit StoredEntryFinder(TableShare* share) : share_(*share) {}

  void SetSession(Session* session) { session_ = session; }
  /// What searches have found does not hold for the next statement.
  void Forget() { search_.reset(); }
  Status Find(uint32_t index_number, Bytes key, std::vector<EncodedEntry>* entries) override;

 private:
  void TellOfOtherSettings(uint32_t index_number) const;

  TableShare& share_;
  Session* session_ = nullptr;
  std::optional<EntrySearch> search_;
};

}  // namespace rowan
