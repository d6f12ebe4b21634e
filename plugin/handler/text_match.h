// SPDX-License-Identifier: GPL-2.0-only
// TextMatch: one MATCH ... AGAINST of a statement, as the server holds it: the result of the search
// and where the statement is in it. The search runs once, when the statement begins, over the index
// as the statement sees the table, its own transaction's changes included.
// Thread safety: the thread that runs the statement.
#pragma once

#include <memory>

#include "ft_global.h"

#include "engine/table_cursor.h"
#include "plugin/codec/table_codec.h"
#include "plugin/fulltext/text_search.h"

namespace rowan {

/// Reads a FULLTEXT index and the texts of its rows.
class TableTextSource final : public TextSource {
 public:
  /// `record` is scratch; all outlive it. `options`: of the statement's reads.
  TableTextSource(Session* session, Table* table, const TableCodec* codec, uint32_t index_number,
                  unsigned char* record, const ReadOptions& options);

  Status VisitWord(std::string_view weights, bool is_prefix, VisitEntry visit) override;
  Status VisitRow(Bytes row_key, TextIndex::Visit visit) override;
  /// Counted when there are few, where one more or less makes a difference.
  uint64_t RowCount() override;

 private:
  Table* const table_;
  const TableCodec* const codec_;
  const uint32_t index_number_;
  unsigned char* const record_;
  TableCursor cursor_;
};

/// The texts of one row as if they were all there is.
class RowTextSource final : public TextSource {
 public:
  RowTextSource(const TableCodec* codec, uint32_t index_number, const unsigned char* record)
      : codec_(codec), index_number_(index_number), record_(record) {}

  /// Encodes the row's entries. To be called first.
  Status Read();
  Status VisitWord(std::string_view weights, bool is_prefix, VisitEntry visit) override;
  Status VisitRow(Bytes row_key, TextIndex::Visit visit) override;
  uint64_t RowCount() override { return 1; }

 private:
  const TableCodec* const codec_;
  const uint32_t index_number_;
  const unsigned char* const record_;
  std::vector<EncodedEntry> entries_;
};

/// Its first members are what the server knows of it.
struct TextMatchState : FT_INFO_EXT {
  TextSearchResult result;
  size_t next = 0;                      ///< of the matches, to be read
  const TableCursor* reader = nullptr;  ///< which knows the row read last
  uint32_t index_number = 0;
  std::string text{};  ///< of AGAINST
  bool boolean_mode = false;
  bool expanded = false;

  TextMatchState();
  [[nodiscard]] float CurrentRelevance() const {
    return next == 0 ? 0 : result.matches[next - 1].relevance;
  }
};

}  // namespace rowan
