// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/fulltext/query_parser.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/format.h"
#include "plugin/codec/word_break.h"
#include "plugin/fulltext/query_by_plugin.h"

namespace rowan {
namespace {

using Kind = QueryNode::Kind;
using Pointer = QueryNode::Pointer;

/// How deep groups may be in each other.
constexpr int kDepthMax = 31;

struct Token {
  enum class Kind : uint8_t { kEnd, kSign, kNumber, kTerm, kText };
  Kind kind = Kind::kEnd;
  std::string_view text{};

  [[nodiscard]] bool IsSign(char sign) const { return kind == Kind::kSign && text[0] == sign; }
};

/// The next token of a text.
class Scanner {
 public:
  Scanner(std::string_view text, bool boolean_mode)
      : rest_(text),
        signs_(boolean_mode ? "*()+-<>~@" : "*"),
        ends_(boolean_mode ? "\" \n*()+-<>~@%" : "\" \n%") {}

  Token Next() {
    for (;;) {
      Skip();
      if (rest_.empty()) return {};
      if (rest_[0] == '"') {
        const size_t end = rest_.find_first_of("\"\n", 1);
        if (end != std::string_view::npos && rest_[end] == '"') {
          return Take(Token::Kind::kText, end + 1);
        }
        rest_.remove_prefix(1);
        continue;
      }
      const size_t length = std::min(rest_.find_first_of(ends_), rest_.size());
      const bool is_sign = signs_.find(rest_[0]) != std::string_view::npos;
      if (is_sign && length <= 1) return Take(Token::Kind::kSign, 1);
      if (length == 0) {
        rest_.remove_prefix(1);
        continue;
      }
      const std::string_view term = rest_.substr(0, length);
      const bool number =
          signs_.size() > 1 && term.find_first_not_of("0123456789") == std::string_view::npos;
      return Take(number ? Token::Kind::kNumber : Token::Kind::kTerm, length);
    }
  }

 private:
  void Skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size())); }
  Token Take(Token::Kind kind, size_t length) {
    const Token token{kind, rest_.substr(0, length)};
    rest_.remove_prefix(length);
    return token;
  }

  std::string_view rest_;
  const std::string_view signs_;
  const std::string_view ends_;
};

/// Recursive descent, one token ahead.
class Parser {
 public:
  Parser(const TextIndex& index, std::string_view text, bool boolean_mode)
      : index_(index), scanner_(text, boolean_mode), token_(scanner_.Next()) {}

