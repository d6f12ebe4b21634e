// SPDX-License-Identifier: GPL-2.0-only
// TextMatches: the rows that a query, or a group in it, has found so far. How a word's rows affect
// them depends on the operator in front of it. Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plugin/fulltext/found_documents.h"
#include "plugin/fulltext/query_node.h"

namespace rowan {

using WordNumber = uint32_t;

/// A set of words: few, except with query expansion.
class WordSet {
 public:
  void Add(WordNumber word) {
    if (word < 64) {
      first_ |= uint64_t{1} << word;
    } else if (std::find(more_.begin(), more_.end(), word) == more_.end()) {
      more_.push_back(word);
    }
  }
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (uint64_t left = first_; left != 0; left &= left - 1) {
      visit(static_cast<WordNumber>(__builtin_ctzll(left)));
    }
    for (const WordNumber word : more_) visit(word);
  }

 private:
  uint64_t first_ = 0;
  std::vector<WordNumber> more_;
};

struct TextHit {
  float bonus = 0;  ///< from operators, between -1 and 1
  bool gone = false;
  WordSet words{};  ///< that add to its relevance
};

class TextMatches {
 public:
  /// Applies a row that the part of the query after `oper` found. REQUIRES: for kRequire, between
  /// BeginRequire and EndRequire.
  void Apply(QueryOperator oper, DocumentNumber document, float bonus) {
    switch (oper) {
      case QueryOperator::kNone: Unite(document, bonus); break;
      case QueryOperator::kRequire: Intersect(document, bonus); break;
      case QueryOperator::kExclude: Remove(document); break;
      case QueryOperator::kNegate: Raise(document, -1.0F); break;
      case QueryOperator::kLower:
        Unite(document, bonus);
        Raise(document, -1.0F);
        break;
      case QueryOperator::kRaise:
        Unite(document, bonus);
        Raise(document, 1.0F);
        break;
    }
  }
  /// The row, if among the matches, has the word.
  void AddWord(DocumentNumber document, WordNumber word) {
    TextHit* hit = requiring_ ? FindIn(&required_, document) : nullptr;
    if (hit == nullptr) hit = FindIn(&hits_, document);
    if (hit != nullptr) hit->words.Add(word);
  }

  void BeginRequire() { requiring_ = true; }
  void EndRequire() {
    std::swap(hits_, required_);
    required_.Clear();
    requiring_ = false;
    something_is_required_ = true;
    removed_ = 0;
  }
  /// An earlier part was required: rows that are not here can no longer match.
  [[nodiscard]] bool something_is_required() const { return something_is_required_; }
  void set_something_is_required() { something_is_required_ = true; }
  [[nodiscard]] bool empty() const { return hits_.count() == removed_; }
  [[nodiscard]] size_t memory_bytes() const {
    return hits_.memory_bytes() + required_.memory_bytes();
  }
  template <typename Visit>
  void ForEach(Visit visit) {
    hits_.ForEach([&](DocumentNumber document, TextHit* hit) {
      if (!hit->gone) visit(document, *hit);
    });
  }

 private:
  static TextHit* FindIn(DocumentMap<TextHit>* hits, DocumentNumber document) {
    TextHit* hit = hits->Find(document);
    return hit == nullptr || hit->gone ? nullptr : hit;
  }
  void Unite(DocumentNumber document, float bonus) {
    bool added = false;
    TextHit* hit = hits_.Get(document, &added);
    if (!added && !hit->gone) return;
    if (hit->gone) --removed_;
    *hit = {.bonus = bonus};
  }
  void Remove(DocumentNumber document) {
    TextHit* hit = FindIn(&hits_, document);
    if (hit == nullptr) return;
    hit->gone = true;
    ++removed_;
  }
  void Raise(DocumentNumber document, float change) {
    TextHit* hit = FindIn(&hits_, document);
    if (hit != nullptr) hit->bonus = std::clamp(hit->bonus + change, -1.0F, 1.0F);
  }
  void Intersect(DocumentNumber document, float bonus) {
    TextHit* before = FindIn(&hits_, document);
    if (before == nullptr && something_is_required_) return;
    bool added = false;
    TextHit* hit = required_.Get(document, &added);
    if (!added) return;
    hit->bonus = bonus;
    if (before == nullptr) return;
    hit->bonus = std::clamp(bonus + before->bonus, -1.0F, 1.0F);
    hit->words = before->words;
  }

  DocumentMap<TextHit> hits_;
  DocumentMap<TextHit> required_;
  size_t removed_ = 0;
  bool requiring_ = false;
  bool something_is_required_ = false;
};

}  // namespace rowan
