// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/stored_row.h"

#include <algorithm>

#include "sql/table.h"

#include "base/logging.h"
#include "plugin/server/instance.h"

namespace rowan {
namespace {

bool SameOffPageValues(const TableCursor& left, const TableCursor& right) {
  const std::vector<TableCursor::OffPage>& mine = left.off_page_values();
  const std::vector<TableCursor::OffPage>& other = right.off_page_values();
  return std::equal(mine.begin(), mine.end(), other.begin(), other.end(),
                    [](const TableCursor::OffPage& one, const TableCursor::OffPage& two) {
                      return SameValue(one.stored, two.stored);
                    });
}

}  // namespace

RereadRow::RereadRow(TABLE* table, Table* engine_table, const RowCodec* codec)
    : codec_(*codec), cursor_(g_engine, engine_table, codec) {
  const uchar* defaults = table->s->default_values;
  record_.assign(defaults, defaults + table->s->rec_buff_length);
}

Status RereadRow::Read(const uchar* read, TableCursor* reader, Session* session,
                       StoredRecord* row) {
  ByteBuffer key(reader->row_key().begin(), reader->row_key().end());
  if (codec_.has_primary_key()) {
    const Status encoded = codec_.EncodeKey(read, &key);
    if (!encoded.ok()) return encoded;
  }
  ReadOptions options;
  options.mode = ReadMode::kLockExclusive;
  cursor_.SetSession(session, options);
  cursor_.SetColumns(nullptr, RowKeys::kKeep);
  cursor_.OpenScan(0);
  const Status status = cursor_.GetRow(key, record_.data());
  cursor_.CloseScan();
  if (!status.ok()) return status;
  // Unchanged values are recognised by the place where the first reader put them.
  *row = {.record = record_.data(),
          .cursor = SameOffPageValues(*reader, cursor_) ? reader : &cursor_};
  return status;
}

Status StoredEntryFinder::Find(uint32_t index_number, Bytes key,
                               std::vector<EncodedEntry>* entries) {
  TellOfOtherSettings(index_number);
  if (!search_.has_value()) search_.emplace();
  const TableCodec& codec = share_.codec();
  const EntrySearch::Target target{session_, share_.table(), &codec, index_number, key};
  if (codec.HasSeveralEntries(index_number)) return search_->FindAll(target, entries);
  return search_->FindOne(target, &entries->emplace_back());
}

void StoredEntryFinder::TellOfOtherSettings(uint32_t index_number) const {
  if (!share_.MayTellOfOtherSettings()) return;
  const TableDef& definition = share_.table()->definition();
  LogWarning(
      "Index '{}' of table '{}' has entries whose expression gives another value under the "
      "settings of the session that changes their rows, such as time_zone, lc_time_names or "
      "sql_mode. They are sought in the index, which takes longer. ALTER TABLE ... FORCE computes "
      "all of them anew.",
      definition.indexes[index_number].name, definition.name);
}

}  // namespace rowan
