// SPDX-License-Identifier: GPL-2.0-only
// The search for the pages of an index build that is rolled back, beside others who free pages.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "base/logging.h"
#include "engine/catalog/index_sweep.h"
#include "space/blob_store.h"
#include "tests/space/space_fixture.h"

namespace rowan {
namespace {

constexpr SpaceId kSpace = SpaceFixture::kSpace;
constexpr IndexId kNobodys(99);

TEST(IndexSweep, PagesFreedBeforeTheyWereWrittenAreNoDamage) {
  FaultFileSystem file_system(TestSeed());
  SpaceFixture fixture(&file_system, {});
  ASSERT_TRUE(fixture.Create().ok());
  std::atomic<int> damaged = 0;
  SetLogSink([&](LogLevel, std::string_view message) {
    damaged += message.find("is damaged") != std::string_view::npos ? 1 : 0;
  });
  std::atomic<bool> done = false;
  std::atomic<int> freed = 0;
  std::thread writer([&] {
    BlobStore store(&fixture.allocator());
    const std::string value(size_t{3} * TestPageSizeBytes(), 'v');
    while (!done.load() && freed.load() < 5000) {
      Result<BlobRef> ref = store.Write(kSpace, AsBytes(value), {});
      ASSERT_TRUE(ref.ok() && store.Free(*ref).ok());
      ++freed;
    }
  });
  while (freed.load() < 300 && damaged.load() == 0 && !testing::Test::HasFailure()) {
    WorkBudget budget(UINT64_MAX);
    PageNumber position;
    EXPECT_TRUE(FreePagesOf(&fixture.allocator(), kSpace, kNobodys, &position, &budget).ok());
  }
  done = true;
  writer.join();
  SetLogSink({});
  EXPECT_EQ(damaged.load(), 0) << "free pages were called damaged";
}

}  // namespace
}  // namespace rowan
