// SPDX-License-Identifier: GPL-2.0-only
// Phrase: several words next to each other, or within a distance. The places in the index's entries
// decide; a row is read only if a word of the phrase is not indexed, or if an entry had no room for
// all places. Thread safety: one thread.
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

class Phrase {
 public:
  static constexpr uint32_t kNotIndexed = UINT32_MAX;
  struct Word {
    std::string weights;
    uint32_t number = kNotIndexed;  ///< among the search's words
    uint32_t offset = 0;            ///< after the first word of the phrase
  };

  /// `distance`: most words that the phrase may span; 0: its words are consecutive.
  Phrase(uint32_t distance, uint32_t columns) : distance_(distance), columns_(columns) {}

  /// In phrase order. Words that are not in the index count only after those that are.
  void Add(std::string weights, uint32_t number);
  [[nodiscard]] const std::vector<Word>& indexed() const { return indexed_; }

  /// A row that has the current word. kCorrupt.
  Status AddRow(DocumentNumber document, Bytes payload);
  /// Moves on to the next word.
  void EndWord();

  using VisitRow = FunctionRef<Status(DocumentNumber document, TextIndex::Visit visit)>;
  /// Rows that have the phrase, in order of their numbers.
  Status VisitMatches(VisitRow visit_row, FunctionRef<void(DocumentNumber document)> visit);

 private:
  struct Row {
    DocumentNumber document = 0;
    bool complete = true;
    std::vector<std::vector<WordPosition>> places{};  ///< of each indexed word
  };

  [[nodiscard]] bool FollowEachOther(const Row& row) const;
  [[nodiscard]] bool AreNear(const Row& row) const;
  [[nodiscard]] Status IsInText(const Row& row, VisitRow visit_row, bool* found) const;

  const uint32_t distance_;
  const uint32_t columns_;  ///< of the index
  std::vector<Word> all_;
  std::vector<Word> indexed_;
  size_t turn_ = 0;
  DocumentMap<Row> rows_;
};

}  // namespace rowan
