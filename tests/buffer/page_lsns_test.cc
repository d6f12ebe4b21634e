// SPDX-License-Identifier: GPL-2.0-only
// The map of page LSNs and its files: what a checkpoint wrote is known again, a torn or rotten
// block costs itself only, nothing else is believed, and it stays cheap however large the data
// are; and a pool that reads a page older than its last write says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/counters.h"
#include "base/crc32c.h"
#include "base/random.h"
#include "buffer/page/page_lsns.h"
#include "tests/buffer/pool_fixture.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"
#include "tests/support/temp_dir.h"

namespace rowan::page_lsns_test {
namespace {

constexpr SpaceId kSpace{16};
constexpr SpaceId kOther{17};

PageId At(SpaceId space, uint32_t page) { return {space, PageNumber(page)}; }

bool Never() { return false; }

class PageVersionsFile : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(files_.Create(kSpace, 4).ok());
    ASSERT_TRUE(files_.Create(kOther, 4).ok());
    ASSERT_TRUE(Reopen({.instance = 7, .expected = false}).ok());
  }
  Status Reopen(PageLsns::Origin origin = {.instance = 7, .expected = true}) {
    versions_ = std::make_unique<PageLsns>(&fs_, &files_);
    return versions_->Open(origin);
  }
  void Checkpoint() { ASSERT_TRUE(versions_->Write(versions_->CopyChanged()).ok()); }
  void Fold() { ASSERT_TRUE(versions_->Fold(Never).ok()); }
  uint64_t Expected(PageId id) const { return versions_->Expected(id).value(); }
  static std::string Path() { return std::string("/instance/") + kPageLsnsFileName; }
  static std::string Journal(uint64_t number) { return Path() + "." + std::to_string(number); }
  std::vector<std::byte> Block(const std::string& path, uint64_t number) {
    std::vector<std::byte> block(kPageLsnSlotBytes);
    auto file = fs_.Open(path, {});
    EXPECT_TRUE((*file)->Read(number * kPageLsnSlotBytes, block).ok());
    return block;
  }
  void SetBlock(const std::string& path, uint64_t number, std::vector<std::byte> block) {
    StoreLe<uint32_t>(block.data(), Crc32c(Bytes(block).subspan(4)));
    auto file = fs_.Open(path, {.create = true});
    EXPECT_TRUE((*file)->Write(number * kPageLsnSlotBytes, block).ok());
  }
  /// A slot as the older form of the file had it.
  static std::vector<std::byte> OldSlot(SpaceId space, uint32_t chunk, uint64_t generation,
                                        uint64_t lsn_of_first_page) {
    std::vector<std::byte> slot(kPageLsnSlotBytes);
    StoreLe<uint32_t>(slot.data() + 4, 0x56505752);
    StoreLe<uint32_t>(slot.data() + 8, 1);
    StoreLe<uint32_t>(slot.data() + 12, 7);
    StoreLe<uint32_t>(slot.data() + 16, space.value());
    StoreLe<uint32_t>(slot.data() + 20, chunk);
    StoreLe<uint64_t>(slot.data() + 24, generation);
    StoreLe<uint64_t>(slot.data() + 32, lsn_of_first_page);
    return slot;
  }
  std::vector<std::string> Files() {
    std::vector<std::string> names;
    for (std::string& name : fs_.List("/instance").value()) {
      if (name.starts_with(kPageLsnsFileName)) names.push_back(std::move(name));
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  FaultFileSystem fs_{TestSeed()};
  SpaceFiles files_{&fs_, "/instance", TestPageSizeBytes()};
  std::unique_ptr<PageLsns> versions_;
};

TEST_F(PageVersionsFile, KnowsAgainWhatACheckpointWrote) {
  const std::vector<PageId> ids = {At(kSpace, 0), At(kSpace, kPagesPerChunk - 1),
                                   At(kSpace, kPagesPerChunk), At(kOther, 123456)};
  for (size_t i = 0; i < ids.size(); ++i) versions_->Note(ids[i], Lsn(100 + i));
  Checkpoint();
  versions_->Note(ids[0], Lsn(900));  // after the checkpoint: not known any more
  for (int start = 0; start < 3; ++start) {
    ASSERT_TRUE(Reopen().ok());
    for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(Expected(ids[i]), 100 + i) << i;
    EXPECT_EQ(Expected(At(kSpace, 1)), 0u);
    EXPECT_EQ(Expected(At(SpaceId(99), 1)), 0u);
    EXPECT_TRUE(versions_->IsStale(ids[0], Lsn(99)));
    EXPECT_FALSE(versions_->IsStale(ids[0], Lsn(100)));
    Fold();
    for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(Expected(ids[i]), 100 + i) << i;
    EXPECT_EQ(Files(), std::vector<std::string>{kPageLsnsFileName}) << "journals are folded";
  }
}

TEST_F(PageVersionsFile, WritesWhatChangedInOneGo) {
  versions_->Note(At(kSpace, 1), Lsn(10));
  versions_->Note(At(kOther, 1), Lsn(10));
  Checkpoint();
  const uint64_t writes = fs_.Calls(FileCall::kWrite);
  const uint64_t syncs = fs_.Calls(FileCall::kSync);
  Checkpoint();
  EXPECT_EQ(fs_.Calls(FileCall::kWrite), writes);
  EXPECT_EQ(fs_.Calls(FileCall::kSync), syncs) << "nothing changed, so nothing to sync";
  for (uint32_t chunk = 0; chunk < 100; ++chunk) {
    versions_->Note(At(kOther, chunk * kPagesPerChunk), Lsn(11));
  }
  Checkpoint();
  EXPECT_EQ(fs_.Calls(FileCall::kWrite), writes + 1);
  EXPECT_EQ(fs_.Calls(FileCall::kSync), syncs + 1);
}

TEST_F(PageVersionsFile, OldAndNewValuesOfAllFilesAreJoined) {
  const PageId id = At(kSpace, 5);
  uint64_t lsn = 0;
  for (int round = 0; round < 4; ++round) {
    versions_->Note(id, Lsn(lsn += 10));
    versions_->Note(At(kSpace, 1000 + 600 * round), Lsn(lsn));
    Checkpoint();
    if (round % 2 == 0) Fold();
    versions_->Note(id, Lsn(lsn += 10));
    Checkpoint();
    if (round % 2 == 0) continue;
    ASSERT_TRUE(Reopen().ok());
  }
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(Expected(id), lsn);
  for (uint32_t round = 0; round < 4; ++round) {
    EXPECT_EQ(Expected(At(kSpace, 1000 + 600 * round)), 20 * round + 10);
  }
  // Noted before it was asked for: the smaller one of the files does not win.
  ASSERT_TRUE(Reopen().ok());
  versions_->Note(id, Lsn(lsn + 1));
  EXPECT_EQ(Expected(id), lsn + 1);
}

TEST_F(PageVersionsFile, ADamagedBlockOfTheJournalCostsItselfOnlyAndIsNamed) {
  for (uint32_t page = 1; page <= 3; ++page) {
    // More than a sector each.
    for (uint32_t i = 0; i < 50; ++i) versions_->Note(At(kSpace, page * 1000 + i), Lsn(10 * page));
    Checkpoint();
  }
  ASSERT_TRUE(fs_.FlipBit(Journal(1), 1024 + 700, 3));  // the second block, behind its header
  LogCapture log;
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(Expected(At(kSpace, 1000)), 10u);
  EXPECT_EQ(Expected(At(kSpace, 2000)), 0u);
  EXPECT_EQ(Expected(At(kSpace, 3049)), 30u);
  EXPECT_TRUE(log.Has("'/instance/rowan.page_lsns.1': 1 blocks are damaged")) << log.Text();
  EXPECT_TRUE(log.Has("offset 1024")) << log.Text();
}

TEST_F(PageVersionsFile, ABlockOfTheBaseThatRotsIsFoundByTheCheckAndWrittenAnew) {
  versions_->Note(At(kSpace, 1), Lsn(10));
  versions_->Note(At(kOther, 1), Lsn(11));
  Checkpoint();
  Fold();
  EXPECT_EQ(versions_->Check(kSpace).value(), 0u);
  ASSERT_TRUE(fs_.FlipBit(Path(), kPageLsnSlotBytes + 2000, 3));
  LogCapture log;
  EXPECT_FALSE(versions_->WantsFold());
  EXPECT_EQ(versions_->Check(kOther).value(), 0u);
  EXPECT_EQ(versions_->Check(kSpace).value(), 1u);
  EXPECT_TRUE(log.Has("'/instance/rowan.page_lsns': the block at offset 4096 is damaged"));
  Checkpoint();
  EXPECT_TRUE(versions_->WantsFold());
  Fold();
  EXPECT_EQ(versions_->Check(kSpace).value(), 0u);
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(Expected(At(kSpace, 1)), 10u);
  EXPECT_EQ(Expected(At(kOther, 1)), 11u);
}

TEST_F(PageVersionsFile, AnUnreadableOrDamagedBaseKeepsNothingClosed) {
  for (uint32_t i = 0; i < 3; ++i) versions_->Note(At(kSpace, i * kPagesPerChunk), Lsn(10 + i));
  Checkpoint();
  Fold();
  {
    // One block: the chunk is not known, the rest is.
    fs_.Inject({.call = FileCall::kRead, .path_part = kPageLsnsFileName, .nth_call = 3});
    LogCapture log;
    ASSERT_TRUE(Reopen().ok());
    EXPECT_EQ(Expected(At(kSpace, 0)), 0u);
    EXPECT_EQ(Expected(At(kSpace, kPagesPerChunk)), 11u);
    EXPECT_TRUE(log.Has("the block at offset 4096 cannot be read")) << log.Text();
  }
  // Its directory: the blocks are searched, and a new base is made.
  ASSERT_TRUE(fs_.FlipBit(Path(), 20, 0));
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(Expected(At(kSpace, 2 * kPagesPerChunk)), 12u);
  EXPECT_TRUE(versions_->WantsFold());
  Fold();
  EXPECT_FALSE(versions_->WantsFold());
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(Expected(At(kSpace, 2 * kPagesPerChunk)), 12u);
  fs_.Inject({.call = FileCall::kOpen, .path_part = kPageLsnsFileName});
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(Expected(At(kSpace, 0)), 0u);
}

TEST_F(PageVersionsFile, TheOlderFormIsReadAndReplaced) {
  ASSERT_TRUE(fs_.Remove(Path()).ok());
  SetBlock(Path(), 0, OldSlot(kSpace, 0, 3, 10));  // the older of its pair
  SetBlock(Path(), 1, OldSlot(kSpace, 0, 4, 20));
  SetBlock(Path(), 2, OldSlot(kOther, 2, 4, 30));
  SetBlock(Path(), 4, OldSlot(SpaceId(99), 0, 4, 40));  // dropped
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(Expected(At(kSpace, 0)), 20u);
  EXPECT_EQ(Expected(At(kOther, 2 * kPagesPerChunk)), 30u);
  EXPECT_TRUE(versions_->WantsFold());
  versions_->Note(At(kOther, 1), Lsn(50));
  Checkpoint();
  Fold();
  EXPECT_FALSE(versions_->WantsFold());
  EXPECT_EQ(LoadLe<uint32_t>(Block(Path(), 0).data() + 8), 2u) << "an older program refuses it";
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(Expected(At(kSpace, 0)), 20u);
  EXPECT_EQ(Expected(At(kOther, 2 * kPagesPerChunk)), 30u);
  EXPECT_EQ(Expected(At(kOther, 1)), 50u);
}

/// As a program of before left it: a base and journals.
class FormerNames : public PageVersionsFile {
 protected:
  void SetUp() override {
    PageVersionsFile::SetUp();
    for (uint64_t lsn = 10; lsn <= 13; ++lsn) {
      versions_->Note(At(kSpace, static_cast<uint32_t>(lsn)), Lsn(lsn));
      Checkpoint();
      if (lsn == 10) Fold();
      ASSERT_TRUE(Reopen().ok());  // a journal for each
    }
    ASSERT_EQ(Files().size(), 4u);
    GiveFormerNames();
  }
  void GiveFormerNames() {
    versions_.reset();
    for (const std::string& name : Files()) {
      const std::string rest = name.substr(std::string(kPageLsnsFileName).size());
      ASSERT_TRUE(fs_.Rename("/instance/" + name, Former() + rest).ok());
    }
    ASSERT_TRUE(fs_.SyncDirectory("/instance").ok());
  }
  static std::string Former() { return std::string("/instance/") + kFormerPageLsnsFileName; }
  void ExpectAll() {
    for (uint64_t lsn = 10; lsn <= 13; ++lsn) {
      EXPECT_EQ(Expected(At(kSpace, static_cast<uint32_t>(lsn))), lsn);
    }
    for (const std::string& name : fs_.List("/instance").value()) {
      EXPECT_FALSE(name.starts_with(kFormerPageLsnsFileName)) << name;
    }
  }
};

TEST_F(FormerNames, AreReplacedWhateverCutsThatShort) {
  uint64_t cut_short = 0;
  for (uint64_t changes = 0; changes < 12; ++changes) {
    SCOPED_TRACE(changes);
    fs_.PowerOffAfter(changes);
    if (!Reopen().ok()) ++cut_short;
    fs_.Crash(TestSeed() + changes);
    ASSERT_TRUE(files_.Open(kSpace).ok());
    ASSERT_TRUE(Reopen().ok());
    ExpectAll();
    GiveFormerNames();
  }
  EXPECT_GE(cut_short, 4u);
}

TEST_F(FormerNames, OfAProgramUsedInBetweenAreRemoved) {
  ASSERT_TRUE(Reopen().ok());
  // It did not know today's name and began anew.
  for (const char* rest : {"", ".1", ".7"}) {
    auto file = fs_.Open(Former() + rest, {.create = true});
    ASSERT_TRUE((*file)->Write(0, std::vector<std::byte>(kPageLsnSlotBytes)).ok());
  }
  LogCapture log;
  ASSERT_TRUE(Reopen().ok());
  EXPECT_TRUE(log.Has("'/instance/rowan.versions' is of an earlier version")) << log.Text();
  ExpectAll();
}

TEST_F(PageVersionsFile, DroppedSpacesAreForgottenAndLeaveTheFilesWithTheNextFold) {
  versions_->Note(At(kSpace, 1), Lsn(10));
  Checkpoint();
  Fold();
  versions_->Note(At(kSpace, 1), Lsn(11));
  const PageLsns::Copies underway = versions_->CopyChanged();
  ASSERT_TRUE(files_.Drop(kSpace).ok());
  versions_->Forget(kSpace);
  EXPECT_EQ(Expected(At(kSpace, 1)), 0u);
  EXPECT_EQ(versions_->MemoryBytes(), 0u);
  versions_->Note(At(kSpace, 2), Lsn(12));  // a write that was under way
  EXPECT_EQ(versions_->MemoryBytes(), 0u);
  ASSERT_TRUE(versions_->Write(underway).ok());
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(Expected(At(kSpace, 1)), 0u);
  Fold();
  auto file = fs_.Open(Path(), {});
  EXPECT_EQ((*file)->Size().value(), kPageLsnSlotBytes);
}

TEST_F(PageVersionsFile, WhatIsMissingOrForeignIsNotBelievedAndNewerIsRefused) {
  versions_->Note(At(kSpace, 1), Lsn(10));
  Checkpoint();
  {
    LogCapture log;
    ASSERT_TRUE(Reopen({.instance = 8, .expected = true}).ok());
    EXPECT_EQ(Expected(At(kSpace, 1)), 0u);
    EXPECT_TRUE(log.Has("1 blocks belong to another instance")) << log.Text();
  }
  LogCapture log;
  const std::vector<std::byte> good = Block(Path(), 0);
  std::vector<std::byte> newer = good;
  StoreLe<uint32_t>(newer.data() + 8, 99);
  SetBlock(Path(), 0, newer);
  EXPECT_TRUE(Reopen().Is(Code::kNewerFormat));
  EXPECT_TRUE(log.Has("'/instance/rowan.page_lsns' was written by a newer version")) << log.Text();

  log.Clear();
  ASSERT_TRUE(fs_.Remove(Path()).ok());
  ASSERT_TRUE(Reopen({.instance = 7, .expected = false}).ok());
  EXPECT_EQ(log.Text(), "") << "a new instance has none yet";
  versions_->Note(At(kSpace, 1), Lsn(10));
  Checkpoint();
  ASSERT_TRUE(fs_.Remove(Path()).ok());
  ASSERT_TRUE(Reopen().ok());
  EXPECT_TRUE(log.Has("'/instance/rowan.page_lsns' is missing")) << log.Text();
  EXPECT_EQ(Expected(At(kSpace, 1)), 0u) << "nor what its journals say";
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(Expected(At(kSpace, 1)), 0u);
}

TEST_F(PageVersionsFile, AFullDiskKeepsTheJournalFromGrowingOnly) {
  LogCapture log;
  fs_.Inject({.call = FileCall::kAllocate, .path_part = kPageLsnsFileName, .code = Code::kNoSpace});
  versions_->Note(At(kSpace, 1), Lsn(10));
  Checkpoint();
  EXPECT_TRUE(log.Has("too full for '/instance/rowan.page_lsns'")) << log.Text();
  Checkpoint();  // tried again
  fs_.Inject({.call = FileCall::kWrite, .path_part = "page_lsns.tmp", .code = Code::kNoSpace});
  EXPECT_TRUE(versions_->Fold(Never).Is(Code::kNoSpace));
  versions_->Note(At(kSpace, 2), Lsn(11));
  Checkpoint();
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(Expected(At(kSpace, 1)), 10u);
  EXPECT_EQ(Expected(At(kSpace, 2)), 11u);
}

TEST_F(PageVersionsFile, ACrashAtAnyMomentLosesNothingThatWasWritten) {
  for (uint64_t changes = 0; changes < 40; ++changes) {
    const uint64_t lsn = 1000 * (changes + 1);
    ASSERT_TRUE(files_.Open(kSpace).ok());
    ASSERT_TRUE(Reopen().ok());
    versions_->Note(At(kSpace, 1), Lsn(lsn));
    Checkpoint();
    versions_->Note(At(kSpace, 2), Lsn(lsn + 1));
    fs_.PowerOffAfter(changes);
    const bool written = versions_->Write(versions_->CopyChanged()).ok();
    const bool folded = versions_->Fold(Never).ok();
    fs_.Crash(changes);
    ASSERT_TRUE(Reopen().ok());
    EXPECT_EQ(Expected(At(kSpace, 1)), lsn) << changes;
    EXPECT_TRUE(!written || Expected(At(kSpace, 2)) == lsn + 1) << changes;
    EXPECT_TRUE(folded || changes <= 30);
  }
}

TEST_F(PageVersionsFile, FoldsBesideCheckpointsAndReaders) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    while (!stop) EXPECT_TRUE(versions_->Fold(Never).ok());
  });
  threads.emplace_back([&] {
    uint64_t last = 0;
    while (!stop) {
      const uint64_t now = Expected(At(kSpace, 600));
      EXPECT_GE(now, last);
      last = now;
    }
  });
  for (uint64_t lsn = 1; lsn <= 300; ++lsn) {
    versions_->Note(At(kSpace, 600), Lsn(lsn));
    versions_->Note(At(kOther, lsn * 100), Lsn(lsn));
    Checkpoint();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(Expected(At(kSpace, 600)), 300u);
  for (uint32_t lsn = 1; lsn <= 300; ++lsn) EXPECT_EQ(Expected(At(kOther, lsn * 100)), lsn);
}

