// SPDX-License-Identifier: GPL-2.0-only
// TextIndex: what a FULLTEXT index makes of a text. All of it is fixed when the index is created
// and kept in the index's descriptor, because an entry is removed under the key it was made with:
// which words are left out, and how the parser, which may be a plugin with settings of its own,
// splits a fixed sample text.
//
// An entry (docs/fulltext.md): the word's weights, escaped and ended, followed by the clustered
// key; its payload says how often the word occurs in the row's text and where, counted in words
// across all columns, with the column.
// Thread safety: const; several threads may call a parser plugin concurrently.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/status.h"
#include "engine/row_codec.h"
#include "plugin/codec/stopwords.h"

struct CHARSET_INFO;
struct KEY;
struct st_mysql_ftparser;

namespace rowan {

/// Where a word is: its column, shifted by 32, and its place. So places in different columns are
/// never consecutive.
using WordPosition = uint64_t;
inline uint32_t PlaceOf(WordPosition position) { return static_cast<uint32_t>(position); }

/// Which words an index has.
struct WordLimits {
  uint32_t characters_min = 0;
  uint32_t characters_max = 0;
  bool leaves_out_stopwords = true;
  std::shared_ptr<const Stopwords> stopwords;  ///< null: those of INNODB_FT_DEFAULT_STOPWORD
};

/// innodb_ft_min_token_size and innodb_ft_max_token_size.
WordLimits ServerWordSizes();

class TextIndex {
 public:
  /// Words longer than this many bytes are in no index.
  static constexpr size_t kWordBytesMax = 84 * 4;

  TextIndex(const KEY& key, const CHARSET_INFO* charset, const WordLimits& limits);
  /// With the built-in parser.
  TextIndex(uint32_t columns, const CHARSET_INFO* charset, const WordLimits& limits);

  [[nodiscard]] std::string Describe() const;
  /// Takes the limits from the text that Describe gave. False when the text is not from Describe.
  bool Restore(std::string_view description);
  void SetLimits(WordLimits limits);

  /// Each word of a text with its place, including those that the index leaves out; `in_index`: it
  /// has this one. Stops at the first error of `visit`.
  struct Word {
    std::string_view small;    ///< in lower case
    std::string_view weights;  ///< see AppendWordWeights
    uint32_t place = 0;
    bool in_index = false;
    bool begins_column = false;
  };
  using Visit = FunctionRef<Status(const Word& word)>;
  /// `*place`: that of the first word; afterwards that of the next column's first word.
  Status VisitWords(Bytes text, uint32_t* place, Visit visit) const;

  [[nodiscard]] const CHARSET_INFO* charset() const { return charset_; }
  [[nodiscard]] st_mysql_ftparser* parser() const { return parser_; }
  [[nodiscard]] const WordLimits& limits() const { return limits_; }
  [[nodiscard]] uint32_t columns() const { return columns_; }
  /// Whether a word is neither too short nor too long nor a stopword.
  [[nodiscard]] bool HasWord(Bytes small, std::string_view weights, uint32_t characters) const;

 private:
  struct Parse;

  Status ParseByPlugin(Bytes text, Parse* parse) const;
  /// `weights`: of the word as an entry has them.
  [[nodiscard]] bool IsStopword(Bytes small, std::string_view weights) const;
  [[nodiscard]] bool HasStopword(Bytes gram) const;
  [[nodiscard]] uint64_t ParserFingerprint() const;

  const CHARSET_INFO* const charset_;
  const uint32_t columns_;
  st_mysql_ftparser* parser_ = nullptr;  ///< null: the built-in one
  std::string parser_name_;
  bool is_ngram_ = false;
  WordLimits limits_;
  const CHARSET_INFO* compares_;        ///< stopwords are compared in this collation
  std::vector<std::string> stopwords_;  ///< their weights, sorted
};

/// The most bytes of an entry's key and of an entry.
struct EntryRoom {
  size_t key_bytes = 0;
  size_t entry_bytes = 0;
};

/// The words of one row, as they come from its columns.
class RowWords {
 public:
  explicit RowWords(const TextIndex* index) : index_(index) {}
  Status Add(Bytes text);
  /// One entry for each word, except where the key does not fit; as RowCodec::EncodeEntries.
  Status VisitEntries(Bytes clustered_key, const EntryRoom& room, EncodedEntry* buffer,
                      RowCodec::EntryVisit visit) const;

 private:
  const TextIndex* const index_;
  uint32_t place_ = 0;
  uint32_t column_ = 0;  ///< of those that are not NULL
  std::map<std::string, std::vector<WordPosition>, std::less<>> places_;  ///< by weights
};

/// The part of an entry's key that stands for a word; `prefix`: for all words with this prefix.
void AppendWordKey(std::string_view weights, bool prefix, ByteBuffer* key);
/// Where the weights end in an entry's key and the clustered key begins. 0: malformed.
size_t WordKeyBytes(Bytes key);
/// How often the word occurs in the row. False: malformed.
bool CountPlaces(Bytes payload, uint32_t* count);
/// The places. An entry has no room for very many: `*complete` says whether these are all.
bool ReadPlaces(Bytes payload, uint32_t columns, std::vector<WordPosition>* places, bool* complete);

}  // namespace rowan
