// SPDX-License-Identifier: GPL-2.0-only
#include "buffer/huge_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace rowan {
namespace {

TEST(HugeMemoryTest, IsZeroAndUsableToItsLastByteWhateverItsSize) {
  for (const size_t size : {size_t{1}, size_t{4096}, kHugePageBytes - 1, kHugePageBytes,
                            kHugePageBytes + 1, 3 * kHugePageBytes}) {
    const HugeMemory memory(size);
    auto* bytes = static_cast<unsigned char*>(memory.data());
    ASSERT_NE(bytes, nullptr);
    for (size_t at = 0; at < size; at += 1000) ASSERT_EQ(bytes[at], 0) << at;
    EXPECT_EQ(bytes[size - 1], 0);
    std::memset(bytes, 0xA5, size);
    EXPECT_EQ(bytes[size - 1], 0xA5);
  }
}

TEST(HugeMemoryTest, WhatMayLieInHugePagesBeginsWithOne) {
  for (const size_t size : {kHugePageBytes, kHugePageBytes + 1, 5 * kHugePageBytes}) {
    const HugeMemory memory(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % kHugePageBytes, 0u) << size;
  }
}

}  // namespace
}  // namespace rowan
