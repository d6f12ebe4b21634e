// SPDX-License-Identifier: GPL-2.0-only
#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

std::vector<std::byte> Filled(size_t count, uint8_t value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

TEST(Crc32cTest, AgreesWithThePublishedVectors) {
  // RFC 3720, appendix B.4, and the usual check value.
  EXPECT_EQ(Crc32c(AsBytes("123456789")), 0xE3069283u);
  EXPECT_EQ(Crc32c(Filled(32, 0x00)), 0x8A9136AAu);
  EXPECT_EQ(Crc32c(Filled(32, 0xFF)), 0x62A8AB43u);
  std::vector<std::byte> rising(32);
  std::vector<std::byte> falling(32);
  for (size_t i = 0; i < 32; ++i) {
    rising[i] = static_cast<std::byte>(i);
    falling[i] = static_cast<std::byte>(31 - i);
  }
  EXPECT_EQ(Crc32c(rising), 0x46DD794Eu);
  EXPECT_EQ(Crc32c(falling), 0x113FDB5Cu);
  EXPECT_EQ(Crc32c({}), 0u);
}

TEST(Crc32cTest, AllLengthsAgreeWithTheTable) {
  Random random(TestSeed());
  std::vector<std::byte> data(70000);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random.Next());
  for (size_t length = 0; length < 3000; ++length) {
    const Bytes part(data.data() + length % 9, length);
    ASSERT_EQ(Crc32c(part), Crc32cPortable(part)) << length;
  }
  for (const size_t length : {4092u, 4096u, 8159u, 8160u, 8161u, 16380u, 16384u, 65536u, 69000u}) {
    const Bytes part(data.data() + 3, length);
    ASSERT_EQ(Crc32c(part), Crc32cPortable(part)) << length;
  }
}

TEST(Crc32cTest, ContinuesFromASeed) {
  Random random(TestSeed());
  std::vector<std::byte> data(20000);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random.Next());
  const uint32_t whole = Crc32c(data);
  for (int round = 0; round < 200; ++round) {
    const size_t cut = random.Below(data.size() + 1);
    const uint32_t first = Crc32c(Bytes(data).first(cut));
    EXPECT_EQ(Crc32c(Bytes(data).subspan(cut), first), whole);
  }
}

}  // namespace
}  // namespace rowan
