// SPDX-License-Identifier: GPL-2.0-only
// Where words begin and end in a text: a word is a run of letters, digits and underscores as the
// character set defines them. Thread safety: stateless.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"

struct CHARSET_INFO;

namespace rowan {

/// A word inside a text.
struct WordPlace {
  Bytes bytes;
  uint32_t characters = 0;
};

/// Takes the next word off the front of `*text`. False: there was none.
bool TakeWord(const CHARSET_INFO* charset, Bytes* text, WordPlace* word);

/// The number of characters.
uint32_t CharacterCount(const CHARSET_INFO* charset, Bytes text);

/// The text in lower case; unchanged in a binary collation.
void ToSmallLetters(const CHARSET_INFO* charset, Bytes text, std::string* small);

/// Appends to `*weights` what words are compared by, byte by byte: the weights of the lower-case
/// text in the collation. In a collation with several levels of weights, which are not character by
/// character, the lower-case text itself.
void AppendWordWeights(const CHARSET_INFO* charset, Bytes small, std::string* weights);

}  // namespace rowan