/// Random writes all over a data set, 4096 pages per checkpoint, folded when it is time. The bytes
/// written for them, in percent of the pages' own.
TEST_F(PageVersionsFile, CostsLittleHoweverLargeTheDataAre) {
  const bool large = std::getenv("ROWAN_TEST_LONG") != nullptr;
  constexpr uint32_t kPagesPerCheckpoint = 4096;
  const uint64_t page_size = TestPageSizeBytes();
  const auto pages =
      static_cast<uint32_t>(large ? (uint64_t{1} << 40) / page_size : uint64_t{1} << 20);
  TempDir folder;
  SpaceFiles files(PosixFileSystem(), folder.path(), TestPageSizeBytes());
  ASSERT_TRUE(files.Create(kSpace, 4).ok());
  PageLsns versions(PosixFileSystem(), &files);
  ASSERT_TRUE(versions.Open({.instance = 7}).ok());
  Random random(TestSeed());
  const uint64_t bytes_before = ReadCounter(CounterOf(WriteCause::kPageLsns));
  uint64_t checkpoints = 0;
  uint64_t folds = 0;
  uint64_t lsn = 0;
  while (folds < 3) {
    for (uint32_t i = 0; i < kPagesPerCheckpoint; ++i) {
      versions.Note(At(kSpace, static_cast<uint32_t>(random.Below(pages))), Lsn(++lsn));
    }
    ASSERT_TRUE(versions.Write(versions.CopyChanged()).ok());
    ++checkpoints;
    if (!versions.WantsFold()) continue;
    ASSERT_TRUE(versions.Fold(Never).ok());
    ++folds;
  }
  const uint64_t bytes = ReadCounter(CounterOf(WriteCause::kPageLsns)) - bytes_before;
  const double percent = 100.0 * static_cast<double>(bytes) /
                         static_cast<double>(checkpoints * kPagesPerCheckpoint * page_size);
  std::printf(
      "%u pages of data: %.2f %% more bytes, a write per checkpoint, and %llu folds in "
      "%llu checkpoints\n",
      pages, percent, static_cast<unsigned long long>(folds),
      static_cast<unsigned long long>(checkpoints));
  EXPECT_LE(percent, 2.0);
}

}  // namespace
}  // namespace rowan::page_lsns_test
