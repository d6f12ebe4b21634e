// SPDX-License-Identifier: GPL-2.0-only
// TextSearch: which rows MATCH ... AGAINST finds, and how relevant they are.
//
// A word adds to a row's relevance the number of its occurrences there times the square of the
// logarithm of (rows / rows with the word). The parts of a query are processed in three passes at
// each level: first those that find rows by themselves, then what rows must have (+), then what
// they must not have (-). Relevance is a float throughout, as in the server.
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/status.h"
#include "plugin/codec/text_index.h"
#include "plugin/fulltext/found_documents.h"

namespace rowan {

/// What a search reads.
class TextSource {
 public:
  virtual ~TextSource() = default;
  /// The rows that have a word, or any word with this prefix, in key order for each word.
  using VisitEntry = FunctionRef<Status(Bytes row_key, Bytes payload)>;
  virtual Status VisitWord(std::string_view weights, bool is_prefix, VisitEntry visit) = 0;
  /// The words of one row. kNotFound.
  virtual Status VisitRow(Bytes row_key, TextIndex::Visit visit) = 0;
  /// Approximate number of rows.
  virtual uint64_t RowCount() = 0;
};

struct TextQuery {
  Bytes text;
  bool boolean_mode = false;
  bool expand = false;  ///< WITH QUERY EXPANSION
  size_t memory_bytes_max = SIZE_MAX;
};

struct TextMatch {
  DocumentNumber document = 0;
  float relevance = 0;
};

struct TextSearchResult {
  DocumentKeys keys;
  std::vector<TextMatch> matches;  ///< most relevant first, equal ones in key order
  std::string problem;             ///< a sentence about the query; nothing is found then

  /// For any row: 0 when it is not among the matches.
  [[nodiscard]] float RelevanceOf(Bytes row_key);

 private:
  DocumentMap<float> relevances_;  ///< made when first used
};

/// kTooBig beyond memory_bytes_max; errors of the source.
Result<TextSearchResult> SearchText(const TextIndex& index, const TextQuery& query,
                                    TextSource* source);

}  // namespace rowan
