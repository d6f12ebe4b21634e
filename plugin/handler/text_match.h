// SPDX-License-Identifier: GPL-2.0-only
// TextMatch: one MATCH ... AGAINST of a statement, as the server holds it: the result of the search
// and the statement's position in it. The search runs once, when the statement begins, over the
// index as the statement sees the table, its own transaction's changes included.
// Thread safety: the thread that runs the statement.
#pragma once

#include <string>

#include "ft_global.h"
#include "my_inttypes.h"

#include "engine/table_cursor.h"
#include "plugin/codec/table_codec.h"
#include "plugin/fulltext/text_search.h"
#include "plugin/handler/table_part.h"

class String;

namespace rowan {

/// Reads a FULLTEXT index and the texts of its rows.
class TableTextSource final : public TextSource {
 public:
  /// `record` is scratch; all outlive it. `options`: the statement's read options.
  TableTextSource(Session* session, Table* table, const TableCodec* codec, uint32_t index_number,
                  unsigned char* record, const ReadOptions& options);

  Status VisitWord(std::string_view weights, bool is_prefix, VisitEntry visit) override;
  Status VisitRow(Bytes row_key, TextIndex::Visit visit) override;
  /// Counted exactly when there are few, where each one matters.
  uint64_t RowCount() override;

 private:
  Table* const table_;
  const TableCodec* const codec_;
  const uint32_t index_number_;
  unsigned char* const record_;
  TableCursor cursor_;
};

/// The texts of one row as the whole collection.
class RowTextSource final : public TextSource {
 public:
  RowTextSource(const TableCodec* codec, uint32_t index_number, const unsigned char* record)
      : codec_(codec), index_number_(index_number), record_(record) {}

  /// Encodes the row's entries. Call first.
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

/// Its first members are the server's view of it.
class TextMatchState : public FT_INFO_EXT {
 public:
  /// `part`: its reader reads the rows for the statement. Outlives it.
  TextMatchState(TablePart* part, uint32_t index_number, uint flags, const String& text);

  /// Runs the search for a statement that reads as `mode` says. kTooBig: no room for the result.
  Status Find(Session* session, ReadMode mode);
  [[nodiscard]] const TextSearchResult& result() const { return result_; }

  // Reading the matches, the most relevant first.
  void Rewind() { next_ = 0; }
  /// kNotFound: the row no longer matches. kEndOfRange.
  Status ReadNext(ReadMode mode, uchar* record);
  /// The same without a row.
  Status PassNext();
  [[nodiscard]] float CurrentRelevance() const;
  /// The relevance of the row read last.
  float FindRelevance();

 private:
  /// Whether a row found in the index still matches in the version that was read.
  Status StillMatches(const uchar* record, bool* matches) const;
  [[nodiscard]] const TextIndex& index() const { return *part_.codec().TextIndexAt(index_number_); }

  TablePart& part_;
  const uint32_t index_number_;
  const bool boolean_mode_;
  const bool expanded_;
  const std::string text_;  ///< AGAINST's text, in the collation of the index
  TextSearchResult result_;
  size_t next_ = 0;  ///< the next match to read
};

}  // namespace rowan
