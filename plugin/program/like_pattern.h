// SPDX-License-Identifier: GPL-2.0-only
// LikePattern: a pattern of LIKE. One whose parts between the % are ASCII text is matched by
// searching for them in ASCII values; anything else by the collation.
// Thread safety: const after Set.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugin/program/ascii_rules.h"

namespace rowan {

class LikePattern {
 public:
  /// `escape`: the character, 0 for none.
  LikePattern(const CHARSET_INFO* collation, int escape);

  /// In the character set of the collation.
  void Set(Bytes pattern);
  /// REQUIRES: Set.
  [[nodiscard]] bool Matches(Bytes text) const;
  /// How many parts are searched for; 0: the collation decides.
  [[nodiscard]] size_t part_count() const { return parts_.size(); }

 private:
  /// Text between two %, in numbers of AsciiRules::like.
  struct Part {
    std::string folded;
    /// The two characters that match the first and the last one; equal if there is only one.
    char first[2]{};
    char last[2]{};
    bool searchable = false;  ///< they have no more than two
  };

  void SplitIntoParts();
  void AddPart(std::string folded);
  [[nodiscard]] bool MatchesParts(Bytes text) const;
  [[nodiscard]] bool MatchesAt(const char* text, const Part& part) const;
  /// Where the part first matches, or null.
  [[nodiscard]] const char* Find(const char* begin, const char* end, const Part& part) const;
  [[nodiscard]] bool MatchesByCollation(Bytes text) const;

  const CHARSET_INFO* const collation_;
  const AsciiRules* const rules_;
  const int escape_;
  std::string pattern_;
  std::vector<Part> parts_;  ///< the first is at the start, the last at the end; may be empty
};

}  // namespace rowan
