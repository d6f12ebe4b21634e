// SPDX-License-Identifier: GPL-2.0-only
// Allocation against a model, reservations, growth over several bitmap pages, counters, drops, and
// recovery.
#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "base/random.h"
#include "space/space_pages.h"
#include "tests/space/space_fixture.h"
#include "tests/support/log_capture.h"

namespace rowan::page_allocator_test {
namespace {

constexpr SpaceId kSpace = SpaceFixture::kSpace;

Result<PageNumber> Take(SpaceFixture* fixture, PageNumber near, PageUse use = PageUse::kOrdinary) {
  Result<PageReservation> reservation = fixture->allocator().Reserve(kSpace, 1, use);
  if (!reservation.ok()) return reservation.status();
  MiniTxn mini_txn(&fixture->pool());
  const Status status = mini_txn.Start(256);
  if (!status.ok()) return status;
  Result<PageNumber> page = fixture->allocator().Allocate(&mini_txn, &*reservation, near);
  if (mini_txn.has_changes()) mini_txn.Commit();
  return page;
}

Status Give(SpaceFixture* fixture, PageNumber page) {
  MiniTxn mini_txn(&fixture->pool());
  Status status = mini_txn.Start(256);
  if (!status.ok()) return status;
  status = fixture->allocator().Free(&mini_txn, {kSpace, page});
  if (mini_txn.has_changes()) mini_txn.Commit();
  return status;
}

TEST(BitmapTest, FindsWhatAPlainSearchFinds) {
  Random random(3);
  std::vector<std::byte> page(4096);
  InitBitmap(page, {kSpace, PageNumber(1)}, 0);
  std::vector<bool> model(GroupPages(4096));
  model[0] = model[1] = true;
  for (int i = 0; i < 4000; ++i) {
    const auto bit = static_cast<uint32_t>(random.Between(2, 1500));
    const bool value = random.OneIn(2);
    BitmapSet(page, bit, value);
    model[bit] = value;
    const auto first = static_cast<uint32_t>(random.Below(1600));
    const auto last = static_cast<uint32_t>(first + random.Below(200));
    std::optional<uint32_t> expected;
    for (uint32_t b = first; b < last && !expected.has_value(); ++b) {
      if (!model[b]) expected = b;
    }
    ASSERT_EQ(FirstClear(page, first, last), expected);
    ASSERT_EQ(BitmapTest(page, bit), value);
  }
  uint32_t count = 0;
  for (const bool bit : model) count += bit ? 1 : 0;
  EXPECT_EQ(BitmapCount(page, GroupPages(4096)), count);
  const std::optional<uint32_t> extent = FirstClearExtent(page, 0, GroupPages(4096));
  ASSERT_TRUE(extent.has_value());
  EXPECT_EQ(*extent % ExtentPages(4096), 0u);
  EXPECT_GE(*extent, 1501u - ExtentPages(4096));
}

TEST(PageAllocatorTest, NeverGivesAPageTwiceAndCountsRight) {
  FaultFileSystem file_system(1);
  SpaceFixture fixture(&file_system, {});
  ASSERT_TRUE(fixture.Create().ok());
  Random random(TestSeed());
  std::set<uint32_t> used;
  for (int i = 0; i < 3000; ++i) {
    if (used.empty() || random.Below(10) < 6) {
      const PageNumber near(used.empty() || random.OneIn(2) ? 0 : *used.begin());
      Result<PageNumber> page = Take(&fixture, near);
      ASSERT_TRUE(page.ok());
      ASSERT_TRUE(used.insert(page->value()).second) << "page given twice";
      ASSERT_GT(page->value(), 1u);
    } else {
      auto victim = std::next(used.begin(), static_cast<ptrdiff_t>(random.Below(used.size())));
      ASSERT_TRUE(Give(&fixture, PageNumber(*victim)).ok());
      used.erase(victim);
    }
  }
  Result<uint32_t> counted = fixture.allocator().CheckSpace(kSpace);
  ASSERT_TRUE(counted.ok());
  EXPECT_EQ(*counted, used.size() + 2);
  Result<SpaceStatistics> statistics = fixture.allocator().Statistics(kSpace);
  ASSERT_TRUE(statistics.ok());
  EXPECT_EQ(statistics->used_pages, used.size() + 2);
  EXPECT_GE(statistics->file_pages, *used.rbegin() + 1);
  EXPECT_TRUE(Give(&fixture, PageNumber(0)).Is(Code::kCorrupt));
  EXPECT_TRUE(Give(&fixture, PageNumber(1)).Is(Code::kCorrupt));
}

TEST(PageAllocatorTest, TwoGrowingTreesGetExtentsOfTheirOwn) {
  FaultFileSystem file_system(1);
  SpaceFixture::Options options;
  SpaceFixture fixture(&file_system, options);
  ASSERT_TRUE(fixture.Create().ok());
  const uint32_t extent = ExtentPages(options.page_bytes);
  PageNumber last[2] = {};
  uint32_t moves = 0;
  const uint32_t rounds = 16 * extent;
  for (uint32_t i = 0; i < rounds; ++i) {
    PageNumber& near = last[i % 2];
    Result<PageNumber> page = Take(&fixture, near);
    ASSERT_TRUE(page.ok());
    if (page->value() / extent != near.value() / extent) ++moves;
    near = *page;
  }
  EXPECT_LE(moves, 2 * rounds / extent + 8);
}

TEST(PageAllocatorTest, GrowsOverSeveralBitmapPages) {
  FaultFileSystem file_system(1);
  SpaceFixture::Options options;
  options.page_bytes = 4096;
  SpaceFixture fixture(&file_system, options);
  ASSERT_TRUE(fixture.Create().ok());
  const uint32_t pages = GroupPages(4096) + 5000;
  std::set<uint32_t> used;
  for (uint32_t i = 0; i < pages; ++i) {
    Result<PageNumber> page = Take(&fixture, kNoPage);
    ASSERT_TRUE(page.ok());
    ASSERT_TRUE(used.insert(page->value()).second);
    ASSERT_NE(page->value() % GroupPages(4096), 1u) << "a bitmap page was given";
  }
  Result<uint32_t> counted = fixture.allocator().CheckSpace(kSpace);
  ASSERT_TRUE(counted.ok());
  EXPECT_EQ(*counted, pages + 3);
}

TEST(PageAllocatorTest, GrowthEndsBeforePageNumbersWrap) {
  for (const uint32_t page_bytes : {4096u, 16384u, 65536u}) {
    const uint32_t group = GroupPages(page_bytes);
    const uint32_t most = SpacePagesMax(page_bytes);
    EXPECT_EQ(most % group, 0u);
    EXPECT_GT(uint64_t{most} + group, uint64_t{UINT32_MAX});
    SpaceSize size{.file_pages = most - 3 * group / 2, .groups = most / group - 1};
    for (int step = 0; step < 1000000; ++step) {
      const std::optional<SpaceSize> next = PlanGrowth(size, 8, page_bytes, most);
      if (!next.has_value()) break;
      ASSERT_GT(next->file_pages, size.file_pages);
      ASSERT_LE(next->file_pages, most);
      ASSERT_LE(uint64_t{next->groups} * group, uint64_t{most});
      size = *next;
    }
    EXPECT_EQ(size.file_pages, most);
    EXPECT_EQ(size.groups, most / group);
  }
}

TEST(PageAllocatorTest, ASpaceOfTheLargestSizeIsFullAndUnharmed) {
  FaultFileSystem file_system(1);
  SpaceFixture::Options options;
  options.page_bytes = 4096;
  options.file_pages_max = GroupPages(4096) + 300;
  SpaceFixture fixture(&file_system, options);
  ASSERT_TRUE(fixture.Create().ok());
  std::set<uint32_t> used;
  Result<PageNumber> page = Take(&fixture, kNoPage);
  for (; page.ok(); page = Take(&fixture, kNoPage)) {
    ASSERT_TRUE(used.insert(page->value()).second) << page->value();
    ASSERT_LT(page->value(), options.file_pages_max);
  }
  EXPECT_TRUE(page.status().Is(Code::kNoSpace)) << page.status().message();
  EXPECT_EQ(fixture.files().PageCount(kSpace).value(), options.file_pages_max);
  Result<uint32_t> counted = fixture.allocator().CheckSpace(kSpace);
  ASSERT_TRUE(counted.ok());
  EXPECT_EQ(*counted, used.size() + 3);
  ASSERT_TRUE(Give(&fixture, PageNumber(*used.begin())).ok());
  EXPECT_TRUE(Take(&fixture, kNoPage).ok()) << "a freed page can be had again";
}

TEST(PageAllocatorTest, AnUnusedReservationGoesBack) {
  FaultFileSystem file_system(1);
  SpaceFixture fixture(&file_system, {});
  ASSERT_TRUE(fixture.Create().ok());
  Result<SpaceStatistics> before = fixture.allocator().Statistics(kSpace);
  for (int i = 0; i < 1000; ++i) {
    Result<PageReservation> reservation = fixture.allocator().Reserve(kSpace, 2);
    ASSERT_TRUE(reservation.ok());
    PageReservation moved = std::move(*reservation);
    EXPECT_EQ(moved.pages(), 2u);
  }
  Result<SpaceStatistics> after = fixture.allocator().Statistics(kSpace);
  EXPECT_EQ(before->file_pages, after->file_pages);
}

TEST(PageAllocatorTest, AFullDiskIsNoSpaceAndReservedPagesStillCome) {
  FaultFileSystem file_system(1);
  SpaceFixture fixture(&file_system, {});
  ASSERT_TRUE(fixture.Create().ok());
  ASSERT_TRUE(Take(&fixture, kNoPage).ok());
  file_system.Inject({.call = FileCall::kAllocate,
                      .path_part = "space_",
                      .lasting = true,
                      .code = Code::kNoSpace});
  file_system.Inject({.call = FileCall::kTruncate,
                      .path_part = "space_",
                      .lasting = true,
                      .code = Code::kNoSpace});
  Status status;
  for (int i = 0; i < 5000 && status.ok(); ++i) status = Take(&fixture, kNoPage).status();
  EXPECT_TRUE(status.Is(Code::kNoSpace)) << status.message();
  ASSERT_TRUE(Give(&fixture, PageNumber(2)).ok());
  EXPECT_TRUE(Take(&fixture, kNoPage).ok()) << "a freed page can be had again";
}

TEST(PageAllocatorTest, RollbackGetsPagesThatOrdinaryWorkLeavesIt) {
  FaultFileSystem file_system(1);
  SpaceFixture fixture(&file_system, {});
  ASSERT_TRUE(fixture.Create().ok());
  for (int pages = 0; pages < 300; ++pages) ASSERT_TRUE(Take(&fixture, kNoPage).ok());
  for (const FileCall call : {FileCall::kAllocate, FileCall::kTruncate}) {
    file_system.Inject(
        {.call = call, .path_part = "space_", .lasting = true, .code = Code::kNoSpace});
  }
  Status status;
  while (status.ok()) status = Take(&fixture, kNoPage).status();
  EXPECT_TRUE(status.Is(Code::kNoSpace)) << status.message();
  const uint32_t file_pages = fixture.allocator().Statistics(kSpace)->file_pages;
  uint32_t kept = 0;
  while (Take(&fixture, kNoPage, PageUse::kRollback).ok()) ++kept;
  EXPECT_EQ(kept, 2 + std::min(file_pages / 16, 4 * ExtentPages(TestPageSizeBytes())));
  file_system.ClearFaults();
  ASSERT_TRUE(Take(&fixture, kNoPage).ok());
  Result<SpaceStatistics> after = fixture.allocator().Statistics(kSpace);
  EXPECT_GE(after->file_pages - after->used_pages, kept) << "they are kept again";
}

TEST(PageAllocatorTest, ThreadsGetDifferentPages) {
  FaultFileSystem file_system(1);
  SpaceFixture fixture(&file_system, {});
  ASSERT_TRUE(fixture.Create().ok());
  std::vector<std::vector<uint32_t>> taken(4);
  std::vector<std::thread> threads;
  for (auto& mine : taken) {
    threads.emplace_back([&fixture, &mine] {
      for (int i = 0; i < 500; ++i) {
        Result<PageNumber> page = Take(&fixture, kNoPage);
        ASSERT_TRUE(page.ok());
        if (i % 3 == 0) {
          ASSERT_TRUE(Give(&fixture, *page).ok());
        } else {
          mine.push_back(page->value());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint32_t> all;
  size_t sum = 0;
  for (const auto& mine : taken) {
    all.insert(mine.begin(), mine.end());
    sum += mine.size();
  }
  EXPECT_EQ(all.size(), sum);
}

TEST(PageAllocatorTest, BitsAndCounterSurviveACrash) {
  FaultFileSystem file_system(TestSeed());
  SpaceFixture::Options options;
  options.pool_pages = 64;
  SpaceFixture fixture(&file_system, options);
  ASSERT_TRUE(fixture.Create().ok());
  std::set<uint32_t> used;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 200; ++i) {
      Result<PageNumber> page = Take(&fixture, kNoPage);
      ASSERT_TRUE(page.ok());
      used.insert(page->value());
    }
    ASSERT_TRUE(fixture.allocator().WriteCounter(kSpace, 1000u + round).ok());
    ASSERT_TRUE(fixture.log().WaitDurable(fixture.log().tail()).ok());
    fixture.Kill();
    file_system.Crash(static_cast<uint64_t>(round));
    const Status started = fixture.Start();
    ASSERT_TRUE(started.ok()) << started.message();
    Result<uint32_t> counted = fixture.allocator().CheckSpace(kSpace);
    ASSERT_TRUE(counted.ok());
    EXPECT_EQ(*counted, used.size() + 2);
    for (const uint32_t page : used) {
      ASSERT_TRUE(fixture.allocator().IsAllocated({kSpace, PageNumber(page)}).value());
    }
    EXPECT_EQ(fixture.allocator().ReadCounter(kSpace).value(), 1000u + round);
  }
}

TEST(PageAllocatorTest, AFileOfAnotherInstanceIsRefused) {
  FaultFileSystem file_system(1);
  SpaceFixture fixture(&file_system, {});
  ASSERT_TRUE(fixture.Create().ok());
  InstanceId other{};
  other[5] = 9;
  PageAllocator stranger(&fixture.pool(), other);
  EXPECT_TRUE(stranger.OpenSpace(kSpace).Is(Code::kInvalidArgument));
  EXPECT_TRUE(fixture.allocator().OpenSpace(SpaceId(99)).Is(Code::kNotFound));
}

TEST(PageAllocatorTest, NoTwoFilesWantTheSameNameInADirectory) {
  FaultFileSystem file_system(1);
  SpaceFixture::Options options;
  options.background = false;  // nothing removes what is dropped
  SpaceFixture fixture(&file_system, options);
  ASSERT_TRUE(fixture.Create().ok());
  const SpaceId space(SpaceFixture::kSpace.value() + 1);
  // As two copies of an instance do, with the ids that both have.
  for (size_t copy = 0; copy < 3; ++copy) {
    ASSERT_TRUE(fixture.allocator().CreateSpace(space, "/disk/shop").ok());
    ASSERT_TRUE(fixture.allocator().DropSpace(space).ok());
    EXPECT_EQ(file_system.List("/disk/shop").value().size(), copy + 1);
    const std::string trash = fixture.files().PathOf(space) + ".trash";
    ASSERT_TRUE(file_system.Rename(trash, trash + std::to_string(copy)).ok());
  }
}

TEST(PageAllocatorTest, ASpaceHasNoBitsBeforeItsFirstPages) {
  FaultFileSystem file_system(1);
  SpaceFixture fixture(&file_system, {});
  ASSERT_TRUE(fixture.Create().ok());
  const SpaceId space(kSpace.value() + 1);
  const auto thread = std::this_thread::get_id();
  uint32_t asked = 0;
  file_system.SetObserver([&](FileCall) {
    // Others' calls may come when the space is there.
    if (std::this_thread::get_id() != thread) return;
    ++asked;
    EXPECT_EQ(fixture.allocator().PagesWithBits(space).value(), 0u);
  });
  const LogCapture log;
  ASSERT_TRUE(fixture.allocator().CreateSpace(space).ok());
  file_system.SetObserver({});
  EXPECT_GT(asked, 0u);
  EXPECT_EQ(fixture.allocator().PagesWithBits(space).value(),
            GroupPages(fixture.pool().page_size_bytes()));
  EXPECT_EQ(log.Text(), "");
}

TEST(PageAllocatorTest, ASpaceWithoutFirstPagesIsAskedQuietly) {
  FaultFileSystem file_system(1);
  SpaceFixture fixture(&file_system, {});
  ASSERT_TRUE(fixture.Create().ok());
  const PageId page{SpaceId(kSpace.value() + 1), PageNumber(2)};
  ASSERT_TRUE(fixture.files().Create(page.space, 4).ok());
  LogCapture log;
  PageAllocator& allocator = fixture.allocator();
  EXPECT_TRUE(allocator.IsAllocated(page, FixHint::kSpeculative).status().Is(Code::kCorrupt));
  EXPECT_TRUE(allocator.PagesWithBits(page.space).status().Is(Code::kCorrupt));
  EXPECT_EQ(log.Text(), "");
  EXPECT_TRUE(allocator.IsAllocated(page).status().Is(Code::kCorrupt));
  EXPECT_TRUE(log.Has(" is damaged: ")) << log.Text();
}

// What a device no longer reads, a scrub for example must not call damaged if nobody needs it.
TEST(PageAllocatorTest, AFreePageIsFreeThoughItCannotBeRead) {
  FaultFileSystem files(TestSeed());
  SpaceFixture fixture(&files, {});
  ASSERT_TRUE(fixture.Create().ok());
  const PageId used{kSpace, Take(&fixture, kNoPage).value()};
  const PageId freed{kSpace, Take(&fixture, kNoPage).value()};
  ASSERT_TRUE(Give(&fixture, freed.page).ok());
  ASSERT_FALSE(fixture.pool().IsResident(used) || fixture.pool().IsResident(freed));
  const LogCapture log;
  files.Inject({.call = FileCall::kRead, .path_part = "space_", .lasting = true});
  for (const LatchMode mode : {LatchMode::kShared, LatchMode::kExclusive}) {
    EXPECT_TRUE(fixture.allocator().FixInUse(freed, mode).status().Is(Code::kNotFound));
    EXPECT_EQ(log.Text(), "");
  }
  for (const LatchMode mode : {LatchMode::kShared, LatchMode::kExclusive}) {
    EXPECT_TRUE(fixture.allocator().FixInUse(used, mode).status().Is(Code::kIoError));
  }
  files.ClearFaults();
  const PageId bitmap{kSpace, BitmapPage(0, fixture.page_size())};
  EXPECT_TRUE(fixture.allocator().FixInUse(bitmap).ok());
  EXPECT_TRUE(
      fixture.allocator().FixInUse(bitmap, LatchMode::kExclusive).status().Is(Code::kNotFound));
}

TEST(PageAllocatorTest, ADroppedSpaceIsGone) {
  FaultFileSystem file_system(1);
  SpaceFixture fixture(&file_system, {});
  ASSERT_TRUE(fixture.Create().ok());
  ASSERT_TRUE(Take(&fixture, kNoPage).ok());
  ASSERT_TRUE(fixture.allocator().DropSpace(kSpace).ok());
  EXPECT_FALSE(fixture.files().IsLive(kSpace));
  EXPECT_TRUE(fixture.allocator().OpenSpace(kSpace).Is(Code::kNotFound));
}

}  // namespace
}  // namespace rowan::page_allocator_test
