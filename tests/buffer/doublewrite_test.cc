// SPDX-License-Identifier: GPL-2.0-only
// Repair from the doublewrite file: every tear is mended, nothing else is touched.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/counters.h"
#include "base/crc32c.h"
#include "base/random.h"
#include "buffer/buffer_redo.h"
#include "buffer/page/doublewrite.h"
#include "buffer/page/page_hole.h"
#include "tests/buffer/pool_fixture.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"
#include "tests/support/write_ledger.h"

namespace rowan {
namespace {

class Doublewrite : public ::testing::Test {
 protected:
  /// Page 5 was 1 on disk, then 2; both images are known, and 2 is in the doublewrite file.
  void SetUp() override {
    fixture_.Create();
    ASSERT_TRUE(fixture_.Add(5, 1).ok());
    ASSERT_TRUE(fixture_.pool().FlushAndCheckpoint().ok());
    old_ = Home();
    ASSERT_TRUE(fixture_.Add(5, 1).ok());
    ASSERT_TRUE(fixture_.pool().FlushAndCheckpoint().ok());
    new_ = Home();
    // What the doublewrite file holds after the crash, before each start.
    auto file = fs_.Open(DoublewritePath(), {});
    ASSERT_TRUE(file.ok());
    doublewrite_.resize((*file)->Size().value());
    ASSERT_TRUE((*file)->Read(0, doublewrite_).ok());
  }

  std::string DoublewritePath() const { return "/instance/" + std::string(kDoublewriteFileName); }

  std::vector<std::byte> Home() { return fixture_.ReadHome(5); }

  /// Where the doublewrite file has the packed image of a page; null: nowhere.
  std::byte* ImageInSegment(const std::vector<std::byte>& page) {
    std::vector<std::byte> packed(page.size());
    const std::byte* end = PackImage(page, FindHole(page), packed.data());
    packed.resize(static_cast<size_t>(end - packed.data()));
    const auto found =
        std::search(doublewrite_.begin(), doublewrite_.end(), packed.begin(), packed.end());
    return found == doublewrite_.end() ? nullptr : &*found;
  }

  /// A start after a crash that left `home` on disk.
  void StartWith(const std::vector<std::byte>& home) {
    fixture_.WriteHome(5, home);
    RestoreDoublewrite();
    ASSERT_TRUE(fixture_.Start().ok());
  }
  /// Writes what differs back, block by block: a start only clears the directories.
  void RestoreDoublewrite() {
    auto file = fs_.Open(DoublewritePath(), {});
    ASSERT_TRUE(file.ok());
    constexpr size_t kBlock = 4096;
    const size_t stride =
        kDirectoryBytes + size_t{SegmentPages(TestPageSizeBytes())} * TestPageSizeBytes();
    for (size_t segment = 0; segment + stride <= doublewrite_.size(); segment += stride) {
      // The batches of these tests have a page or two.
      const size_t used = kDirectoryBytes + 2 * size_t{TestPageSizeBytes()};
      for (size_t at = segment; at < segment + used; at += kBlock) {
        ASSERT_TRUE((*file)->Write(at, Bytes(&doublewrite_[at], kBlock)).ok());
      }
    }
  }

