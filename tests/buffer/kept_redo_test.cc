// SPDX-License-Identifier: GPL-2.0-only
// Log records and page images that wait in files: found again, applied once, damage noticed.
#include "buffer/kept_redo.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "buffer/buffer_redo.h"
#include "buffer/page/page_header.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_settings.h"
#include "tests/support/write_ledger.h"
#include "wal/redo.h"

namespace rowan::kept_redo_test {
namespace {

constexpr uint32_t kPageBytes = 4096;
constexpr PageId kPage{SpaceId(20), PageNumber(7)};

/// Records as RedoPortion has them.
class Records {
 public:
  /// Writes `byte` at `offset`.
  void Add(Lsn group_end, uint16_t offset, std::byte byte) {
    const size_t bytes = sizeof(RedoPortion::Record) + 3;
    auto memory = std::make_unique<uint64_t[]>(bytes / sizeof(uint64_t) + 1);
    auto* record = new (memory.get()) RedoPortion::Record;
    record->next = nullptr;
    record->group_end = group_end;
    record->body_bytes = 3;
    record->type = RecordType::kPageBytes;
    record->version = 0;
    auto* body = reinterpret_cast<std::byte*>(record + 1);
    StoreLe<uint16_t>(body, offset);
    body[2] = byte;
    if (last_ != nullptr) last_->next = record;
    last_ = record;
    memory_.push_back(std::move(memory));
  }
  [[nodiscard]] const RedoPortion::Record* first() const {
    return reinterpret_cast<const RedoPortion::Record*>(memory_.front().get());
  }

 private:
  std::vector<std::unique_ptr<uint64_t[]>> memory_;
  RedoPortion::Record* last_ = nullptr;
};

class KeptRedoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    RegisterBufferRedo();
    ASSERT_TRUE(fs_.CreateFolder("/i").ok());
  }
  /// A page at LSN 100, a record of a group that ends there, and two groups behind it.
  void Keep() {
    KeptRedo kept(&fs_, "/i", kPageBytes);
    Records records;
    records.Add(Lsn(100), 200, std::byte{1});
    records.Add(Lsn(150), 201, std::byte{2});
    records.Add(Lsn(150), 202, std::byte{3});
    records.Add(Lsn(190), 203, std::byte{4});
    ASSERT_TRUE(kept.AddRecords(kPage, records.first()).ok());
    ASSERT_TRUE(kept.Seal().ok());
    path_ = kept.PathOf(kPage.space);
  }
  static std::vector<std::byte> PageAt(Lsn lsn) {
    std::vector<std::byte> page(kPageBytes);
    SetPageLsn(page.data(), lsn);
    return page;
  }
  std::vector<std::byte> ReadFile() {
    Result<std::unique_ptr<File>> file = fs_.Open(path_, {});
    std::vector<std::byte> bytes((*file)->Size().value());
    EXPECT_TRUE((*file)->Read(0, bytes).ok());
    return bytes;
  }

  LogCapture log_;
  FaultFileSystem fs_{TestSeed()};
  std::string path_;
};

TEST_F(KeptRedoTest, WhatAPageLacksIsAppliedOnce) {
  const WriteLedger ledger(&fs_);
  Keep();
  EXPECT_GT(ledger.Of(WriteCause::kKeptRedo), 0u);
  ledger.ExpectWhole();
  KeptRedo kept(&fs_, "/i", kPageBytes);
  ASSERT_TRUE(kept.Load().ok());
  EXPECT_TRUE(kept.Has(kPage));
  std::vector<std::byte> page = PageAt(Lsn(100));
  ASSERT_TRUE(kept.Apply(kPage, page, true).ok());
  EXPECT_EQ(PageLsnOf(page.data()), Lsn(190));
  EXPECT_EQ(page[200], std::byte{0});
  EXPECT_EQ(page[201], std::byte{2});
  EXPECT_EQ(page[202], std::byte{3});
  EXPECT_EQ(page[203], std::byte{4});
  page[202] = std::byte{9};
  SetPageLsn(page.data(), Lsn(195));
  ASSERT_TRUE(kept.Apply(kPage, page, true).ok());
  EXPECT_EQ(page[202], std::byte{9});
  EXPECT_TRUE(kept.Apply(kPage, page, false).Is(Code::kCorrupt));
}

