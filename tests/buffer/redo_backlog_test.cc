// SPDX-License-Identifier: GPL-2.0-only
// Records gathered page by page, and pages that come into the pool while some are pending.
#include "buffer/redo_backlog.h"

#include <gtest/gtest.h>

#include <vector>

#include "buffer/buffer_redo.h"
#include "buffer/page/page_header.h"
#include "buffer/redo_worker.h"
#include "tests/buffer/pool_harness.h"
#include "tests/support/fault_file_system.h"

namespace rowan {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr uint16_t kPlace = 64;

/// A record that overwrites the four bytes at kPlace.
std::vector<std::byte> Overwrite(uint32_t value) {
  std::vector<std::byte> body(6);
  StoreLe<uint16_t>(body.data(), kPlace);
  StoreLe<uint32_t>(body.data() + 2, value);
  return body;
}

void AddOverwrite(RedoBacklog* backlog, PageId page, uint32_t value, Lsn start, Lsn end) {
  const std::vector<std::byte> body = Overwrite(value);
  backlog->Add({RecordType::kPageBytes, page, body}, start, end);
}

void AddImage(RedoBacklog* backlog, PageId page, Lsn start, Lsn end) {
  backlog->Add({RecordType::kPageImage, page, {}}, start, end);
}

uint32_t ValueOf(const std::vector<std::byte>& page) { return LoadLe<uint32_t>(&page[kPlace]); }

TEST(RedoBacklogTest, AppliesWhatThePageLacksInTheOrderOfTheLog) {
  RegisterBufferRedo();
  RedoBacklog backlog;
  constexpr uint32_t kPages = 5000;  // the directory grows more than once
  for (uint32_t round = 1; round <= 3; ++round) {
    for (uint32_t page = 1; page <= kPages; ++page) {
      AddOverwrite(&backlog, PoolHarness::Id(page), round * 10, Lsn(round * 100),
                   Lsn(round * 100 + 50));
    }
  }
  backlog.Finish();
  ASSERT_EQ(backlog.PendingPages().size(), kPages);
  for (const uint64_t key : backlog.PendingPages()) {
    RedoBacklog::Page* page = backlog.Find(key);
    ASSERT_NE(page, nullptr);
    EXPECT_EQ(page->start, 100u);
    std::vector<std::byte> bytes(kPageBytes);
    SetPageLsn(bytes.data(), Lsn(150));  // the first group is there already
    ASSERT_TRUE(backlog.Apply(*page, bytes).ok());
    EXPECT_EQ(ValueOf(bytes), 30u);
    EXPECT_EQ(PageLsnOf(bytes.data()), Lsn(350));
    backlog.Remove(page);
    EXPECT_EQ(backlog.Find(key), nullptr);
  }
  EXPECT_EQ(backlog.records_applied(), 2 * kPages);
}

TEST(RedoBacklogTest, APageThatLacksNothingStaysAsItIs) {
  RegisterBufferRedo();
  RedoBacklog backlog;
  AddOverwrite(&backlog, PoolHarness::Id(1), 7, Lsn(100), Lsn(150));
  backlog.Finish();
  std::vector<std::byte> bytes(kPageBytes);
  SetPageLsn(bytes.data(), Lsn(400));
  ASSERT_TRUE(backlog.Apply(*backlog.Find(PoolHarness::Id(1).Packed()), bytes).ok());
  EXPECT_EQ(ValueOf(bytes), 0u);
  EXPECT_EQ(PageLsnOf(bytes.data()), Lsn(400));
}

TEST(RedoBacklogTest, ARecordThatInitialisesThePageReplacesAllBeforeIt) {
  RegisterBufferRedo();
  RedoBacklog backlog;
  const std::byte malformed[1] = {};
  backlog.Add({RecordType::kPageBytes, PoolHarness::Id(1), malformed}, Lsn(100), Lsn(150));
  AddImage(&backlog, PoolHarness::Id(1), Lsn(200), Lsn(250));
  AddOverwrite(&backlog, PoolHarness::Id(1), 9, Lsn(300), Lsn(350));
  backlog.Finish();
  RedoBacklog::Page* page = backlog.Find(PoolHarness::Id(1).Packed());
  EXPECT_TRUE(page->fresh);
  EXPECT_EQ(page->start, 100u) << "the page is named since then";
  std::vector<std::byte> bytes(kPageBytes);  // what was there need not be read
  ASSERT_TRUE(backlog.Apply(*page, bytes).ok());
  EXPECT_EQ(ValueOf(bytes), 9u);
  EXPECT_EQ(PageLsnOf(bytes.data()), Lsn(350));
}

TEST(RedoBacklogTest, ARecordThatDoesNotFitLeavesThePagePending) {
  RegisterBufferRedo();
  RedoBacklog backlog;
  AddOverwrite(&backlog, PoolHarness::Id(1), 7, Lsn(100), Lsn(150));
  const std::byte malformed[1] = {};
  backlog.Add({RecordType::kPageBytes, PoolHarness::Id(1), malformed}, Lsn(200), Lsn(250));
  backlog.Finish();
  std::vector<std::byte> bytes(kPageBytes);
  EXPECT_TRUE(
      backlog.Apply(*backlog.Find(PoolHarness::Id(1).Packed()), bytes).Is(Code::kCorrupt));
  EXPECT_NE(backlog.Find(PoolHarness::Id(1).Packed()), nullptr);
}

/// A pool with pages at counter 0, all clean, and records pending for some of them.
class PendingPages : public ::testing::Test {
 protected:
  static constexpr uint32_t kPages = 200;