  FaultFileSystem fs_{TestSeed()};
  PoolFixture fixture_{&fs_, {.space_pages = 32}};
  std::vector<std::byte> old_;
  std::vector<std::byte> new_;
  std::vector<std::byte> doublewrite_;
};

TEST_F(Doublewrite, EveryTearPointIsRepaired) {
  const size_t unit = std::max<size_t>(512, TestPageSizeBytes() / 8);
  const uint64_t before = ReadCounter(Counter::kPagesRepaired);
  const WriteLedger ledger(&fs_);
  uint64_t torn = 0;
  for (size_t tear = unit; tear < new_.size(); tear += unit) {
    for (const bool front_new : {true, false}) {
      std::vector<std::byte> home = front_new ? old_ : new_;
      const std::vector<std::byte>& front = front_new ? new_ : old_;
      std::copy_n(front.begin(), tear, home.begin());
      if (home == old_ || home == new_) continue;
      ++torn;
      StartWith(home);
      ASSERT_EQ(fixture_.Read(5).value(), 2u) << "torn at " << tear;
      ASSERT_EQ(ReadCounter(Counter::kPagesRepaired), before + torn);
    }
  }
  EXPECT_GT(torn, 0u);
  EXPECT_EQ(ledger.Of(WriteCause::kDataStart), torn * TestPageSizeBytes());
}

TEST_F(Doublewrite, AZeroOrForeignPageIsRepairedToo) {
  {
    const LogCapture log;
    StartWith(std::vector<std::byte>(TestPageSizeBytes()));
    EXPECT_TRUE(
        log.Has("torn: 0, older than their last write: 0, never written to their "
                "place: 1. The first is page 5 of "));
  }
  EXPECT_EQ(fixture_.Read(5).value(), 2u);
  StartWith(fixture_.ReadHome(6));
  EXPECT_EQ(fixture_.Read(5).value(), 2u);
}

TEST_F(Doublewrite, AStalePageIsRepaired) {
  const uint64_t before = ReadCounter(Counter::kPagesRepaired);
  LogCapture log;
  StartWith(old_);
  EXPECT_TRUE(
      log.Has("older than their last write: 1, never written to their place: 0. The first "
              "is page 5 of /instance/space_16.rws"))
      << log.Text();
  EXPECT_EQ(ReadCounter(Counter::kPagesRepaired), before + 1);
  EXPECT_EQ(fixture_.Read(5).value(), 2u);
}

TEST_F(Doublewrite, AWholePageIsLeftAlone) {
  // Without the file of versions an older page is one that redo takes from there: a lost write.
  ASSERT_TRUE(fs_.Remove("/instance/" + std::string(kPageLsnsFileName)).ok());
  const uint64_t before = ReadCounter(Counter::kPagesRepaired);
  StartWith(old_);
  EXPECT_EQ(ReadCounter(Counter::kPagesRepaired), before);
  EXPECT_EQ(fixture_.Read(5).value(), 1u);
}

TEST_F(Doublewrite, AStaleImageIsNotUsedForADamagedPage) {
  // The image of 2 is gone; that of 1 is whole, but it was not the last one.
  std::byte* image = ImageInSegment(new_);
  ASSERT_NE(image, nullptr);
  image[50] ^= std::byte{1};
  std::vector<std::byte> torn = new_;
  torn[100] ^= std::byte{1};
  LogCapture log;
  StartWith(torn);
  EXPECT_TRUE(fixture_.Read(5).status().Is(Code::kCorrupt)) << log.Text();
}

TEST_F(Doublewrite, RepairEmptiesTheFileSoThatLaterDamageIsNotHidden) {
  StartWith(new_);
  std::vector<std::byte> damaged = new_;
  damaged[100] ^= std::byte{1};
  fixture_.WriteHome(5, damaged);
  ASSERT_TRUE(fixture_.Start().ok());
  EXPECT_TRUE(fixture_.Read(5).status().Is(Code::kCorrupt));
}

TEST_F(Doublewrite, ADamagedImageIsNotUsed) {
  std::vector<std::byte> torn = new_;
  std::copy_n(old_.begin(), 512, torn.begin());
  for (const std::vector<std::byte>* image : {&old_, &new_}) {
    std::byte* found = ImageInSegment(*image);
    ASSERT_NE(found, nullptr);
    found[50] ^= std::byte{1};
  }
  StartWith(torn);
  EXPECT_TRUE(fixture_.Read(5).status().Is(Code::kCorrupt));
}

TEST_F(Doublewrite, SettledImagesAreIgnored) {
  std::vector<std::byte> damaged = new_;
  damaged[100] ^= std::byte{1};
  // Many later batches; the last one's directory says that the batch with page 5 is settled.
  for (int round = 0; round < 6; ++round) {
    ASSERT_TRUE(fixture_.Add(7, 1).ok());
    ASSERT_TRUE(fixture_.pool().FlushAndCheckpoint().ok());
  }
  fixture_.WriteHome(5, damaged);
  ASSERT_TRUE(fixture_.Start().ok());
  EXPECT_TRUE(fixture_.Read(5).status().Is(Code::kCorrupt)) << "bit rot is not a torn write";
}

TEST_F(Doublewrite, SwitchingItOffEmptiesItAndOnAgainProtectsAgain) {
  ASSERT_TRUE(fixture_.pool().SetDoublewriteMode(DoublewriteMode::kOff).ok());
  const uint64_t batches = ReadCounter(Counter::kDoublewriteBatches);
  ASSERT_TRUE(fixture_.Add(5, 1).ok());
  ASSERT_TRUE(fixture_.pool().FlushAndCheckpoint().ok());
  EXPECT_EQ(ReadCounter(Counter::kDoublewriteBatches), batches);
  ASSERT_TRUE(fixture_.pool().SetDoublewriteMode(DoublewriteMode::kOn).ok());
  ASSERT_TRUE(fixture_.Add(5, 1).ok());
  ASSERT_TRUE(fixture_.pool().FlushAndCheckpoint().ok());
  EXPECT_EQ(ReadCounter(Counter::kDoublewriteBatches), batches + 1);
  EXPECT_TRUE(fixture_.pool().SetDoublewriteMode(DoublewriteMode::kAtomic).Is(Code::kUnsupported));
  std::vector<std::byte> torn = Home();
  std::copy_n(old_.begin() + 512, 512, torn.begin() + 512);
  std::copy_n(old_.begin(), 512, torn.begin());
  fixture_.WriteHome(5, torn);
  ASSERT_TRUE(fixture_.Start().ok());
  EXPECT_EQ(fixture_.Read(5).value(), 4u);
}

TEST_F(Doublewrite, APageFromBehindTheLogsEndIsNamed) {
  LogCapture log;
  std::vector<std::byte> newer = new_;
  SetPageLsn(newer.data(), Lsn(uint64_t{1} << 40));
  SealPage(newer);
  // At home: the statement that needs it fails.
  StartWith(newer);
  EXPECT_TRUE(fixture_.Read(5).status().Is(Code::kCorrupt));
  EXPECT_TRUE(log.Has("Page 5 of /instance/space_16.rws is damaged: it is newer than the end"))
      << log.Text();
  // In the doublewrite file: what the log lost cannot be told, so there is no start.
  std::byte* image = ImageInSegment(new_);
  ASSERT_NE(image, nullptr);
  std::byte* directory = image - kDirectoryBytes;
  ASSERT_EQ(LoadLe<uint32_t>(directory + 64 + 8), LoadLe<uint32_t>(new_.data()));
  (void)PackImage(newer, FindHole(newer), image);
  StoreLe<uint32_t>(directory + 64 + 8, LoadLe<uint32_t>(newer.data()));
  StoreLe<uint32_t>(directory, Crc32c({directory + 4, kDirectoryBytes - 4}));
  RestoreDoublewrite();
  EXPECT_TRUE(fixture_.Start().Is(Code::kCorrupt));
  EXPECT_TRUE(log.Has("the end of the log is damaged")) << log.Text();
}

TEST_F(Doublewrite, AFileOfVersionOneIsRead) {
  std::byte* image = ImageInSegment(new_);
  ASSERT_NE(image, nullptr);
  // Version 1: whole images, and zero where the hole is today.
  std::byte* directory = image - kDirectoryBytes;
  ASSERT_EQ(LoadLe<uint32_t>(directory + 8), 2u);
  ASSERT_NE(LoadLe<uint16_t>(directory + 64 + 14), 0u) << "a counter page has a hole";
  StoreLe<uint32_t>(directory + 8, 1);
  StoreLe<uint32_t>(directory + 64 + 12, 0);
  StoreLe<uint32_t>(directory, Crc32c({directory + 4, kDirectoryBytes - 4}));
  std::copy(new_.begin(), new_.end(), image);
  std::vector<std::byte> torn = new_;
  std::copy_n(old_.begin(), 512, torn.begin());
  StartWith(torn);
  EXPECT_EQ(fixture_.Read(5).value(), 2u);
}

TEST(DoublewriteBatch, PagesWithAndWithoutHolesAreRepaired) {
  FaultFileSystem fs(TestSeed());
  PoolFixture fixture(&fs, {.space_pages = 32});
  fixture.Create();
  Random random(TestSeed());
  const uint32_t size = TestPageSizeBytes();
  for (uint32_t page = 1; page <= 8; ++page) {
    // From hardly anything to a full page; the last 8 bytes are the counter.
    std::vector<std::byte> noise(1 + (size - kPageHeaderBytes - 17) * (page - 1) / 7);
    for (std::byte& byte : noise) byte = static_cast<std::byte>(random.Between(1, 255));
    MiniTxn mini_txn(&fixture.pool());
    ASSERT_TRUE(mini_txn.Start(size + 256).ok());
    Result<MutablePage> fixed = mini_txn.Fix(PoolFixture::Id(page));
    ASSERT_TRUE(fixed.ok());
    LogPageBytes(&mini_txn, *fixed, kPageHeaderBytes + 8, noise);
    fixture.Change(&mini_txn, *fixed, page);
    (void)mini_txn.Commit();
  }
  ASSERT_TRUE(fixture.pool().FlushAndCheckpoint().ok());
  std::vector<std::vector<std::byte>> whole;
  for (uint32_t page = 1; page <= 8; ++page) {
    whole.push_back(fixture.ReadHome(page));
    std::vector<std::byte> torn = whole.back();
    torn[size - 600] ^= std::byte{1};
    torn[40] ^= std::byte{1};
    fixture.WriteHome(page, torn);
  }
  const uint64_t before = ReadCounter(Counter::kPagesRepaired);
  ASSERT_TRUE(fixture.Start().ok());
  EXPECT_EQ(ReadCounter(Counter::kPagesRepaired), before + 8);
  for (uint32_t page = 1; page <= 8; ++page) {
    EXPECT_EQ(fixture.ReadHome(page), whole[page - 1]) << page;
  }
}

TEST(DoublewriteDetectOnly, TornPagesAreNamedAndNotRepaired) {
  FaultFileSystem fs(TestSeed());
  PoolFixture fixture(&fs, {.doublewrite = DoublewriteMode::kDetectOnly, .space_pages = 32});
  fixture.Create();
  const uint64_t pages = ReadCounter(Counter::kPagesRepaired);
  ASSERT_TRUE(fixture.Add(5, 1).ok());
  ASSERT_TRUE(fixture.pool().FlushAndCheckpoint().ok());
  std::vector<std::byte> torn = fixture.ReadHome(5);
  ASSERT_TRUE(fixture.Add(5, 1).ok());
  ASSERT_TRUE(fixture.pool().FlushAndCheckpoint().ok());
  const std::vector<std::byte> whole = fixture.ReadHome(5);
  std::copy_n(whole.begin(), 512, torn.begin());
  fixture.WriteHome(5, torn);
  fixture.WriteHome(9, torn);  // not in the batch: not torn, but damaged
  LogCapture log;
  ASSERT_TRUE(fixture.Start().ok());
  EXPECT_TRUE(log.Has("Page 5 of /instance/space_16.rws is torn")) << log.Text();
  EXPECT_FALSE(log.Has("Page 9 ")) << log.Text();
  EXPECT_EQ(ReadCounter(Counter::kPagesRepaired), pages);
  EXPECT_EQ(fixture.ReadHome(5), torn);
  EXPECT_TRUE(fixture.Read(5).status().Is(Code::kCorrupt));
  log.Clear();
  ASSERT_TRUE(fixture.Start().ok());
  EXPECT_FALSE(log.Has("is torn")) << "reported once, by the start after the crash";
}

TEST_F(Doublewrite, ANewerFormatIsRefused) {
  for (size_t offset = 0; offset + 16 < doublewrite_.size(); offset += 4096) {
    if (LoadLe<uint32_t>(doublewrite_.data() + offset + 4) != 0x57445752) continue;
    StoreLe<uint32_t>(doublewrite_.data() + offset + 8, 99);
    StoreLe<uint32_t>(doublewrite_.data() + offset,
                      Crc32c({doublewrite_.data() + offset + 4, kDirectoryBytes - 4}));
  }
  RestoreDoublewrite();
  EXPECT_TRUE(fixture_.Start().Is(Code::kNewerFormat));
}

}  // namespace
}  // namespace rowan
