// SPDX-License-Identifier: GPL-2.0-only
// How queries are understood and what they find, as the files beside this one tell it: documents,
// then for each query the tree it is taken apart into and the documents found, the most relevant
// first. ROWAN_TEST_REWRITE=1 writes the files anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>

#include "base/format.h"
#include "plugin/codec/word_break.h"
#include "plugin/fulltext/query_parser.h"
#include "plugin/fulltext/text_search.h"
#include "tests/codec/server_strings.h"

namespace rowan {
namespace {

/// An index in memory over documents whose keys are their numbers.
class Documents : public TextSource {
 public:
  explicit Documents(const TextIndex* index) : index_(index) {}

  void Add(const std::string& key, const std::string& text) {
    texts_[key] = text;
    RowWords words(index_);
    ASSERT_TRUE(words.Add(AsBytes(text)).ok());
    EncodedEntry buffer;
    const auto keep = [this](const EncodedEntry& entry) {
      entries_[std::string(AsText(entry.key))] = AsText(entry.payload);
      return Status::Ok();
    };
    ASSERT_TRUE(words.VisitEntries(AsBytes(key), {1000, 1000}, &buffer, keep).ok());
  }

  Status VisitWord(std::string_view weights, bool is_prefix, VisitEntry visit) override {
    ByteBuffer begin;
    AppendWordKey(weights, is_prefix, &begin);
    const std::string prefix(AsText(begin));
    for (auto at = entries_.lower_bound(prefix); at != entries_.end(); ++at) {
      if (!at->first.starts_with(prefix)) break;
      const Bytes key = AsBytes(at->first);
      const Status status = visit(key.subspan(WordKeyBytes(key)), AsBytes(at->second));
      if (!status.ok()) return status;
    }
    return Status::Ok();
  }
  Status VisitRow(Bytes row_key, TextIndex::Visit visit) override {
    uint32_t place = 0;
    return index_->VisitWords(AsBytes(texts_.at(std::string(AsText(row_key)))), &place, visit);
  }
  uint64_t RowCount() override { return texts_.size(); }

 private:
  const TextIndex* const index_;
  std::map<std::string, std::string> texts_;
  std::map<std::string, std::string> entries_;  // key and payload
};

/// word, word* for a prefix, "a phrase"@distance, an operator's sign, [a list], (a group).
std::string Show(const QueryNode& node) {
  using Kind = QueryNode::Kind;
  if (node.kind == Kind::kOperator) {
    constexpr std::string_view kSigns = " -+~<>";
    return std::string(1, kSigns[static_cast<size_t>(node.oper)]);
  }
  if (node.kind == Kind::kWord) return node.text + (node.is_prefix ? "*" : "");
  std::string inside;
  for (const auto& child : node.children) inside += (inside.empty() ? "" : " ") + Show(*child);
  if (node.kind == Kind::kGroup) return "(" + inside + ")";
  if (node.kind == Kind::kList) return "[" + inside + "]";
  return "\"" + inside + "\"" + (node.distance == 0 ? "" : Format("@{}", node.distance));
}

std::string TreeOf(const TextIndex& index, const std::string& text, bool boolean_mode) {
  std::string small;
  ToSmallLetters(index.charset(), AsBytes(text), &small);
  std::string problem;
  const QueryNode::Pointer query = ParseQuery(index, AsBytes(small), boolean_mode, &problem);
  return query != nullptr ? Show(*query) : problem.empty() ? "nothing" : problem;
}

std::string FoundBy(const TextIndex& index, const TextQuery& query, TextSource* source) {
  Result<TextSearchResult> result = SearchText(index, query, source);
  if (!result.ok()) return std::string(result.status().message());
  if (!result->problem.empty()) return "refused";
  std::string found;
  for (const TextMatch& match : result->matches) {
    found += (found.empty() ? "" : " ") + std::string(AsText(result->keys.KeyOf(match.document)));
  }
  return found.empty() ? "nothing" : found;
}

/// The file with its answers as they are.
std::string Answered(const std::string& file) {
  const TextIndex index(1, Utf8mb4AiCi(), {3, 20, true, nullptr});
  Documents documents(&index);
  std::istringstream lines(file);
  std::string answered;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  ")) continue;  // an answer
    answered += line + "\n";
    const size_t colon = line.find(": ");
    if (colon == std::string::npos || line.starts_with("#")) continue;
    const std::string word = line.substr(0, colon);
    const std::string text = line.substr(colon + 2);
    const TextQuery query{AsBytes(text), word == "boolean", word == "expanded"};
    if (word == "boolean" || word == "natural" || word == "expanded") {
      answered += "  tree:  " + TreeOf(index, text, query.boolean_mode) + "\n";
      answered += "  found: " + FoundBy(index, query, &documents) + "\n";
    } else {
      documents.Add(word, text);
    }
  }
  return answered;
}

class SearchTest : public testing::TestWithParam<const char*> {};

TEST_P(SearchTest, FindsWhatTheFileSays) {
  const std::string path = std::string(ROWAN_TEST_DATA "/") + GetParam() + ".txt";
  std::ifstream stream(path);
  const std::string file(std::istreambuf_iterator<char>(stream), {});
  ASSERT_FALSE(file.empty()) << path;
  const std::string answered = Answered(file);
  if (std::getenv("ROWAN_TEST_REWRITE") != nullptr) std::ofstream(path) << answered;
  EXPECT_EQ(answered, file);
}

INSTANTIATE_TEST_SUITE_P(Files, SearchTest, testing::Values("queries", "phrases"));

}  // namespace
}  // namespace rowan
