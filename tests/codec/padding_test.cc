// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include <string>

#include "plugin/codec/column_info.h"

namespace rowan {
namespace {

TEST(PaddingTest, EndsBehindTheLastByteThatIsNoSpace) {
  // Bytes that differ from a space by one bit, at each place of texts of several blocks.
  for (const size_t size : {0, 1, 7, 8, 9, 63, 64, 65, 100, 128, 240, 480}) {
    for (size_t length = 0; length <= size; ++length) {
      std::string text(size, ' ');
      for (const char last : {'!', '"', '\0', '\xA0'}) {
        if (length != 0) text[length - 1] = last;
        EXPECT_EQ(LengthWithoutPadding(AsBytes(text)), length) << size;
        if (length > 20) text[length - 20] = last;
        EXPECT_EQ(LengthWithoutPadding(AsBytes(text)), length) << size;
      }
    }
  }
}

}  // namespace
}  // namespace rowan
