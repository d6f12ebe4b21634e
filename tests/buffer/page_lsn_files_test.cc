// SPDX-License-Identifier: GPL-2.0-only
// The journal and the base of page LSNs by themselves: random contents come back, and with any one
// byte changed nothing is believed that was not written.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "buffer/page/page_lsn_base.h"
#include "buffer/page/page_lsn_journal.h"
#include "tests/support/changed_bytes.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

constexpr uint32_t kInstance = 7;
constexpr char kJournal[] = "/instance/rowan.page_lsns.1";
constexpr char kBase[] = "/instance/rowan.page_lsns";

class PageLsnJournalTest : public testing::Test {
 protected:
  /// The pages of each block have numbers of their own.
  void WriteBlocks(uint32_t blocks) {
    Result<std::unique_ptr<PageLsnJournal>> journal =
        PageLsnJournal::Create(&files_, kJournal, kInstance);
    ASSERT_TRUE(journal.ok());
    for (uint32_t block = 0; block < blocks; ++block) {
      std::vector<PageLsnEntry> entries(random_.Between(1, 90));
      for (PageLsnEntry& entry : entries) {
        entry = {PageId{SpaceId(block), PageNumber(static_cast<uint32_t>(random_.Next()))}.Packed(),
                 Lsn(random_.Next() >> 2)};
        written_[entry.page] = entry.lsn;
      }
      ASSERT_TRUE((*journal)->Append(entries).ok());
    }
    used_bytes_ = (*journal)->bytes();
  }
  /// What is read, and which blocks it is of.
  std::map<uint64_t, Lsn> Read(uint32_t instance = kInstance) {
    const LogCapture quiet;
    std::vector<PageLsnEntry> entries;
    EXPECT_TRUE(PageLsnJournal::Read(&files_, kJournal, instance, &entries).ok());
    std::map<uint64_t, Lsn> read;
    for (const PageLsnEntry& entry : entries) read[entry.page] = entry.lsn;
    return read;
  }

  FaultFileSystem files_{TestSeed()};
  Random random_{TestSeed()};
  std::map<uint64_t, Lsn> written_;
  uint64_t used_bytes_ = 0;  ///< the file has room for more
};

TEST_F(PageLsnJournalTest, BlocksComeBackAndAreDurable) {
  ASSERT_TRUE(files_.CreateFolder("/instance").ok());
  ASSERT_NO_FATAL_FAILURE(WriteBlocks(20));
  ASSERT_TRUE(files_.SyncDirectory("/instance").ok() && files_.SyncDirectory("/").ok());
  files_.Crash({.keep = CrashPlan::Keep::kNothing}, TestSeed());
  EXPECT_EQ(Read(), written_);
  EXPECT_TRUE(Read(kInstance + 1).empty()) << "of another instance";
}

TEST_F(PageLsnJournalTest, OneByteChangedCostsItsBlockAtMost) {
  ASSERT_NO_FATAL_FAILURE(WriteBlocks(3));
  ASSERT_TRUE(files_.Open(kJournal, {}).value()->Truncate(used_bytes_).ok());
  std::vector<std::byte> bytes = BytesOfFile(&files_, kJournal);
  size_t lost = 0;
  ForEachChangedByte(bytes, &random_, [&](size_t at) {
    ASSERT_TRUE(WriteWholeFile(&files_, kJournal, bytes).ok());
    const std::map<uint64_t, Lsn> read = Read();
    std::map<SpaceId, int> blocks_hit;
    for (const auto& [page, lsn] : read) {
      const auto entry = written_.find(page);
      ASSERT_TRUE(entry != written_.end() && entry->second == lsn) << at;
    }
    for (const auto& [page, lsn] : written_) {
      if (!read.contains(page)) ++blocks_hit[PageId::Unpack(page).space];
    }
    ASSERT_LE(blocks_hit.size(), 1u) << at;
    lost += blocks_hit.size();
  });
  EXPECT_GT(lost, written_.size() * 12) << "bytes of entries are all checked";
}

class PageLsnBaseTest : public testing::Test {
 protected:
  void WriteBase() {
    PageLsnBaseWriter writer(files_.Open(kBase, {.create = true}).value(), kInstance);
    for (uint32_t space = 16; space < 20; ++space) {
      for (uint32_t number = space % 3; number < 4; number += 2) {
        ChunkLsns& lsns = written_[{SpaceId(space), number}];
        for (Lsn& lsn : lsns) lsn = Lsn(random_.OneIn(3) ? 0 : random_.Next() >> 2);
        ASSERT_TRUE(writer.Add({SpaceId(space), number}, lsns).ok());
      }
    }
    ASSERT_TRUE(writer.Finish().ok());
  }
  std::unique_ptr<PageLsnBase> Open() {
    Result<std::unique_ptr<PageLsnBase>> base =
        PageLsnBase::Open(files_.Open(kBase, {.read_only = true}).value(), kInstance);
    return base.ok() ? std::move(base).value() : nullptr;
  }

  FaultFileSystem files_{TestSeed()};
  Random random_{TestSeed()};
  std::map<ChunkKey, ChunkLsns> written_;
};

TEST_F(PageLsnBaseTest, ChunksComeBackInOrder) {
  ASSERT_NO_FATAL_FAILURE(WriteBase());
  const std::unique_ptr<PageLsnBase> base = Open();
  ASSERT_NE(base, nullptr);
  EXPECT_FALSE(base->outdated());
  std::vector<ChunkKey> keys;
  for (const auto& [key, lsns] : written_) {
    keys.push_back(key);
    ChunkLsns read;
    EXPECT_EQ(base->Read(key, &read), PageLsnBase::Found::kGood);
    EXPECT_EQ(read, lsns);
  }
  EXPECT_EQ(base->Keys(), keys);
  ChunkLsns read;
  EXPECT_EQ(base->Read({SpaceId(99), 0}, &read), PageLsnBase::Found::kAbsent);
}

TEST_F(PageLsnBaseTest, OneByteChangedIsNeverBelieved) {
  ASSERT_NO_FATAL_FAILURE(WriteBase());
  std::vector<std::byte> bytes = BytesOfFile(&files_, kBase);
  const LogCapture quiet;
  size_t damaged = 0;
  for (size_t at = 0; at < bytes.size(); at += random_.Between(1, 37)) {
    ForEachChangedByte(MutableBytes(bytes).subspan(at, 1), &random_, [&](size_t) {
      ASSERT_TRUE(WriteWholeFile(&files_, kBase, bytes).ok());
      const std::unique_ptr<PageLsnBase> base = Open();
      if (base == nullptr) return;  // taken for one of a newer build
      for (const auto& [key, lsns] : written_) {
        ChunkLsns read;
        const PageLsnBase::Found found = base->Read(key, &read);
        ASSERT_TRUE(found != PageLsnBase::Found::kGood || read == lsns) << at;
        if (found == PageLsnBase::Found::kDamaged) {
          ASSERT_EQ(read, ChunkLsns{}) << at;
          ++damaged;
        }
      }
    });
  }
  EXPECT_GT(damaged, 100u);
}

}  // namespace
}  // namespace rowan
