// SPDX-License-Identifier: GPL-2.0-only
// The WAL rule, watched from below: no page image reaches the data or doublewrite file before the
// log is durable up to its page LSN; and every image that does is sealed and carries its identity.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "buffer/page/doublewrite.h"
#include "buffer/page/page_header.h"
#include "buffer/page/page_hole.h"
#include "tests/buffer/hooked_file_system.h"
#include "tests/buffer/pool_fixture.h"
#include "tests/support/fault_file_system.h"

namespace rowan {
namespace {

std::vector<std::vector<std::byte>> PagesOf(Bytes bytes, uint32_t page_size) {
  std::vector<std::vector<std::byte>> pages;
  for (size_t at = 0; at + page_size <= bytes.size(); at += page_size) {
    const Bytes page = bytes.subspan(at, page_size);
    pages.emplace_back(page.begin(), page.end());
  }
  return pages;
}

/// The images in one write to the doublewrite file, by its directory (docs/formats/doublewrite.md).
std::vector<std::vector<std::byte>> ImagesOfSegment(Bytes bytes, uint32_t page_size) {
  std::vector<std::vector<std::byte>> images;
  if (bytes.size() <= kDirectoryBytes) return images;
  size_t at = kDirectoryBytes;
  for (uint32_t i = 0; i < LoadLe<uint32_t>(bytes.data() + 32); ++i) {
    const std::byte* entry = bytes.data() + 64 + i * 16;
    const PageHole hole{LoadLe<uint16_t>(entry + 12) * PageHole::kUnitBytes,
                        LoadLe<uint16_t>(entry + 14) * PageHole::kUnitBytes};
    images.emplace_back(page_size);
    UnpackImage(bytes.subspan(at, page_size - hole.bytes), hole, images.back());
    at += page_size - hole.bytes;
  }
  return images;
}

TEST(WalRule, NoPageIsWrittenBeforeItsLogIsDurable) {
  FaultFileSystem disk(TestSeed());
  HookedFileSystem fs(&disk);
  const uint32_t page_size = TestPageSizeBytes();
  PoolFixture fixture(&fs,
                      {.pool_pages = 24, .background = true, .cleaners = 2, .space_pages = 120});
  fixture.Create();
  std::atomic<uint64_t> images{0};
  std::atomic<uint64_t> broken{0};
  fs.SetHook([&](const std::string& path, Bytes bytes) {
    const bool home = path.find("space_") != std::string::npos;
    const bool doublewrite = path.find(kDoublewriteFileName) != std::string::npos;
    if (!home && !doublewrite) return;
    const uint64_t durable = fixture.log().durable().value();
    for (const std::vector<std::byte>& image :
         doublewrite ? ImagesOfSegment(bytes, page_size) : PagesOf(bytes, page_size)) {
      ++images;
      if (PageLsnOf(image.data()).value() > durable) ++broken;
      if (VerifyPage(image, PageIdOf(image.data())) != PageVerdict::kGood) ++broken;
    }
  });
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Random random(TestSeed() + t);
      for (int i = 0; i < 800; ++i) {
        ASSERT_TRUE(fixture.Add(static_cast<uint32_t>(random.Between(1, 119)), 1).ok());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  ASSERT_TRUE(fixture.pool().FlushAndCheckpoint().ok());
  EXPECT_GT(images.load(), 100u);
  EXPECT_EQ(broken.load(), 0u);
}

}  // namespace
}  // namespace rowan
