// SPDX-License-Identifier: GPL-2.0-only
// WeightTable: the weights of texts in a collation, such that two texts have the same weights
// exactly if they are equal. The weights of ASCII characters are known, where they do not depend on
// their neighbours. Thread safety: constant; made once per collation.
#pragma once

#include <array>
#include <vector>

#include "base/bytes.h"

struct CHARSET_INFO;

namespace rowan {

class WeightTable {
 public:
  static const WeightTable* Of(const CHARSET_INFO* collation);
  explicit WeightTable(const CHARSET_INFO* collation);

  void Append(Bytes text, std::vector<std::byte>* weights) const;

 private:
  static constexpr size_t kWeightBytesMax = 4;

  void FindWidth();
  [[nodiscard]] bool TryAppendAscii(Bytes text, std::vector<std::byte>* weights) const;

  const CHARSET_INFO* const collation_;
  const bool trims_;              ///< spaces at the end do not count
  std::vector<std::byte> space_;  ///< weights of a space, if the end is followed by endless ones
  size_t width_ = 0;  ///< bytes of weight of every ASCII character that counts; 0: not known
  std::array<std::array<std::byte, kWeightBytesMax>, 128> ascii_{};
  std::array<bool, 256> is_known_{};
};

}  // namespace rowan
