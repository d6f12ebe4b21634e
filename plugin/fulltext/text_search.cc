// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/fulltext/text_search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "plugin/codec/word_break.h"
#include "plugin/fulltext/phrase.h"
#include "plugin/fulltext/query_parser.h"
#include "plugin/fulltext/text_matches.h"

namespace rowan {
namespace {

using Kind = QueryNode::Kind;

/// A word of the query and where it was found.
struct SearchedWord {
  std::string weights{};
  std::string small{};
  bool is_prefix = false;
  uint64_t rows = 0;  ///< that have it, as often as the query names it
  DocumentMap<uint32_t> frequencies{};
  double rarity = 0;
};

/// Which of the three passes goes through a list.
enum class Pass : uint8_t { kFirst, kRequired, kExcluded };

class Search {
 public:
  Search(const TextIndex& index, const TextQuery& query, TextSource* source,
         TextSearchResult* result)
      : index_(index), query_(query), source_(source), result_(result) {}

  Status Run(QueryNode* root) {
    only_word_ =
        !query_.expand && root->children.size() == 1 && root->children[0]->kind == Kind::kWord;
    bool skipped = false;
    const Status status = VisitList(root, QueryOperator::kNone, Pass::kFirst, &skipped);
    if (!status.ok()) return status;
    if (query_.expand) {
      const Status expanded = Expand();
      if (!expanded.ok()) return expanded;
    }
    Rank();
    return Status::Ok();
  }

 private:
  Status CheckMemory() const {
    size_t bytes = result_->keys.memory_bytes() + matches_.memory_bytes();
    for (const auto& word : words_) bytes += word->frequencies.memory_bytes();
    return bytes <= query_.memory_bytes_max
               ? Status::Ok()
               : Status(Code::kTooBig, "the result of a full-text search is too large");
  }

  WordNumber NumberOf(const std::string& small) {
    std::string weights;
    AppendWordWeights(index_.charset(), AsBytes(small), &weights);
    const auto [place, is_new] =
        word_numbers_.emplace(weights, static_cast<WordNumber>(words_.size()));
    if (is_new) {
      words_.push_back(std::make_unique<SearchedWord>());
      words_.back()->weights = std::move(weights);
      words_.back()->small = small;
    }
    return place->second;
  }

  /// Each row that has the word; how often is noted.
  template <typename Visit>
  Status VisitRowsOf(WordNumber number, bool is_prefix, Visit visit) {
    SearchedWord* word = words_[number].get();
    const auto take = [&](Bytes row_key, Bytes payload) {
      const DocumentNumber document = result_->keys.NumberOf(row_key);
      ++word->rows;
      bool added = false;
      uint32_t* frequency = word->frequencies.Get(document, &added);
      if (added && !CountPlaces(payload, frequency)) {
        return Status(Code::kCorrupt, "malformed entry of a full-text index");
      }
      return visit(document, payload);
    };
    const Status status = source_->VisitWord(word->weights, is_prefix, take);
    if (!status.ok()) return status;
    return CheckMemory();
  }

  // --- the tree ---

  Status VisitList(QueryNode* list, QueryOperator oper, Pass pass, bool* skipped) {
    bool revisit = false;
    bool left_something = false;
    for (const QueryNode::Pointer& child : list->children) {
      if (child->kind == Kind::kOperator) {
        oper = child->oper;
        continue;
      }
      Status status;
      if (child->kind != Kind::kList) {
        status = VisitInPass(child.get(), oper, pass, skipped);
      } else if (pass == Pass::kFirst) {
        status = VisitList(child.get(), oper, pass, &left_something);
        if (left_something) {
          revisit = true;
          child->oper = oper;
        }
      }
      if (!status.ok()) return status;
    }
    return revisit ? VisitAgain(list) : Status::Ok();
  }

  Status VisitAgain(QueryNode* list) {
    for (const Pass pass : {Pass::kRequired, Pass::kExcluded}) {
      const QueryOperator oper =
          pass == Pass::kRequired ? QueryOperator::kRequire : QueryOperator::kExclude;
      for (const QueryNode::Pointer& child : list->children) {
        if (child->kind != Kind::kList) continue;
        if (pass == Pass::kRequired && child->oper == QueryOperator::kExclude) continue;
        bool skipped = false;
        const Status status = VisitList(child.get(), oper, pass, &skipped);
        if (!status.ok()) return status;
      }
    }
    return Status::Ok();
  }

