// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/like_pattern.h"

#include <algorithm>

#include "mysql/strings/m_ctype.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace rowan {
namespace {

constexpr int kMany = '%';
constexpr int kOne = '_';

const char* CharsOf(Bytes text) { return reinterpret_cast<const char*>(text.data()); }

/// At most two characters that have a number; false: there are more.
bool FindCharacters(const AsciiRules& rules, char folded, char (&characters)[2]) {
  int count = 0;
  for (int c = 0; c < 128; ++c) {
    if (rules.like[static_cast<size_t>(c)] != static_cast<uint8_t>(folded)) continue;
    if (count == 2) return false;
    characters[count++] = static_cast<char>(c);
  }
  if (count == 1) characters[1] = characters[0];
  return true;
}

}  // namespace

LikePattern::LikePattern(const CHARSET_INFO* collation, int escape)
    : collation_(collation), rules_(AsciiRules::Of(collation)), escape_(escape) {}

void LikePattern::Set(Bytes pattern) {
  pattern_.assign(CharsOf(pattern), pattern.size());
  parts_.clear();
  const bool is_usual =
      rules_ != nullptr && IsAscii(pattern) && escape_ != kMany && escape_ != kOne &&
      escape_ < 128 && pattern_.find(static_cast<char>(kOne)) == std::string::npos &&
      (escape_ == 0 || pattern_.find(static_cast<char>(escape_)) == std::string::npos);
  if (is_usual) SplitIntoParts();
}

void LikePattern::SplitIntoParts() {
  std::string folded;
  for (const char c : pattern_) {
    if (c == kMany) {
      AddPart(std::move(folded));
      folded.clear();
    } else {
      folded += static_cast<char>(rules_->like[static_cast<uint8_t>(c)]);
    }
  }
  AddPart(std::move(folded));
}

void LikePattern::AddPart(std::string folded) {
  Part part{std::move(folded)};
  if (!part.folded.empty()) {
    part.searchable = FindCharacters(*rules_, part.folded.front(), part.first) &&
                      FindCharacters(*rules_, part.folded.back(), part.last);
  }
  parts_.push_back(std::move(part));
}

bool LikePattern::Matches(Bytes text) const {
  if (!parts_.empty() && IsAscii(text)) [[likely]]
    return MatchesParts(text);
  return MatchesByCollation(text);
}

bool LikePattern::MatchesByCollation(Bytes text) const {
  const char* const pattern = pattern_.data();
  return collation_->coll->wildcmp(collation_, CharsOf(text), CharsOf(text) + text.size(), pattern,
                                   pattern + pattern_.size(), escape_, escape_ == kOne ? -1 : kOne,
                                   escape_ == kMany ? -1 : kMany) == 0;
}

bool LikePattern::MatchesAt(const char* text, const Part& part) const {
  for (size_t i = 0; i < part.folded.size(); ++i) {
    if (rules_->like[static_cast<uint8_t>(text[i])] != static_cast<uint8_t>(part.folded[i])) {
      return false;
    }
  }
  return true;
}

bool LikePattern::MatchesParts(Bytes text) const {
  const char* begin = CharsOf(text);
  const char* end = begin + text.size();
  const Part& first = parts_.front();
  const Part& last = parts_.back();
  if (parts_.size() == 1) return text.size() == first.folded.size() && MatchesAt(begin, first);
  if (text.size() < first.folded.size() + last.folded.size()) return false;
  if (!MatchesAt(begin, first)) return false;
  begin += first.folded.size();
  end -= last.folded.size();
  if (!MatchesAt(end, last)) return false;
  for (size_t i = 1; i + 1 < parts_.size(); ++i) {
    if (parts_[i].folded.empty()) continue;
    const char* const found = Find(begin, end, parts_[i]);
    if (found == nullptr) return false;
    begin = found + parts_[i].folded.size();
  }
  return true;
}

const char* LikePattern::Find(const char* begin, const char* end, const Part& part) const {
  const size_t length = part.folded.size();
  if (static_cast<size_t>(end - begin) < length) return nullptr;
  const char* const last_start = end - length;
#ifdef __SSE2__
  // Sixteen places at once: those with the right first and last character.
  if (part.searchable) {
    const __m128i first_a = _mm_set1_epi8(part.first[0]);
    const __m128i first_b = _mm_set1_epi8(part.first[1]);
    const __m128i last_a = _mm_set1_epi8(part.last[0]);
    const __m128i last_b = _mm_set1_epi8(part.last[1]);
    for (; last_start - begin >= 15; begin += 16) {
      const __m128i heads = _mm_loadu_si128(reinterpret_cast<const __m128i*>(begin));
      const __m128i tails = _mm_loadu_si128(reinterpret_cast<const __m128i*>(begin + length - 1));
      const __m128i head =
          _mm_or_si128(_mm_cmpeq_epi8(heads, first_a), _mm_cmpeq_epi8(heads, first_b));
      const __m128i tail =
          _mm_or_si128(_mm_cmpeq_epi8(tails, last_a), _mm_cmpeq_epi8(tails, last_b));
      auto places = static_cast<unsigned>(_mm_movemask_epi8(_mm_and_si128(head, tail)));
      for (; places != 0; places &= places - 1) {
        const char* const place = begin + __builtin_ctz(places);
        if (MatchesAt(place, part)) return place;
      }
    }
  }
#endif
  for (; begin <= last_start; ++begin) {
    if (MatchesAt(begin, part)) return begin;
  }
  return nullptr;
}

}  // namespace rowan
