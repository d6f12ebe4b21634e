// SPDX-License-Identifier: GPL-2.0-only
// CollationWeights: the weight string of a text in a collation, in a stack buffer for ordinary
// lengths. Comparing two of them byte by byte compares the texts, except for padding.
//
// Two collations compare character by character although their weights differ in size: there each
// character takes one number of a fixed size.
#pragma once

#include <array>
#include <memory>

#include "base/bytes.h"

struct CHARSET_INFO;

namespace rowan {

/// How a collation with PAD SPACE compares two texts.
enum class PadOrder : uint8_t {
  kEndlessSpaces,  ///< by the weights, followed by endless weights of spaces
  kTrimmed         ///< by all weights of the texts without their trailing spaces
};
PadOrder PadOrderOf(const CHARSET_INFO* charset);

class CollationWeights {
 public:
  CollationWeights(const CHARSET_INFO* charset, Bytes text);
  CollationWeights(const CollationWeights&) = delete;
  CollationWeights& operator=(const CollationWeights&) = delete;

  [[nodiscard]] Bytes bytes() const { return {data_, size_}; }

 private:
  /// Room for `size` bytes.
  void Reserve(size_t size);
  void AppendWhole(const CHARSET_INFO* charset, Bytes text);
  /// One number of `width` bytes per character.
  void AppendCharacters(const CHARSET_INFO* charset, Bytes text, size_t width);

  std::array<std::byte, 2048> local_;  // not initialised: strnxfrm writes what is used
  std::unique_ptr<std::byte[]> large_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace rowan
