// SPDX-License-Identifier: GPL-2.0-only
// One atomic change of a few pages: what its commit does to them and to the log, and that nothing
// is left of one that is given up.
#include "buffer/mini_txn.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "buffer/buffer_redo.h"
#include "buffer/page/page_header.h"
#include "tests/buffer/pool_fixture.h"
#include "tests/support/fault_file_system.h"

namespace rowan {
namespace {

class MiniTxnTest : public ::testing::Test {
 protected:
  void SetUp() override { fixture_.Create(); }
  Lsn tail() { return fixture_.log().tail(); }
  BufferPool& pool() { return fixture_.pool(); }
  /// Another thread latches each of the pages exclusively: nobody else holds one.
  void ExpectFree(const std::vector<uint32_t>& pages) {
    std::thread([&] {
      for (const uint32_t page : pages) {
        Result<PageGuard> guard = pool().Fix(PoolFixture::Id(page), LatchMode::kShared);
        ASSERT_TRUE(guard.ok());
        Frame* frame = guard->frame();
        guard->Release();
        ASSERT_TRUE(frame->latch.TryLockExclusive()) << page;
        frame->latch.UnlockExclusive();
      }
    }).join();
  }

  FaultFileSystem files_{TestSeed()};
  PoolFixture fixture_{&files_, {.pool_pages = 64, .space_pages = 40}};
};

TEST_F(MiniTxnTest, ACommitIsOneGroupWhoseEndAllItsChangedPagesBear) {
  const Lsn before = tail();
  MiniTxn mini_txn(&pool());
  ASSERT_TRUE(mini_txn.Start(1024).ok());
  std::vector<MutablePage> pages;
  for (const uint32_t page : {3u, 4u, 5u})
    pages.push_back(mini_txn.Fix(PoolFixture::Id(page)).value());
  const Lsn unchanged = PageLsnOf(pages[2].bytes);
  EXPECT_FALSE(mini_txn.has_changes());
  fixture_.Change(&mini_txn, pages[0], 7);
  fixture_.Change(&mini_txn, pages[1], 8);
  EXPECT_TRUE(mini_txn.has_changes());
  EXPECT_EQ(tail(), before) << "nothing is in the log yet";
  EXPECT_FALSE(pool().IsDirty(PoolFixture::Id(3)));
  const Lsn end = mini_txn.Commit();
  EXPECT_EQ(end, tail());
  EXPECT_FALSE(mini_txn.started());
  ExpectFree({3, 4, 5});
  for (const uint32_t page : {3u, 4u, 5u}) {
    Result<PageGuard> guard = pool().Fix(PoolFixture::Id(page), LatchMode::kShared);
    ASSERT_TRUE(guard.ok());
    EXPECT_EQ(PageLsnOf(guard->page()), page == 5 ? unchanged : end);
    // From before the group on: a sweep that starts there overlooks nothing.
    EXPECT_EQ(guard->frame()->FirstDirtyLsn(), page == 5 ? kNoLsn : before);
  }
  EXPECT_EQ(fixture_.Read(3).value(), 7u);
  EXPECT_EQ(fixture_.Read(4).value(), 8u);
}

TEST_F(MiniTxnTest, ACommitWithoutChangesIsTheTailAndLogsNothing) {
  const Lsn before = tail();
  MiniTxn mini_txn(&pool());
  ASSERT_TRUE(mini_txn.Start(1024).ok());
  ASSERT_TRUE(mini_txn.Fix(PoolFixture::Id(3)).ok());
  EXPECT_EQ(mini_txn.Commit(), before);
  EXPECT_EQ(tail(), before);
  EXPECT_FALSE(pool().IsDirty(PoolFixture::Id(3)));
  ExpectFree({3});
}

TEST_F(MiniTxnTest, APageThatItLeftIsFoundUntilSomebodyElseHadItExclusively) {
  for (const bool changes : {true, false}) {
    MiniTxn mini_txn(&pool());
    ASSERT_TRUE(mini_txn.Start(1024).ok());
    const MutablePage page = mini_txn.Fix(PoolFixture::Id(3)).value();
    if (changes) fixture_.Change(&mini_txn, page, 7);
    const OptimisticPage left = mini_txn.OnceReleased(page);
    EXPECT_FALSE(pool().TryFixUnchanged(left).held()) << "it is still held";
    mini_txn.Commit();
    EXPECT_TRUE(pool().Fix(PoolFixture::Id(3), LatchMode::kShared).ok());
    PageGuard found = pool().TryFixUnchanged(left);
    ASSERT_TRUE(found.held());
    EXPECT_EQ(found.id(), PoolFixture::Id(3));
    EXPECT_EQ(found.mode(), LatchMode::kExclusive);
    found.Release();
    EXPECT_FALSE(pool().TryFixUnchanged(left).held());
  }
}

TEST_F(MiniTxnTest, WhatIsGivenUpHoldsNothingAndCanBeStartedAgain) {
  MiniTxn mini_txn(&pool());
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(mini_txn.Start(1024).ok());
    ASSERT_TRUE(mini_txn.started());
    ASSERT_TRUE(mini_txn.Fix(PoolFixture::Id(3)).ok());
    Result<PageGuard> guard = pool().Fix(PoolFixture::Id(4), LatchMode::kExclusive);
    ASSERT_TRUE(guard.ok());
    mini_txn.DiscardAtCommit(mini_txn.Adopt(std::move(*guard)));
    mini_txn.Abandon();
    EXPECT_FALSE(mini_txn.started());
    EXPECT_FALSE(mini_txn.FindHeld(PoolFixture::Id(3)).valid());
    EXPECT_TRUE(pool().IsResident(PoolFixture::Id(4))) << "only a commit discards";
    ExpectFree({3, 4});
  }
}

TEST_F(MiniTxnTest, FindsWhatItHoldsHoweverMuch) {
  constexpr uint32_t kPages = 30;
  MiniTxn mini_txn(&pool());
  ASSERT_TRUE(mini_txn.Start(8192).ok());
  std::vector<MutablePage> pages;
  for (uint32_t page = 1; page <= kPages; ++page) {
    EXPECT_FALSE(mini_txn.FindHeld(PoolFixture::Id(page)).valid());
    pages.push_back(mini_txn.Fix(PoolFixture::Id(page)).value());
  }
  for (uint32_t page = 1; page <= kPages; ++page) {
    const MutablePage held = mini_txn.FindHeld(PoolFixture::Id(page));
    ASSERT_TRUE(held.valid());
    EXPECT_EQ(held.bytes, pages[page - 1].bytes);
    EXPECT_EQ(held.id, PoolFixture::Id(page));
    fixture_.Change(&mini_txn, held, 100 + page);
  }
  const Lsn end = mini_txn.Commit();
  std::vector<uint32_t> numbers;
  for (uint32_t page = 1; page <= kPages; ++page) {
    numbers.push_back(page);
    EXPECT_EQ(fixture_.Read(page).value(), 100 + page);
    Result<PageGuard> guard = pool().Fix(PoolFixture::Id(page), LatchMode::kShared);
    EXPECT_EQ(PageLsnOf(guard->page()), end);
  }
  ExpectFree(numbers);
}

TEST_F(MiniTxnTest, ADiscardedPageLeavesThePoolAndIsNotWritten) {
  const std::vector<std::byte> home = fixture_.ReadHome(3);
  {
    MiniTxn mini_txn(&pool());
    ASSERT_TRUE(mini_txn.Start(1024).ok());
    const MutablePage freed = mini_txn.Fix(PoolFixture::Id(3)).value();
    const MutablePage other = mini_txn.Fix(PoolFixture::Id(4)).value();
    fixture_.Change(&mini_txn, freed, 7);
    fixture_.Change(&mini_txn, other, 8);
    mini_txn.DiscardAtCommit(freed);
    (void)mini_txn.Commit();
  }
  EXPECT_FALSE(pool().IsResident(PoolFixture::Id(3)));
  EXPECT_TRUE(pool().IsDirty(PoolFixture::Id(4)));
  EXPECT_EQ(pool().Statistics().dirty_frames, 1u);
  ASSERT_TRUE(pool().FlushAndCheckpoint().ok());
  EXPECT_EQ(fixture_.ReadHome(3), home);
}

TEST_F(MiniTxnTest, ANewPageThatWasNotMadeIsSeenByNobody) {
  const uint64_t before = fixture_.Read(3).value();
  {
    MiniTxn mini_txn(&pool());
    ASSERT_TRUE(mini_txn.Start(1024).ok());
    Result<MutablePage> page = mini_txn.FixNew(PoolFixture::Id(3));
    ASSERT_TRUE(page.ok());
    for (uint32_t i = 0; i < pool().page_size_bytes(); ++i) ASSERT_EQ(page->bytes[i], std::byte{0});
  }
  EXPECT_FALSE(pool().IsResident(PoolFixture::Id(3)));
  EXPECT_EQ(fixture_.Read(3).value(), before) << "from its file";
}

TEST_F(MiniTxnTest, PagesOfTemporarySpacesAreChangedWithoutTheLog) {
  const SpaceId temporary(kFirstTemporarySpace.value() + 1);
  ASSERT_TRUE(fixture_.files().Create(temporary, 8).ok());
  const PageId id{temporary, PageNumber(3)};
  const Lsn before = tail();
  MiniTxn mini_txn(&pool());
  ASSERT_TRUE(mini_txn.Start(4096).ok());
  Result<MutablePage> page = mini_txn.FixNew(id);
  ASSERT_TRUE(page.ok());
  InitPageHeader({page->bytes, pool().page_size_bytes()}, id, PageType::kTreeNode, 1, IndexId(1));
  LogPageImage(&mini_txn, *page);
  const std::string text = "temporary";
  LogPageBytes(&mini_txn, *page, 64, AsBytes(text));
  EXPECT_TRUE(mini_txn.has_changes());
  (void)mini_txn.Commit();
  EXPECT_EQ(tail(), before);
  Result<PageGuard> guard = pool().Fix(id, LatchMode::kShared);
  ASSERT_TRUE(guard.ok());
  EXPECT_EQ(AsText({guard->page() + 64, text.size()}), text);
  EXPECT_EQ(PageLsnOf(guard->page()), kNoLsn);
  EXPECT_EQ(guard->frame()->FirstDirtyLsn(), kDirtyUnlogged);
  guard->Release();
  // No checkpoint waits for it, and no sweep writes it.
  ASSERT_TRUE(pool().FlushAndCheckpoint().ok());
  EXPECT_TRUE(pool().IsDirty(id));
  EXPECT_EQ(pool().Statistics().checkpoint_age_bytes, 0u);
}

TEST_F(MiniTxnTest, NoneIsStartedOnceTheEngineIsStopped) {
  fixture_.log().Stop("a test");
  MiniTxn mini_txn(&pool());
  EXPECT_TRUE(mini_txn.Start(1024).Is(Code::kStopped));
  EXPECT_FALSE(mini_txn.started());
  EXPECT_TRUE(mini_txn.Start(1024).Is(Code::kStopped));
}

}  // namespace
}  // namespace rowan