  Status VisitInPass(QueryNode* node, QueryOperator oper, Pass pass, bool* skipped) {
    if (node->visited) return Status::Ok();
    Pass own = Pass::kFirst;
    if (oper == QueryOperator::kRequire) own = Pass::kRequired;
    if (oper == QueryOperator::kExclude) own = Pass::kExcluded;
    if (own != pass) {
      if (pass == Pass::kFirst) *skipped = true;
      return Status::Ok();
    }
    node->visited = true;
    const Status status = VisitNode(node, oper);
    if (oper == QueryOperator::kRequire) matches_.set_something_is_required();
    return status;
  }

  Status VisitNode(QueryNode* node, QueryOperator oper) {
    if (node->kind == Kind::kGroup) return VisitGroup(node, oper);
    if (node->kind == Kind::kPhrase) return VisitPhrase(*node, oper);
    return VisitWord(node, oper);
  }

  Status VisitWord(QueryNode* node, QueryOperator oper) {
    const WordNumber number = NumberOf(node->text);
    words_[number]->is_prefix = words_[number]->is_prefix || node->is_prefix;
    const bool requires_more = oper == QueryOperator::kRequire;
    if (oper == QueryOperator::kExclude && matches_.empty()) return Status::Ok();
    if (requires_more && matches_.empty() && matches_.something_is_required()) return Status::Ok();
    return VisitWordNumber(number, node->is_prefix, oper);
  }

  Status VisitWordNumber(WordNumber number, bool is_prefix, QueryOperator oper) {
    const bool requires_more = oper == QueryOperator::kRequire;
    if (requires_more) matches_.BeginRequire();
    const auto apply = [&](DocumentNumber document, Bytes) {
      if (only_word_) return Status::Ok();
      matches_.Apply(oper, document, 0);
      matches_.AddWord(document, number);
      return Status::Ok();
    };
    const Status status = VisitRowsOf(number, is_prefix, apply);
    if (requires_more) matches_.EndRequire();
    return status;
  }

  Status VisitGroup(QueryNode* node, QueryOperator oper) {
    TextMatches parent = std::move(matches_);
    matches_ = TextMatches();
    bool skipped = false;
    const Status status = VisitList(node, QueryOperator::kNone, Pass::kFirst, &skipped);
    TextMatches found = std::move(matches_);
    matches_ = std::move(parent);
    if (!status.ok()) return status;
    if (oper == QueryOperator::kRequire) matches_.BeginRequire();
    found.ForEach([&](DocumentNumber document, const TextHit& hit) {
      matches_.Apply(oper, document, hit.bonus);
      hit.words.ForEach([&](WordNumber word) { matches_.AddWord(document, word); });
    });
    if (oper == QueryOperator::kRequire) matches_.EndRequire();
    return Status::Ok();
  }

  // --- phrases ---

  Status VisitPhrase(const QueryNode& node, QueryOperator oper) {
    Phrase phrase(node.distance, index_.columns());
    for (const QueryNode::Pointer& child : node.children) AddToPhrase(*child, &phrase);
    if (oper == QueryOperator::kRequire) matches_.BeginRequire();
    const Status status = phrase.indexed().empty() ? Status::Ok() : FindPhrase(&phrase, oper);
    if (oper == QueryOperator::kRequire) matches_.EndRequire();
    return status;
  }

  void AddToPhrase(const QueryNode& word, Phrase* phrase) {
    std::string weights;
    AppendWordWeights(index_.charset(), AsBytes(word.text), &weights);
    const uint32_t characters = CharacterCount(index_.charset(), AsBytes(word.text));
    const bool in_index = index_.HasWord(AsBytes(word.text), weights, characters);
    phrase->Add(std::move(weights), in_index ? NumberOf(word.text) : Phrase::kNotIndexed);
  }

  Status FindPhrase(Phrase* phrase, QueryOperator oper) {
    for (const Phrase::Word& word : phrase->indexed()) {
      size_t rows = 0;
      const auto take = [&](DocumentNumber document, Bytes payload) {
        ++rows;
        return phrase->AddRow(document, payload);
      };
      const Status status = VisitRowsOf(word.number, false, take);
      if (!status.ok() || rows == 0) return status;
      phrase->EndWord();
    }
    const auto apply = [&](DocumentNumber document) {
      matches_.Apply(oper, document, 0);
      for (const Phrase::Word& word : phrase->indexed()) matches_.AddWord(document, word.number);
    };
    const auto visit_row = [&](DocumentNumber document, TextIndex::Visit visit) {
      return source_->VisitRow(result_->keys.KeyOf(document), visit);
    };
    return phrase->VisitMatches(visit_row, apply);
  }

