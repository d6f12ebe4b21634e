// SPDX-License-Identifier: GPL-2.0-only
// What the pool does when the disk fails or lies.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "base/counters.h"
#include "tests/buffer/pool_fixture.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"

namespace rowan {
namespace {

std::string SpacePath(PoolFixture* fixture) { return fixture->files().PathOf(PoolFixture::kSpace); }

void ExpectStopped(PoolFixture* fixture) {
  EXPECT_TRUE(fixture->log().stopped());
  EXPECT_TRUE(fixture->storage().stopped());
  EXPECT_TRUE(fixture->pool().FlushAndCheckpoint().Is(Code::kStopped));
  EXPECT_TRUE(fixture->Add(1, 1).status().Is(Code::kStopped));
}

TEST(Failure, AFailedWriteOfAPageStopsTheEngineForGood) {
  FaultFileSystem fs(TestSeed());
  PoolFixture fixture(&fs, {.space_pages = 32});
  fixture.Create();
  ASSERT_TRUE(fixture.Add(1, 1).ok());
  fs.Inject({.call = FileCall::kWrite, .path_part = "space_"});
  EXPECT_TRUE(fixture.pool().FlushAndCheckpoint().Is(Code::kStopped));
  ExpectStopped(&fixture);
  EXPECT_EQ(fixture.pool().Statistics().dirty_frames, 1u);
}

TEST(Failure, AFailedDoublewriteStopsTheEngine) {
  FaultFileSystem fs(TestSeed());
  PoolFixture fixture(&fs, {.space_pages = 32});
  fixture.Create();
  ASSERT_TRUE(fixture.Add(1, 1).ok());
  fs.Inject({.call = FileCall::kWrite, .path_part = "doublewrite", .code = Code::kNoSpace});
  EXPECT_TRUE(fixture.pool().FlushAndCheckpoint().Is(Code::kStopped));
  ExpectStopped(&fixture);
}

TEST(Failure, AFailedSyncOfADataFileStopsTheEngineBeforeTheCheckpointMoves) {
  FaultFileSystem fs(TestSeed());
  PoolFixture fixture(&fs, {.space_pages = 32});
  fixture.Create();
  const Lsn checkpoint = fixture.control().data().checkpoint_lsn;
  ASSERT_TRUE(fixture.Add(1, 1).ok());
  fs.Inject({.call = FileCall::kSync, .path_part = "space_"});
  EXPECT_TRUE(fixture.pool().FlushAndCheckpoint().Is(Code::kStopped));
  EXPECT_EQ(fixture.control().data().checkpoint_lsn, checkpoint);
  ExpectStopped(&fixture);
}

TEST(Failure, AFailedReadFailsOneStatementOnly) {
  FaultFileSystem fs(TestSeed());
  PoolFixture fixture(&fs, {.pool_pages = 16, .space_pages = 64});
  fixture.Create();
  ASSERT_TRUE(fixture.Start().ok());
  LogCapture messages;
  fs.Inject({.call = FileCall::kRead, .path_part = "space_"});
  EXPECT_TRUE(fixture.Read(5).status().Is(Code::kIoError));
  EXPECT_TRUE(messages.Has("page 5")) << "the message names the page";
  EXPECT_EQ(fixture.Read(5).value(), 0u);
  EXPECT_FALSE(fixture.log().stopped());
}

TEST(Failure, DamageIsToldApartNamedAndLeavesOtherPagesAlone) {
  FaultFileSystem fs(TestSeed());
  PoolFixture fixture(&fs, {.pool_pages = 16, .space_pages = 64});
  fixture.Create();
  ASSERT_TRUE(fixture.Start().ok());
  const uint64_t page_size = fixture.pool().page_size_bytes();
  ASSERT_TRUE(fs.FlipBit(SpacePath(&fixture), 7 * page_size + page_size / 2, 3));
  // Page 8 gets the image of page 9: right checksum, wrong identity.
  fixture.WriteHome(8, fixture.ReadHome(9));
  fixture.WriteHome(10, std::vector<std::byte>(page_size));
  LogCapture messages;
  for (const uint32_t page : {7u, 8u, 10u, 64u}) {
    const Status status = fixture.Read(page).status();
    EXPECT_TRUE(status.Is(Code::kCorrupt)) << page;
    EXPECT_EQ(status.detail(), page);
    EXPECT_TRUE(messages.Has("Page " + std::to_string(page) + " of " + SpacePath(&fixture)));
  }
  EXPECT_EQ(fixture.Read(9).value(), 0u);
  EXPECT_EQ(fixture.Read(11).value(), 0u);
  EXPECT_EQ(fixture.pool().Statistics().free_frames + 2, fixture.pool().Statistics().frames);
}

TEST(Failure, ASpeculativeFixOfADamagedPageIsSilent) {
  FaultFileSystem fs(TestSeed());
  PoolFixture fixture(&fs, {.pool_pages = 16, .space_pages = 64});
  fixture.Create();
  ASSERT_TRUE(fixture.Start().ok());
  LogCapture messages;
  EXPECT_TRUE(fixture.Read(5000, FixHint::kSpeculative).status().Is(Code::kCorrupt));
  EXPECT_FALSE(messages.Has("5000"));
  const Status reported =
      fixture.pool().ReportDamage(PoolFixture::Id(5000), "it is referred to but does not exist");
  EXPECT_TRUE(reported.Is(Code::kCorrupt));
  EXPECT_TRUE(messages.Has("Page 5000"));
}

TEST(Failure, ADamagedPageIsReportedWithTheNamesOfItsTableAndIndex) {
  FaultFileSystem fs(TestSeed());
  PoolFixture fixture(&fs, {.pool_pages = 16, .space_pages = 64});
  fixture.Create();
  std::vector<std::byte> image = fixture.ReadHome(40);
  image[200] ^= std::byte{1};
  fixture.WriteHome(40, image);
  fixture.pool().SetDamageNamer([](SpaceId space, IndexId index) {
    if (space != PoolFixture::kSpace) return DamagedObject{};
    if (index != IndexId(1)) return DamagedObject{"db/t", "", false};
    return DamagedObject{"db/t", "k", true};
  });
  LogCapture messages;
  EXPECT_TRUE(fixture.Read(40).status().Is(Code::kCorrupt));  // its own header names the index
  EXPECT_TRUE(messages.Has("Page 40 of /instance/space_16.rws is damaged: "));
  EXPECT_TRUE(
      messages.Has("It is of index 'k' of table 'db/t'. Statements that need it fail; the "
                   "rest works. Dropping the index and adding it again mends it."));
  EXPECT_TRUE(fixture.Read(5000).status().Is(Code::kCorrupt));
  EXPECT_TRUE(messages.Has("It is of table 'db/t'. "));
  fixture.pool().ReportDamage({kUndoSpace, PageNumber(3)}, "it is no undo page").Ignore();
  EXPECT_TRUE(messages.Has("space_2.rws is damaged: it is no undo page. It is of the undo space."));
}

TEST(Failure, AtomicModeIsRefusedWhereUntornWritesAreNotPromised) {
  FaultFileSystem fs(TestSeed());
  PoolFixture fixture(&fs, {.space_pages = 32});
  fixture.Create();
  LogCapture messages;
  BufferOptions options;
  options.pool_bytes = 64 * uint64_t{TestPageSizeBytes()};
  options.doublewrite = DoublewriteMode::kAtomic;
  auto pool = BufferPool::Open(options, &fixture.files(), &fs, &fixture.log(), &fixture.control());
  EXPECT_TRUE(pool.status().Is(Code::kUnsupported));
  fs.SetAtomicWriteUnitMax(TestPageSizeBytes());
  pool = BufferPool::Open(options, &fixture.files(), &fs, &fixture.log(), &fixture.control());
  EXPECT_TRUE(pool.ok());
}

/// Writes pages in `mode`, cuts the power and says whether a page was found torn afterwards.
bool TornAfterPowerCut(DoublewriteMode mode, uint64_t seed) {
  FaultFileSystem fs(seed);
  fs.SetAtomicWriteUnitMax(TestPageSizeBytes());
  PoolFixture fixture(&fs, {.space_pages = 64});
  fixture.Create();
  EXPECT_TRUE(fixture.Start().ok());
  EXPECT_TRUE(fixture.pool().SetDoublewriteMode(mode).ok());
  const uint64_t batches = ReadCounter(Counter::kDoublewriteBatches);
  for (uint32_t page = 1; page < 60; ++page) EXPECT_TRUE(fixture.Add(page, page).ok());
  // The home writes are under way when the power goes.
  fs.Inject({.call = FileCall::kSync, .path_part = "space_"});
  fixture.pool().FlushAndCheckpoint().Ignore();  // stops the engine: the sync fails
  EXPECT_EQ(ReadCounter(Counter::kDoublewriteBatches), batches);
  fixture.Kill();
  fs.Crash(seed);
  return fixture.Start().Is(Code::kCorrupt);
}

TEST(Failure, AtomicModeChosenWhileRunningKeepsPagesWhole) {
  bool torn_without = false;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    EXPECT_FALSE(TornAfterPowerCut(DoublewriteMode::kAtomic, seed)) << seed;
    torn_without = TornAfterPowerCut(DoublewriteMode::kOff, seed) || torn_without;
  }
  EXPECT_TRUE(torn_without) << "the test would not notice a torn page";
}

}  // namespace
}  // namespace rowan
