// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/fulltext/query_by_plugin.h"

#include <vector>

#include "mysql/plugin_ftparser.h"
#include "plugin/codec/word_break.h"

namespace rowan {
namespace {

using Kind = QueryNode::Kind;

QueryOperator OperatorOf(const MYSQL_FTPARSER_BOOLEAN_INFO& info) {
  if (info.yesno > 0) return QueryOperator::kRequire;
  if (info.yesno < 0) return QueryOperator::kExclude;
  if (info.weight_adjust > 0) return QueryOperator::kRaise;
  if (info.weight_adjust < 0) return QueryOperator::kLower;
  return info.wasign > 0 ? QueryOperator::kNegate : QueryOperator::kNone;
}

/// Puts the plugin's tokens into a tree.
class TreeMaker {
 public:
  TreeMaker() : root_(NewNode(Kind::kList)), open_{root_.get()} {}

  bool Add(std::string_view word, MYSQL_FTPARSER_BOOLEAN_INFO* info) {
    switch (info->type) {
      case FT_TOKEN_STOPWORD:
        if (current()->kind == Kind::kPhrase) AddWord(word, *info);
        return true;
      case FT_TOKEN_WORD: AddWord(word, *info); return true;
      case FT_TOKEN_LEFT_PAREN: return Open(*info);
      case FT_TOKEN_RIGHT_PAREN:
        info->quot = nullptr;
        if (open_.size() == 1) return false;
        open_.pop_back();
        return true;
      default: return true;
    }
  }
  [[nodiscard]] bool balanced() const { return open_.size() == 1; }
  QueryNode::Pointer TakeRoot() { return std::move(root_); }

 private:
  [[nodiscard]] QueryNode* current() const { return open_.back(); }

  void AddWord(std::string_view word, const MYSQL_FTPARSER_BOOLEAN_INFO& info) {
    if (word.empty() || word.size() > TextIndex::kWordBytesMax) return;
    QueryNode::Pointer node = NewNode(Kind::kWord);
    node->text = word;
    node->is_prefix = info.trunc != 0;
    AddUnder(OperatorOf(info), std::move(node));
  }

  bool Open(const MYSQL_FTPARSER_BOOLEAN_INFO& info) {
    if (current()->kind == Kind::kPhrase) return false;
    QueryNode::Pointer node = NewNode(info.quot != nullptr ? Kind::kPhrase : Kind::kGroup);
    QueryNode* opened = node.get();
    AddUnder(OperatorOf(info), std::move(node));
    open_.push_back(opened);
    return true;
  }

  void AddUnder(QueryOperator oper, QueryNode::Pointer node) {
    if (oper == QueryOperator::kNone || current()->kind == Kind::kPhrase) {
      current()->Add(std::move(node));
      return;
    }
    QueryNode::Pointer list = NewNode(Kind::kList);
    list->Add(NewNode(Kind::kOperator));
    list->children[0]->oper = oper;
    list->Add(std::move(node));
    current()->Add(std::move(list));
  }

  QueryNode::Pointer root_;
  std::vector<QueryNode*> open_;
};

int AddToken(MYSQL_FTPARSER_PARAM* parameters, char* word, int size,
             MYSQL_FTPARSER_BOOLEAN_INFO* info) {
  auto* maker = static_cast<TreeMaker*>(parameters->mysql_ftparam);
  return maker->Add({word, static_cast<size_t>(size)}, info) ? 0 : 1;
}

/// A plugin that only changes the text leaves the words to us.
int AddPlainWords(MYSQL_FTPARSER_PARAM* parameters, char* text, int size) {
  Bytes rest = AsBytes({text, static_cast<size_t>(size)});
  WordPlace word;
  MYSQL_FTPARSER_BOOLEAN_INFO info{FT_TOKEN_WORD, 0, 0, 0, 0, 0, ' ', nullptr};
  while (TakeWord(parameters->cs, &rest, &word)) {
    auto* bytes = const_cast<char*>(reinterpret_cast<const char*>(word.bytes.data()));
    const int failed =
        parameters->mysql_add_word(parameters, bytes, static_cast<int>(word.bytes.size()), &info);
    if (failed != 0) return failed;
  }
  return 0;
}

}  // namespace

QueryNode::Pointer ParseQueryByPlugin(const TextIndex& index, Bytes small, bool boolean_mode,
                                      std::string* problem) {
  TreeMaker maker;
  MYSQL_FTPARSER_PARAM parameters{};
  parameters.mysql_add_word = AddToken;
  parameters.mysql_parse = AddPlainWords;
  parameters.mysql_ftparam = &maker;
  parameters.cs = index.charset();
  parameters.doc = const_cast<char*>(reinterpret_cast<const char*>(small.data()));
  parameters.length = static_cast<int>(small.size());
  parameters.mode = boolean_mode ? MYSQL_FTPARSER_FULL_BOOLEAN_INFO : MYSQL_FTPARSER_SIMPLE_MODE;
  st_mysql_ftparser* parser = index.parser();
  if (parser->init != nullptr && parser->init(&parameters) != 0) {
    *problem = "the full-text parser failed";
    return nullptr;
  }
  const int failed = parser->parse(&parameters);
  if (parser->deinit != nullptr) parser->deinit(&parameters);
  // An unbalanced query finds nothing, as in InnoDB.
  return failed == 0 && maker.balanced() ? maker.TakeRoot() : nullptr;
}

}  // namespace rowan
