// SPDX-License-Identifier: GPL-2.0-only
// The records of whole pages and of runs of bytes: what they make of a page, how long they may be,
// and which bodies are refused.
#include "buffer/buffer_redo.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "buffer/page/page_header.h"
#include "tests/buffer/pool_fixture.h"
#include "tests/support/fault_file_system.h"
#include "wal/redo.h"

namespace rowan::buffer_redo_test {
namespace {

const PageId kId{SpaceId(16), PageNumber(7)};

class BufferRedoTest : public ::testing::Test {
 protected:
  BufferRedoTest() : page_(TestPageSizeBytes(), std::byte{0xA5}) { RegisterBufferRedo(); }
  Status Redo(RecordType type, const std::string& body) {
    return FindRedo(type)->apply(kId, page_, AsBytes(body));
  }
  /// A run of an image.
  static std::string Run(uint64_t offset, uint64_t length, const std::string& bytes) {
    return Varint(offset) + Varint(length) + bytes;
  }
  static std::string Varint(uint64_t number) {
    std::byte bytes[10];
    return std::string(AsText({bytes, static_cast<size_t>(PutVarint(bytes, number) - bytes)}));
  }
  /// A run of overwritten bytes.
  static std::string At(uint16_t offset, const std::string& bytes) {
    return {std::string{static_cast<char>(offset & 0xFF), static_cast<char>(offset >> 8)} + bytes};
  }

  std::vector<std::byte> page_;
};

TEST_F(BufferRedoTest, OnlyAnImageDefinesThePage) {
  EXPECT_TRUE(FindRedo(RecordType::kPageImage)->initialises_page);
  EXPECT_FALSE(FindRedo(RecordType::kPageBytes)->initialises_page);
}

TEST_F(BufferRedoTest, AnImageIsZeroOutsideItsRuns) {
  const auto end = static_cast<uint32_t>(page_.size());
  ASSERT_TRUE(
      Redo(RecordType::kPageImage, Run(0, 3, "abc") + Run(100, 1, "d") + Run(end - 2, 2, "yz"))
          .ok());
  std::string expected(end, '\0');
  expected.replace(0, 3, "abc");
  expected.replace(100, 1, "d");
  expected.replace(end - 2, 2, "yz");
  EXPECT_EQ(AsText(page_), expected);
  ASSERT_TRUE(Redo(RecordType::kPageImage, "").ok());
  EXPECT_EQ(AsText(page_), std::string(end, '\0'));
}

TEST_F(BufferRedoTest, BytesOverwriteTheirPlaceAndNothingElse) {
  const std::vector<std::byte> before = page_;
  const auto end = static_cast<uint16_t>(page_.size() - 3);
  ASSERT_TRUE(Redo(RecordType::kPageBytes, At(16, "abc")).ok());
  ASSERT_TRUE(Redo(RecordType::kPageBytes, At(end, "xyz")).ok());
  ASSERT_TRUE(Redo(RecordType::kPageBytes, At(100, "")).ok());
  std::vector<std::byte> expected = before;
  std::memcpy(expected.data() + 16, "abc", 3);
  std::memcpy(expected.data() + end, "xyz", 3);
  EXPECT_EQ(page_, expected);
}

TEST_F(BufferRedoTest, WhatLeavesThePageOrIsCutOffIsRefused) {
  const auto end = static_cast<uint32_t>(page_.size());
  const std::vector<std::pair<RecordType, std::string>> cases = {
      {RecordType::kPageImage, Run(end + 1, 0, "")},
      {RecordType::kPageImage, Run(end - 1, 2, "ab")},
      {RecordType::kPageImage, Run(1, UINT64_MAX, "ab")},
      {RecordType::kPageImage, Run(UINT64_MAX, 1, "a")},
      {RecordType::kPageImage, Run(0, 4, "abc")},
      {RecordType::kPageImage, Varint(7)},
      {RecordType::kPageImage, "\xff"},
      {RecordType::kPageBytes, ""},
      {RecordType::kPageBytes, "a"},
      // Checksum, type, version, flags and LSN are not bytes to patch.
      {RecordType::kPageBytes, At(15, "a")},
      {RecordType::kPageBytes, At(0, "")},
      {RecordType::kPageBytes, At(static_cast<uint16_t>(end - 1), "ab")},
      {RecordType::kPageBytes, At(16, std::string(end, 'a'))}};
  for (size_t i = 0; i < cases.size(); ++i) {
    const Status status = Redo(cases[i].first, cases[i].second);
    EXPECT_TRUE(status.Is(Code::kCorrupt)) << i;
    EXPECT_EQ(status.detail(), kId.page.value()) << i;
  }
}

/// Pages of any content, logged as images.
TEST_F(BufferRedoTest, AnImageGivesThePageAgainAndIsNoLongerThanItsBound) {
  FaultFileSystem files(TestSeed());
  PoolFixture fixture(&files, {.log_capacity = uint64_t{8} << 20, .space_pages = 8});
  fixture.Create();
  const uint32_t size = fixture.page_size();
  const uint32_t most = PageImageLogBytesMax(size);
  Random random(TestSeed());
  const PageId id = PoolFixture::Id(3);
  std::vector<std::byte> expected;
  for (int round = 0; round < 60; ++round) {
    const Lsn before = fixture.log().tail();
    MiniTxn mini_txn(&fixture.pool());
    ASSERT_TRUE(mini_txn.Start(most).ok());
    Result<MutablePage> page = mini_txn.FixNew(id);
    ASSERT_TRUE(page.ok());
    // Every so many bytes one that is not zero: gaps just long and just too short to be left out,
    // and a page without any.
    const uint64_t step = 1 + static_cast<uint64_t>(round) % 20;
    for (uint64_t at = random.Below(step); at < size; at += step) page->bytes[at] = std::byte{7};
    InitPageHeader({page->bytes, kPageHeaderBytes}, id, PageType::kTreeNode, 1, IndexId(1));
    LogPageImage(&mini_txn, *page);
    expected.assign(page->bytes, page->bytes + size);
    const Lsn end = mini_txn.Commit();
    SetPageLsn(expected.data(), end);
    ASSERT_LE(end - before, most + kGroupHeaderBytes) << "step " << step;
    // As recovery finds it.
    ASSERT_TRUE(fixture.log().WaitDurable(end).ok());
    if (round % 10 != 0) continue;
    ASSERT_TRUE(fixture.Start().ok());
    Result<PageGuard> redone = fixture.pool().Fix(id, LatchMode::kShared);
    ASSERT_TRUE(redone.ok());
    EXPECT_TRUE(EqualBytes(Bytes(redone->page(), size).subspan(8), Bytes(expected).subspan(8)));
  }
}

}  // namespace
}  // namespace rowan::buffer_redo_test
