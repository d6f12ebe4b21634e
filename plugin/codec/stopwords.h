// SPDX-License-Identifier: GPL-2.0-only
// Words that a FULLTEXT index leaves out: the server's default list, or one read from a table when
// the index was made and kept in its descriptor. Thread safety: immutable.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct CHARSET_INFO;

namespace rowan {

/// The weights (word_break.h) of INNODB_FT_DEFAULT_STOPWORD in a collation, sorted.
std::vector<std::string> DefaultStopwordWeights(const CHARSET_INFO* charset);

class Stopwords {
 public:
  /// Words as a table's column has them.
  Stopwords(const CHARSET_INFO* collation, std::vector<std::string> words);

  /// The collation that decides whether a word of an index is one of these: the table's, or the
  /// index's own where their character sets differ.
  [[nodiscard]] const CHARSET_INFO* ComparedIn(const CHARSET_INFO* index) const;
  /// The words' weights in that collation, sorted.
  [[nodiscard]] std::vector<std::string> Weights(const CHARSET_INFO* index) const;

  /// "<number of the collation>:<word>,<word>", words in hexadecimal digits, sorted.
  [[nodiscard]] std::string Describe() const;
  /// Null when the text is not from Describe, or there is no such collation.
  static std::shared_ptr<const Stopwords> Parse(std::string_view description);

 private:
  const CHARSET_INFO* collation_;
  std::vector<std::string> words_;  ///< sorted, each once
};

}  // namespace rowan
