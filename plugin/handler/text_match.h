// SPDX-License-Identifier: GPL-2.0-only
// TextMatch: one MATCH ... AGAINST of a statement, as the server holds it: the result of the search
// and where the statement is in it. The search runs once, when the statement begins, over the index
// as the statement sees the table, its own transaction's changes included.
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
class TextMatchState : public FT_INFO_EXT {
 public:
  /// `part`: whose reader reads the rows for the statement. Outlives it.
  TextMatchState(TablePart* part, uint32_t index_number, uint flags, const String& text);

  /// Runs the search for a statement that reads as `mode` says. kTooBig: the result has no room.
  Status Find(Session* session, ReadMode mode);
  [[nodiscard]] const TextSearchResult& result() const { return result_; }

  // The statement reads the matches, the most relevant first.
  void Rewind() { next_ = 0; }
  /// kNotFound: the row is none of the matches any more. kEndOfRange.
  Status ReadNext(ReadMode mode, uchar* record);
  /// The same without a row.
  Status PassNext();
  [[nodiscard]] float CurrentRelevance() const;
  /// Of the row that was read last.
  float FindRelevance();

 private:
  /// Whether a row that was found in the index is one of the matches as it was read.
  Status StillMatches(const uchar* record, bool* matches) const;
  [[nodiscard]] const TextIndex& index() const { return *part_.codec().TextIndexAt(index_number_); }

  TablePart& part_;
  const uint32_t index_number_;
  const bool boolean_mode_;
  const bool expanded_;
  const std::string text_;  ///< of AGAINST, in the collation of the index
  TextSearchResult result_;
  size_t next_ = 0;  ///< of the matches, to be read
};

}  // namespace rowan