  /// Null: nothing is in it, or there is a problem.
  Pointer Parse() {
    Pointer list = Items(0);
    if (problem_.empty() && token_.kind != Token::Kind::kEnd) Refuse(", expecting $end");
    return problem_.empty() ? std::move(list) : nullptr;
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void Advance() { token_ = scanner_.Next(); }
  /// `expected`: said where little else would do. The words are what InnoDB's users know.
  void Refuse(std::string_view expected = {}) {
    std::string_view name = "$end";
    std::string quoted;
    switch (token_.kind) {
      case Token::Kind::kEnd: break;
      case Token::Kind::kNumber: name = "FTS_NUMB"; break;
      case Token::Kind::kTerm: name = "FTS_TERM"; break;
      case Token::Kind::kText: name = "FTS_TEXT"; break;
      case Token::Kind::kSign:
        quoted = Format("'{}'", token_.text);
        name = quoted;
        break;
    }
    if (problem_.empty()) problem_ = Format("syntax error, unexpected {}{}", name, expected);
  }

  /// Up to the end, or a parenthesis that closes.
  Pointer Items(int depth) {
    Pointer list;
    while (problem_.empty() && token_.kind != Token::Kind::kEnd && !token_.IsSign(')')) {
      if (depth == 0 && token_.IsSign('@')) break;
      if (list == nullptr) list = NewNode(Kind::kList);
      list->Add(Item(depth));
    }
    return list;
  }

  Pointer Item(int depth) {
    Pointer list;
    if (token_.kind == Token::Kind::kSign) {
      const QueryOperator oper = OperatorOf(token_.text[0]);
      if (oper != QueryOperator::kNone) {
        Advance();
        list = NewNode(Kind::kList);
        list->Add(NewNode(Kind::kOperator));
        list->children[0]->oper = oper;
      }
    }
    Pointer subject = Subject(depth);
    if (list == nullptr) return subject;
    list->Add(std::move(subject));
    return list;
  }

  Pointer Subject(int depth) {
    if (token_.IsSign('(')) return Group(depth);
    if (token_.kind == Token::Kind::kText) return Phrase();
    const bool starred = token_.IsSign('*');
    while (token_.IsSign('*')) Advance();  // in front of a word it means nothing
    if (token_.kind != Token::Kind::kTerm && token_.kind != Token::Kind::kNumber) {
      Refuse(starred ? ", expecting FTS_TERM or FTS_NUMB or '*'" : "");
      return nullptr;
    }
    Pointer words = Words(token_.text);
    Advance();
    if (!token_.IsSign('*')) return words;
    Advance();
    if (words == nullptr) return words;
    (words->kind == Kind::kList ? *words->children.back() : *words).is_prefix = true;
    return words;
  }

  Pointer Group(int depth) {
    Advance();
    if (depth >= kDepthMax) {
      problem_ = "too many nested sub-expressions in a full-text search";
      return nullptr;
    }
    Pointer list = Items(depth + 1);
    if (!token_.IsSign(')')) {
      Refuse();
      return nullptr;
    }
    Advance();
    if (list == nullptr) return nullptr;
    Pointer group = NewNode(Kind::kGroup);
    group->Add(std::move(list));
    return group;
  }

  Pointer Phrase() {
    Pointer phrase = NewNode(Kind::kPhrase);
    Bytes rest = AsBytes(token_.text.substr(1, token_.text.size() - 2));
    const bool empty = rest.empty();
    WordPlace word;
    while (TakeWord(index_.charset(), &rest, &word)) phrase->Add(NewWord(word));
    Advance();
    if (token_.IsSign('@')) {
      Advance();
      if (token_.kind != Token::Kind::kNumber) {
        Refuse(", expecting FTS_NUMB");
        return nullptr;
      }
      const std::string_view digits = token_.text;
      std::from_chars(digits.data(), digits.data() + digits.size(), phrase->distance);
      Advance();
    }
    return empty ? nullptr : std::move(phrase);
  }

  /// The text between spaces may be several words: then a list.
  Pointer Words(std::string_view text) const {
    Pointer first;
    Pointer list;
    Bytes rest = AsBytes(text);
    WordPlace word;
    while (TakeWord(index_.charset(), &rest, &word)) {
      const WordLimits& limits = index_.limits();
      if (first != nullptr && word.characters < limits.characters_min) continue;
      if (word.characters > limits.characters_max) continue;
      Pointer node = NewWord(word);
      if (first == nullptr) {
        first = std::move(node);
        continue;
      }
      if (list == nullptr) list = NewNode(Kind::kList);
      list->Add(std::move(node));
    }
    if (list == nullptr) return first;
    list->children.insert(list->children.begin(), std::move(first));
    return list;
  }

  static Pointer NewWord(const WordPlace& word) {
    Pointer node = NewNode(Kind::kWord);
    node->text.assign(reinterpret_cast<const char*>(word.bytes.data()), word.bytes.size());
    return node;
  }

  static QueryOperator OperatorOf(char sign) {
    switch (sign) {
      case '+': return QueryOperator::kRequire;
      case '-': return QueryOperator::kExclude;
      case '~': return QueryOperator::kNegate;
      case '<': return QueryOperator::kLower;
      case '>': return QueryOperator::kRaise;
      default: return QueryOperator::kNone;
    }
  }

  const TextIndex& index_;
  Scanner scanner_;
  Token token_;
  std::string problem_;
};

}  // namespace

QueryNode::Pointer ParseQuery(const TextIndex& index, Bytes small, bool boolean_mode,
                              std::string* problem) {
  if (index.parser() != nullptr) return ParseQueryByPlugin(index, small, boolean_mode, problem);
  const std::string_view text(reinterpret_cast<const char*>(small.data()), small.size());
  Parser parser(index, text, boolean_mode);
  QueryNode::Pointer query = parser.Parse();
  *problem = parser.problem();
  return query;
}

}  // namespace rowan