TEST_F(KeptRedoTest, MoreIsAddedToWhatAnEarlierRunKept) {
  Keep();
  {
    KeptRedo kept(&fs_, "/i", kPageBytes);
    ASSERT_TRUE(kept.Load().ok());
    Records more;
    more.Add(Lsn(250), 204, std::byte{5});
    ASSERT_TRUE(kept.AddRecords(kPage, more.first()).ok());
    ASSERT_TRUE(kept.Seal().ok());
  }
  KeptRedo kept(&fs_, "/i", kPageBytes);
  ASSERT_TRUE(kept.Load().ok());
  std::vector<std::byte> page = PageAt(Lsn(100));
  ASSERT_TRUE(kept.Apply(kPage, page, true).ok());
  EXPECT_EQ(page[203], std::byte{4});
  EXPECT_EQ(page[204], std::byte{5});
  ASSERT_TRUE(kept.Remove(kPage.space).ok());
  EXPECT_TRUE(kept.empty());
  EXPECT_FALSE(fs_.Exists(path_).value());
}

TEST_F(KeptRedoTest, AnImageStandsInForAPageThatIsTorn) {
  KeptRedo kept(&fs_, "/i", kPageBytes);
  std::vector<std::byte> image = PageAt(Lsn(100));
  image[300] = std::byte{7};
  ASSERT_TRUE(kept.AddImage(kPage, image).ok());
  Records records;
  records.Add(Lsn(150), 201, std::byte{2});
  ASSERT_TRUE(kept.AddRecords(kPage, records.first()).ok());
  ASSERT_TRUE(kept.Seal().ok());
  std::vector<std::byte> torn(kPageBytes, std::byte{0x5a});
  ASSERT_TRUE(kept.Apply(kPage, torn, false).ok());
  EXPECT_EQ(torn[300], std::byte{7});
  EXPECT_EQ(torn[201], std::byte{2});
  std::vector<std::byte> whole = PageAt(Lsn(120));
  ASSERT_TRUE(kept.Apply(kPage, whole, true).ok());
  EXPECT_EQ(whole[300], std::byte{0}) << "a newer page was replaced";
  EXPECT_EQ(whole[201], std::byte{2});
}

TEST_F(KeptRedoTest, WhatIsNotSealedIsNotFound) {
  {
    KeptRedo kept(&fs_, "/i", kPageBytes);
    Records records;
    records.Add(Lsn(150), 201, std::byte{2});
    ASSERT_TRUE(kept.AddRecords(kPage, records.first()).ok());
  }
  KeptRedo kept(&fs_, "/i", kPageBytes);
  ASSERT_TRUE(kept.Load().ok());
  EXPECT_TRUE(kept.empty());
  kept.RemoveDrafts();
  EXPECT_TRUE(fs_.List("/i").value().empty());
}

TEST_F(KeptRedoTest, EveryByteIsChecked) {
  Keep();
  const std::vector<std::byte> good = ReadFile();
  for (size_t at = 0; at < good.size(); ++at) {
    ASSERT_TRUE(fs_.FlipBit(path_, at, static_cast<unsigned>(at % 8)));
    KeptRedo kept(&fs_, "/i", kPageBytes);
    const Status loaded = kept.Load();
    std::vector<std::byte> page = PageAt(Lsn(100));
    const bool noticed =
        !loaded.ok() || !kept.broken().empty() || kept.Apply(kPage, page, true).Is(Code::kCorrupt);
    EXPECT_TRUE(noticed) << "byte " << at;
    ASSERT_TRUE(fs_.FlipBit(path_, at, static_cast<unsigned>(at % 8)));
  }
  for (size_t size = 0; size < good.size(); ++size) {
    {
      Result<std::unique_ptr<File>> file = fs_.Open(path_, {});
      ASSERT_TRUE((*file)->Truncate(size).ok());
    }
    KeptRedo kept(&fs_, "/i", kPageBytes);
    ASSERT_TRUE(kept.Load().ok());
    EXPECT_EQ(kept.broken().size(), 1U) << size;
    Result<std::unique_ptr<File>> file = fs_.Open(path_, {});
    ASSERT_TRUE((*file)->Write(0, good).ok());
  }
}

}  // namespace
}  // namespace rowan::kept_redo_test
