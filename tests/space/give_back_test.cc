// SPDX-License-Identifier: GPL-2.0-only
// Free extents of the undo space that become holes of its file and are used again, beside a map of
// what each page in use holds.
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <string>

#include "base/random.h"
#include "buffer/buffer_redo.h"
#include "buffer/page/page_header.h"
#include "space/space_pages.h"
#include "tests/space/space_fixture.h"

namespace rowan {
namespace {

constexpr size_t kNumberOffset = kPageHeaderBytes;
constexpr uint32_t kOwnPages = 2;  // of the space

class GiveBackTest : public testing::Test {
 protected:
  GiveBackTest() {
    EXPECT_TRUE(world_.Create().ok());
    EXPECT_TRUE(world_.pool().FlushAndCheckpoint().ok());
  }
  /// A page that holds a number of its own.
  Status Take() {
    Result<PageReservation> reservation = world_.allocator().Reserve(kUndoSpace, 1);
    if (!reservation.ok()) return reservation.status();
    MiniTxn mini_txn(&world_.pool());
    const Status status = mini_txn.Start(512);
    if (!status.ok()) return status;
    const Result<MutablePage> page =
        world_.allocator().AllocateNew(&mini_txn, &*reservation, PageNumber(0));
    if (!page.ok()) return page.status();
    InitPageHeader({page.value().bytes, world_.page_size()}, page.value().id, PageType::kUndo, 1,
                   IndexId(0));
    StoreLe<uint64_t>(page.value().bytes + kNumberOffset, ++number_);
    LogPageImage(&mini_txn, page.value());
    EXPECT_TRUE(numbers_.emplace(page.value().id.page, number_).second) << "given twice";
    mini_txn.Commit();
    return status;
  }
  void TakeMany(uint32_t pages) {
    for (; pages > 0; --pages) ASSERT_TRUE(Take().ok());
  }
  void Free(std::map<PageNumber, uint64_t>::iterator page) {
    MiniTxn mini_txn(&world_.pool());
    ASSERT_TRUE(mini_txn.Start(256).ok());
    ASSERT_TRUE(world_.allocator().Free(&mini_txn, {kUndoSpace, page->first}).ok());
    mini_txn.Commit();
    numbers_.erase(page);
  }
  Result<uint32_t> GiveBack(uint32_t keep_pages, uint32_t extents_max) {
    return world_.allocator().GiveBack(kUndoSpace, keep_pages, extents_max);
  }
  void ExpectAll() {
    EXPECT_EQ(world_.allocator().CheckSpace(kUndoSpace).value(), numbers_.size() + kOwnPages);
    const Result<SpaceStatistics> counted = world_.allocator().Statistics(kUndoSpace);
    ASSERT_TRUE(counted.ok());
    EXPECT_EQ(counted.value().used_pages, numbers_.size() + kOwnPages);
    for (const auto& [page, number] : numbers_) {
      const Result<PageGuard> guard = world_.pool().Fix({kUndoSpace, page}, LatchMode::kShared);
      ASSERT_TRUE(guard.ok()) << guard.status().message() << ", page " << page.value();
      ASSERT_EQ(LoadLe<uint64_t>(guard.value().page() + kNumberOffset), number);
    }
  }
  void FillDisk() {
    for (const FileCall call : {FileCall::kAllocate, FileCall::kTruncate}) {
      files_.Inject({.call = call, .path_part = "space_", .lasting = true, .code = Code::kNoSpace});
    }
  }
  [[nodiscard]] uint32_t extent() const { return ExtentPages(world_.page_size()); }

  FaultFileSystem files_{TestSeed()};
  SpaceFixture world_{&files_, {.pool_pages = 64, .background = false}};
  std::map<PageNumber, uint64_t> numbers_;
  uint64_t number_ = 0;
  Random random_{TestSeed()};
};

TEST_F(GiveBackTest, NoPageInUseIsLostAndNoneIsGivenTwice) {
  TakeMany(extent() * 3);
  for (int step = 0; step < 40; ++step) {
    SCOPED_TRACE(files_.Describe());
    const uint64_t action = random_.Below(4);
    if (action == 0) TakeMany(static_cast<uint32_t>(random_.Below(extent())));
    if (action == 1) {  // mostly whole extents become free
      const uint32_t first = static_cast<uint32_t>(random_.Below(4)) * extent();
      for (auto page = numbers_.lower_bound(PageNumber(first));
           page != numbers_.end() && page->first < PageNumber(first + extent());) {
        Free(page++);
      }
    }
    if (action == 2) {
      ASSERT_TRUE(GiveBack(static_cast<uint32_t>(random_.Below(50)), 2).ok());
    }
    ASSERT_TRUE(world_.pool().FlushAndCheckpoint().ok());
    if (action != 3) continue;
    ASSERT_TRUE(world_.log().WaitDurable(world_.log().tail()).ok());
    world_.Kill();
    files_.Crash(random_.Next());
    ASSERT_TRUE(world_.Start().ok());
    ASSERT_TRUE(world_.allocator().OpenSpace(kUndoSpace).ok());
    ASSERT_NO_FATAL_FAILURE(ExpectAll());
  }
  ExpectAll();
}

TEST_F(GiveBackTest, TheHighestGoFirstAndAreUsedBeforeTheFileGrows) {
  TakeMany(extent() * 4);
  const std::string path = world_.files().PathOf(kUndoSpace);
  while (!numbers_.empty()) Free(std::prev(numbers_.end()));
  ASSERT_TRUE(world_.pool().FlushAndCheckpoint().ok());
  const uint32_t file_pages = world_.allocator().Statistics(kUndoSpace).value().file_pages;
  EXPECT_EQ(GiveBack(0, 1).value(), 1u);
  const uint32_t more = GiveBack(0, 1000).value();
  EXPECT_EQ(1 + more, file_pages / extent() - 1) << "all but that of the space's own pages";
  EXPECT_EQ(GiveBack(0, 1000).value(), 0u);
  EXPECT_LE(files_.AllocatedBytes(path), uint64_t{extent()} * world_.page_size());
  TakeMany(file_pages - extent());
  EXPECT_EQ(world_.allocator().Statistics(kUndoSpace).value().file_pages, file_pages);
  ExpectAll();
}

TEST_F(GiveBackTest, WhatIsKeptComesEvenFromAFullDiskAndNothingElseDoes) {
  TakeMany(extent() * 4);
  while (!numbers_.empty()) Free(std::prev(numbers_.end()));
  ASSERT_TRUE(world_.pool().FlushAndCheckpoint().ok());
  const uint32_t keep = extent() + 7;
  ASSERT_GT(GiveBack(keep, 1000).value(), 0u);
  FillDisk();
  Status status;
  while ((status = Take()).ok()) {
  }
  EXPECT_TRUE(status.Is(Code::kNoSpace)) << status.message();
  EXPECT_GE(numbers_.size(), keep);
  EXPECT_LT(numbers_.size(), keep + extent());
  ASSERT_TRUE(world_.pool().FlushAndCheckpoint().ok()) << "no page was given that has no room";
  files_.ClearFaults();
  TakeMany(extent());
  ExpectAll();
}

TEST_F(GiveBackTest, AFileSystemWithoutHolesSaysSo) {
  TakeMany(extent() * 3);
  while (!numbers_.empty()) Free(std::prev(numbers_.end()));
  files_.Inject({.call = FileCall::kPunch, .lasting = true, .code = Code::kUnsupported});
  EXPECT_TRUE(GiveBack(0, 10).status().Is(Code::kUnsupported));
  TakeMany(extent() * 3);
  ExpectAll();
}

}  // namespace
}  // namespace rowan