  // --- query expansion ---

  Status Expand() {
    std::map<std::string, std::string> new_words;  // weights -> small letters
    Status status;
    matches_.ForEach([&](DocumentNumber document, const TextHit&) {
      if (!status.ok()) return;
      status = source_->VisitRow(result_->keys.KeyOf(document), [&](const TextIndex::Word& word) {
        if (word.in_index) new_words.emplace(word.weights, word.small);
        return Status::Ok();
      });
      if (status.Is(Code::kNotFound)) status = Status::Ok();
    });
    if (!status.ok()) return status;
    const size_t searched = words_.size();
    for (size_t i = 0; i < searched; ++i) Forget(*words_[i], &new_words);
    for (const auto& [weights, small] : new_words) {
      status = VisitWordNumber(NumberOf(small), false, QueryOperator::kNone);
      if (!status.ok()) return status;
    }
    return Status::Ok();
  }

  static void Forget(const SearchedWord& word, std::map<std::string, std::string>* new_words) {
    if (!word.is_prefix) {
      new_words->erase(word.weights);
      return;
    }
    auto at = new_words->lower_bound(word.weights);
    while (at != new_words->end() && at->first.starts_with(word.weights)) {
      at = new_words->erase(at);
    }
  }

  // --- relevance ---

  void Rank() {
    const auto rows = static_cast<double>(source_->RowCount());
    for (const auto& word : words_) {
      if (word->rows == 0) continue;
      const auto having = static_cast<double>(word->rows);
      // A word that every row has still counts a little.
      word->rarity = std::log10(rows == having ? 1.0001 : rows / having);
    }
    if (only_word_) {
      RankOnlyWord();
    } else {
      matches_.ForEach([&](DocumentNumber document, const TextHit& hit) {
        float relevance = hit.bonus;
        hit.words.ForEach([&](WordNumber number) {
          SearchedWord& word = *words_[number];
          const auto often = static_cast<double>(*word.frequencies.Find(document));
          const double weight = often * word.rarity;
          relevance += static_cast<float>(weight * word.rarity);
        });
        result_->matches.push_back({document, relevance});
      });
    }
    const auto before = [this](const TextMatch& one, const TextMatch& other) {
      if (one.relevance != other.relevance) return one.relevance > other.relevance;
      return CompareBytes(result_->keys.KeyOf(one.document), result_->keys.KeyOf(other.document)) <
             0;
    };
    std::sort(result_->matches.begin(), result_->matches.end(), before);
  }

  void RankOnlyWord() {
    SearchedWord& word = *words_[0];
    word.frequencies.ForEach([&](DocumentNumber document, const uint32_t* frequency) {
      const auto often = static_cast<float>(*frequency);
      result_->matches.push_back({document, static_cast<float>(often * word.rarity * word.rarity)});
    });
  }

  const TextIndex& index_;
  const TextQuery& query_;
  TextSource* const source_;
  TextSearchResult* const result_;
  TextMatches matches_;
  std::vector<std::unique_ptr<SearchedWord>> words_;
  std::map<std::string, WordNumber> word_numbers_;  ///< by weights
  bool only_word_ = false;                          ///< no sets are needed
};

}  // namespace

float TextSearchResult::RelevanceOf(Bytes row_key) {
  if (relevances_.count() != matches.size()) {
    for (const TextMatch& match : matches) {
      bool added = false;
      *relevances_.Get(match.document, &added) = match.relevance;
    }
  }
  const DocumentNumber document = keys.Find(row_key);
  const float* found = document == DocumentKeys::kNone ? nullptr : relevances_.Find(document);
  return found == nullptr ? 0 : *found;
}

Result<TextSearchResult> SearchText(const TextIndex& index, const TextQuery& query,
                                    TextSource* source) {
  TextSearchResult result;
  std::string small;
  ToSmallLetters(index.charset(), query.text, &small);
  const QueryNode::Pointer root =
      ParseQuery(index, AsBytes(small), query.boolean_mode, &result.problem);
  if (root == nullptr) return result;
  Search search(index, query, source, &result);
  const Status status = search.Run(root.get());
  if (!status.ok()) return status;
  return result;
}

}  // namespace rowan
