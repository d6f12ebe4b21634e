// SPDX-License-Identifier: GPL-2.0-only
// Page LSNs beyond the memory for them: chunks leave and come back, and nothing is forgotten.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "base/random.h"
#include "buffer/page/page_lsns.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/test_settings.h"

namespace rowan::page_lsn_memory_test {
namespace {

constexpr SpaceId kSpace{16};
constexpr SpaceId kOther{17};

PageId At(SpaceId space, uint32_t page) { return {space, PageNumber(page)}; }

bool Never() { return false; }

/// The LSNs that a model has noted, against what is expected of pages, while chunks come and go.
class PageLsnMemory : public ::testing::Test {
 protected:
  static constexpr uint32_t kChunks = 60;
  void SetUp() override {
    ASSERT_TRUE(files_.Create(kSpace, 4).ok());
    ASSERT_TRUE(files_.Create(kOther, 4).ok());
    ASSERT_TRUE(Reopen(false).ok());
  }
  Status Reopen(bool expected = true) {
    versions_ = std::make_unique<PageLsns>(&fs_, &files_);
    const Status status = versions_->Open({.instance = 7, .expected = expected});
    Limit();
    return status;
  }
  void Checkpoint() { ASSERT_TRUE(versions_->Write(versions_->CopyChanged()).ok()); }
  void Fold() { ASSERT_TRUE(versions_->Fold(Never).ok()); }
  uint64_t Expected(PageId id) const { return versions_->Expected(id).value(); }
  /// The least there is: 16 chunks.
  void Limit() { versions_->SetMemoryMax({.chunk_bytes = 0}); }
  PageId RandomPage() {
    const SpaceId space = random_.Below(2) == 0 ? kSpace : kOther;
    return At(space, static_cast<uint32_t>(random_.Below(kChunks) * kPagesPerChunk +
                                           random_.Below(4) * 150));
  }
  void NoteSome() {
    for (uint64_t i = random_.Below(40); i > 0; --i) {
      const PageId id = RandomPage();
      versions_->Note(id, Lsn(++lsn_));
      model_[id.Packed()] = lsn_;
    }
  }
  void ExpectAll() {
    for (const auto& [page, lsn] : model_) {
      ASSERT_EQ(Expected(PageId::Unpack(page)), lsn) << page;
    }
  }
  void ExpectBounded() {
    EXPECT_LE(versions_->MemoryBytes(),
              16 * sizeof(PageLsnChunk) + model_.size() * (sizeof(PageLsnEntry) + 200));
  }

  FaultFileSystem fs_{TestSeed()};
  SpaceFiles files_{&fs_, "/instance", TestPageSizeBytes()};
  std::unique_ptr<PageLsns> versions_;
  Random random_{TestSeed()};
  uint64_t lsn_ = 1000;
  std::map<uint64_t, uint64_t> model_;
};

TEST_F(PageLsnMemory, NothingIsForgottenByLeavingMemory) {
  for (int round = 0; round < 300; ++round) {
    NoteSome();
    const PageLsns::Copies underway = versions_->CopyChanged();
    NoteSome();
    ExpectBounded();
    const bool full = random_.Below(5) == 0;
    if (full) {
      fs_.Inject({.call = FileCall::kWrite, .path_part = "page_lsns.", .code = Code::kNoSpace});
    }
    ASSERT_TRUE(versions_->Write(underway).ok());
    if (full) fs_.ClearFaults();
    if (random_.Below(4) == 0) Fold();
    if (random_.Below(3) == 0) ExpectAll();
    if (random_.Below(10) != 0) continue;
    // A start knows what the last checkpoints wrote.
    Checkpoint();
    ASSERT_TRUE(Reopen().ok());
    ExpectAll();
  }
  ExpectAll();
}

TEST_F(PageLsnMemory, AFoldBesideReadersLosesNothing) {
  std::atomic<bool> ended{false};
  for (int i = 0; i < 100; ++i) NoteSome();
  Checkpoint();
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!ended.load()) {
        for (const auto& [page, lsn] : model_) {
          ASSERT_EQ(Expected(PageId::Unpack(page)), lsn) << page;
        }
      }
    });
  }
  for (int round = 0; round < 30; ++round) {
    for (const auto& [page, lsn] : model_) versions_->Note(PageId::Unpack(page), Lsn(lsn));
    Checkpoint();
    Fold();
  }
  ended.store(true);
  for (std::thread& reader : readers) reader.join();
}

TEST_F(PageLsnMemory, WhatWaitsForAFoldIsFoldedBeforeItTakesMuch) {
  constexpr uint64_t kBytesMax = uint64_t{1} << 16;
  versions_->SetMemoryMax({.chunk_bytes = 0, .journal_bytes = kBytesMax});
  for (uint32_t chunk = 0; !versions_->WantsFold(); ++chunk) {
    ASSERT_LE(versions_->MemoryBytes(), 16 * sizeof(PageLsnChunk) + kBytesMax);
    versions_->Note(At(kSpace, chunk * kPagesPerChunk), Lsn(++lsn_));
    Checkpoint();
  }
  Fold();
  EXPECT_LE(versions_->MemoryBytes(), 16 * sizeof(PageLsnChunk));
}

TEST_F(PageLsnMemory, JournalsAreFoldedBeforeAStartNeedsMuchMemoryForThem) {
  // So many chunks that a fold for the pages written costs more than a hundredth of them.
  constexpr uint32_t kPages = 10'000;
  constexpr uint64_t kBytesMax = uint64_t{2} << 20;
  versions_->SetMemoryMax({.chunk_bytes = 0, .journal_bytes = kBytesMax});
  uint64_t entries = 0;
  for (; !versions_->WantsFold(); entries += kPages) {
    ASSERT_LE(entries * sizeof(PageLsnEntry), kBytesMax);
    for (uint32_t i = 0; i < kPages; ++i) {
      versions_->Note(At(kSpace, i * kPagesPerChunk), Lsn(++lsn_));
    }
    Checkpoint();
  }
  EXPECT_GE(entries * sizeof(PageLsnEntry), kBytesMax);
  Fold();
  EXPECT_FALSE(versions_->WantsFold());
  EXPECT_EQ(Expected(At(kSpace, 0)), lsn_ - kPages + 1);
}

}  // namespace
}  // namespace rowan::page_lsn_memory_test
