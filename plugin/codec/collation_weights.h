// SPDX-License-Identifier: GPL-2.0-only
// CollationWeights: the weight string of a text in a collation, in a stack buffer for usual
// lengths.
#pragma once

#include <array>
#include <memory>

#include "base/bytes.h"

struct CHARSET_INFO;

namespace rowan {

class CollationWeights {
 public:
  CollationWeights(const CHARSET_INFO* charset, Bytes text);
  CollationWeights(const CollationWeights&) = delete;
  CollationWeights& operator=(const CollationWeights&) = delete;

  [[nodiscard]] Bytes bytes() const { return {data_, size_}; }

 private:
  std::array<std::byte, 2048> local_;  // not initialised: strnxfrm writes what is used
  std::unique_ptr<std::byte[]> large_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace rowan
