// SPDX-License-Identifier: GPL-2.0-only
#include "base/bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/random.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

TEST(BytesTest, VarintsOfAllSizesComeBack) {
  std::vector<uint64_t> values = {0, 1, 127, 128, 16383, 16384, ~uint64_t{0}, uint64_t{1} << 63};
  Random random(TestSeed());
  for (unsigned bits = 1; bits <= 64; ++bits) values.push_back(random.Next() >> (64 - bits));
  for (const uint64_t value : values) {
    std::array<std::byte, kVarintBytesMax> buffer;
    const std::byte* end = PutVarint(buffer.data(), value);
    const auto size = static_cast<size_t>(end - buffer.data());
    EXPECT_EQ(size, VarintSize(value));
    uint64_t read = ~value;
    EXPECT_EQ(GetVarint(buffer.data(), end, &read), end);
    EXPECT_EQ(read, value);
    uint64_t untouched = 42;
    EXPECT_EQ(GetVarint(buffer.data(), end - 1, &untouched), nullptr);
    EXPECT_EQ(untouched, 42u);
  }
}

TEST(BytesTest, EndlessVarintIsRefused) {
  std::array<std::byte, 16> buffer;
  buffer.fill(std::byte{0xFF});
  uint64_t value = 0;
  EXPECT_EQ(GetVarint(buffer.data(), buffer.data() + buffer.size(), &value), nullptr);
}

TEST(BytesTest, VarintLongerThan64BitsIsRefused) {
  // Nine full bytes give 63 bits; of the tenth only one bit is left.
  std::array<std::byte, 10> buffer;
  buffer.fill(std::byte{0x80});
  buffer[9] = std::byte{0x02};
  uint64_t value = 7;
  EXPECT_EQ(GetVarint(buffer.data(), buffer.data() + buffer.size(), &value), nullptr);
  EXPECT_EQ(value, 7u);
}

TEST(BytesTest, LoadsAndStoresAreUnalignedWithFixedByteOrder) {
  std::array<std::byte, 16> buffer{};
  StoreLe<uint32_t>(buffer.data() + 1, 0x01020304);
  EXPECT_EQ(buffer[1], std::byte{4});
  EXPECT_EQ(LoadLe<uint32_t>(buffer.data() + 1), 0x01020304u);
  StoreBe64(buffer.data() + 3, 0x0102030405060708);
  EXPECT_EQ(buffer[3], std::byte{1});
  EXPECT_EQ(LoadBe64(buffer.data() + 3), 0x0102030405060708u);
  StoreBe32(buffer.data() + 5, 0xA0B0C0D0);
  EXPECT_EQ(LoadBe32(buffer.data() + 5), 0xA0B0C0D0u);
  buffer[13] = std::byte{0x77};
  StoreLe48(buffer.data() + 7, 0x0000A1A2A3A4A5A6);
  EXPECT_EQ(LoadLe48(buffer.data() + 7), 0xA1A2A3A4A5A6u);
  EXPECT_EQ(buffer[13], std::byte{0x77});
}

TEST(BytesTest, ComparesAsMemcmpAndThenByLength) {
  EXPECT_EQ(CompareBytes({}, {}), 0);
  EXPECT_LT(CompareBytes({}, AsBytes("a")), 0);
  EXPECT_LT(CompareBytes(AsBytes("ab"), AsBytes("b")), 0);
  EXPECT_LT(CompareBytes(AsBytes("ab"), AsBytes("abc")), 0);
  EXPECT_GT(CompareBytes(AsBytes("\xff"), AsBytes("a")), 0);
  EXPECT_TRUE(EqualBytes(AsBytes("xy"), AsBytes("xy")));
  EXPECT_FALSE(EqualBytes(AsBytes("xy"), AsBytes("x")));
}

}  // namespace
}  // namespace rowan