  void SetUp() override {
    harness_.Create();
    ASSERT_TRUE(harness_.Start().ok());
    ASSERT_TRUE(harness_.Add(kPages, 1).ok());
    lsn_ = harness_.log().tail();  // behind all that the other pages have
  }
  /// A group sets the page's counter, in both places.
  void SetCounter(uint32_t page, uint64_t value) {
    const size_t last = TestPageSizeBytes() - sizeof(value);
    for (const size_t offset : {kPageHeaderBytes, last}) {
      std::vector<std::byte> body(2 + sizeof(value));
      StoreLe<uint16_t>(body.data(), static_cast<uint16_t>(offset));
      StoreLe<uint64_t>(body.data() + 2, value);
      backlog_.Add({RecordType::kPageBytes, PoolHarness::Id(page), body}, lsn_, lsn_);
    }
  }
  void Begin() {
    backlog_.Finish();
    ASSERT_TRUE(harness_.pool().RepairFromDoublewrite().ok());
    harness_.pool().BeginRedo(&backlog_);
  }

  FaultFileSystem files_{TestSeed()};
  PoolHarness harness_{&files_, {.pool_pages = 32, .space_pages = kPages + 1}};
  RedoBacklog backlog_;
  Lsn lsn_;
};

TEST_F(PendingPages, AreRedoneOnFirstUseAndTheRestByWorkers) {
  for (uint32_t page = 1; page < kPages; ++page) SetCounter(page, page * 3);
  Begin();
  for (uint32_t page = 10; page < 60; ++page) EXPECT_EQ(harness_.Read(page).value(), page * 3);
  OptimisticPage optimistic;
  ASSERT_TRUE(
      harness_.pool().FixOptimistic(PoolHarness::Id(100), FixHint::kNormal, &optimistic).ok());
  EXPECT_EQ(harness_.CounterOf(optimistic.page), 300u);
  EXPECT_EQ(backlog_.Find(PoolHarness::Id(100).Packed()), nullptr);
  EXPECT_NE(backlog_.Find(PoolHarness::Id(150).Packed()), nullptr);
  std::vector<RedoWorker::Failure> failures;
  ASSERT_TRUE(RedoWorker(&harness_.pool(), 2).Run(backlog_.PendingPages(), &failures).ok());
  EXPECT_TRUE(failures.empty());
  EXPECT_TRUE(backlog_.PendingPages().empty());
  harness_.pool().EndRedo();
  for (uint32_t page = 1; page < kPages; ++page) EXPECT_EQ(harness_.Read(page).value(), page * 3);
}

TEST_F(PendingPages, ThatBeginAnewLackNothing) {
  SetCounter(7, 70);
  Begin();
  ASSERT_TRUE(harness_.Init(7, 5).ok());
  EXPECT_EQ(harness_.Read(7).value(), 5u);
  EXPECT_TRUE(backlog_.PendingPages().empty());
  harness_.pool().EndRedo();
}

TEST_F(PendingPages, ThatAreNewerAtHomeDoNotGoBack) {
  ASSERT_TRUE(harness_.Add(7, 5).ok());
  ASSERT_TRUE(harness_.Add(8, 5).ok());
  ASSERT_TRUE(harness_.pool().FlushAndCheckpoint().ok());
  for (uint32_t page = 20; page < kPages; ++page) ASSERT_TRUE(harness_.Read(page).ok());
  ASSERT_FALSE(harness_.pool().IsResident(PoolHarness::Id(7)));
  ASSERT_FALSE(harness_.pool().IsResident(PoolHarness::Id(8)));
  // The beginning of a life that a later stretch of the log goes on with.
  AddImage(&backlog_, PoolHarness::Id(7), Lsn(1), Lsn(2));
  AddImage(&backlog_, PoolHarness::Id(8), Lsn(1), Lsn(2));
  Begin();
  EXPECT_EQ(harness_.Read(7).value(), 5u) << "on first use";
  std::vector<RedoWorker::Failure> failures;
  ASSERT_TRUE(RedoWorker(&harness_.pool(), 1).Run(backlog_.PendingPages(), &failures).ok());
  EXPECT_TRUE(failures.empty());
  EXPECT_EQ(harness_.Read(8).value(), 5u);
  harness_.pool().EndRedo();
}

TEST_F(PendingPages, HoldTheCheckpoint) {
  const Lsn before = harness_.control().data().checkpoint_lsn;
  SetCounter(7, 70);
  Begin();
  ASSERT_TRUE(harness_.Add(3, 1).ok());
  ASSERT_TRUE(harness_.pool().FlushAndCheckpoint().ok());
  EXPECT_EQ(harness_.control().data().checkpoint_lsn, before);
  EXPECT_EQ(harness_.Read(7).value(), 70u);
  harness_.pool().EndRedo();
  ASSERT_TRUE(harness_.pool().FlushAndCheckpoint().ok());
  EXPECT_GT(harness_.control().data().checkpoint_lsn, before);
}

TEST_F(PendingPages, OfADamagedFileAreReportedAndTheOthersRedone) {
  for (uint32_t page = 1; page < kPages; ++page) SetCounter(page, page * 3);
  harness_.WriteHome(77, std::vector<std::byte>(TestPageSizeBytes(), std::byte{0x5a}));
  Begin();
  std::vector<RedoWorker::Failure> failures;
  ASSERT_TRUE(RedoWorker(&harness_.pool(), 1).Run(backlog_.PendingPages(), &failures).ok());
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].page, PoolHarness::Id(77).Packed());
  EXPECT_TRUE(failures[0].status.Is(Code::kCorrupt));
  EXPECT_TRUE(harness_.Read(77).status().Is(Code::kCorrupt)) << "on first use as well";
  EXPECT_EQ(backlog_.PendingPages(), std::vector<uint64_t>{PoolHarness::Id(77).Packed()});
  harness_.pool().EndRedo();
}

}  // namespace
}  // namespace rowan
