// SPDX-License-Identifier: GPL-2.0-only
// Chunks of page LSNs in memory: which of them leave, and what is kept of those until the files
// have it.
#include "buffer/page/page_lsn_chunks.h"

#include <gtest/gtest.h>

#include <vector>

namespace rowan::page_lsn_chunks_test {
namespace {

constexpr SpaceId kSpace{16};
constexpr SpaceId kOther{17};
/// As many as stay at least.
constexpr uint32_t kChunksMin = 16;

class PageLsnChunksTest : public ::testing::Test {
 protected:
  static ChunkKey Key(uint32_t number, SpaceId space = kSpace) { return {space, number}; }
  /// As PageLsns does it: noted since the chunk came in, and in no checkpoint's copy.
  void Note(uint32_t number, uint32_t page, uint64_t lsn) {
    PageLsnChunk* chunk = chunks_.FindOrCreate(Key(number));
    chunk->lsns[page] = Lsn(lsn);
    chunk->noted_pages[page / 64] |= uint64_t{1} << (page % 64);
    chunk->changed_pages[page / 64] |= uint64_t{1} << (page % 64);
    chunk->changed = true;
  }
  /// A checkpoint's copy of the chunk is in this journal.
  void Copied(uint32_t number, uint64_t journal) {
    PageLsnChunk* chunk = chunks_.Find(Key(number));
    for (auto& word : chunk->changed_pages) word = 0;
    chunk->changed = false;
    chunk->journal = journal;
  }
  /// Every chunk there is leaves: others come, after two rounds of the clock's hand.
  void PushOut() {
    chunks_.SetBytesMax(0);
    for (uint32_t i = 0; i < 3 * kChunksMin; ++i) chunks_.FindOrCreate(Key(next_++, kOther));
  }
  Lsn Kept(uint32_t number, uint32_t page) {
    PageLsnChunk chunk;
    chunks_.AddKept(Key(number), &chunk);
    return chunk.lsns[page].load();
  }

  PageLsnChunks chunks_;
  uint32_t next_ = 0;
};

TEST_F(PageLsnChunksTest, AChunkIsMadeOnceAndFoundByItsSpaceAndNumber) {
  EXPECT_EQ(chunks_.Find(Key(3)), nullptr);
  PageLsnChunk* chunk = chunks_.FindOrCreate(Key(3));
  EXPECT_EQ(chunks_.FindOrCreate(Key(3)), chunk);
  EXPECT_EQ(chunks_.Find(Key(3)), chunk);
  EXPECT_EQ(chunks_.Find(Key(2)), nullptr);
  EXPECT_EQ(chunks_.Find(Key(3, kOther)), nullptr);
  EXPECT_EQ(chunks_.chunks(), 1u);
  EXPECT_EQ(chunks_.bytes(), sizeof(PageLsnChunk));
}

TEST_F(PageLsnChunksTest, NoMoreThanTheLimitStaysAndAFewInAnyCase) {
  for (uint32_t i = 0; i < 100; ++i) chunks_.FindOrCreate(Key(i));
  EXPECT_EQ(chunks_.chunks(), 100u) << "no limit yet";
  chunks_.SetBytesMax(40 * sizeof(PageLsnChunk));
  EXPECT_EQ(chunks_.chunks(), 40u);
  chunks_.SetBytesMax(0);
  EXPECT_EQ(chunks_.chunks(), kChunksMin);
  for (uint32_t i = 0; i < 100; ++i) {
    chunks_.FindOrCreate(Key(i, kOther));
    EXPECT_EQ(chunks_.chunks(), kChunksMin);
    EXPECT_NE(chunks_.Find(Key(i, kOther)), nullptr);
  }
  EXPECT_EQ(chunks_.bytes(), kChunksMin * sizeof(PageLsnChunk)) << "nothing was noted";
}

TEST_F(PageLsnChunksTest, WhatWasUsedSinceTheHandCameByStaysForOneRound) {
  chunks_.SetBytesMax(0);
  for (uint32_t i = 0; i < kChunksMin; ++i) chunks_.FindOrCreate(Key(i));
  for (uint32_t i = 0; i < kChunksMin; ++i) chunks_.Find(Key(i))->used = i % 2 == 0;
  for (uint32_t i = 0; i < kChunksMin / 2; ++i) chunks_.FindOrCreate(Key(i, kOther));
  for (uint32_t i = 0; i < kChunksMin; ++i) {
    EXPECT_EQ(chunks_.Find(Key(i)) != nullptr, i % 2 == 0) << i;
  }
}

TEST_F(PageLsnChunksTest, WhatTheFilesLackIsKeptOfAChunkThatLeaves) {
  Note(1, 5, 100);
  Note(1, 500, 200);
  Note(2, 7, 300);
  PushOut();
  ASSERT_EQ(chunks_.Find(Key(1)), nullptr);
  EXPECT_EQ(chunks_.kept_chunks(), 2u);
  EXPECT_GT(chunks_.kept_bytes(), 0u);
  EXPECT_EQ(Kept(1, 5), Lsn(100));
  EXPECT_EQ(Kept(1, 500), Lsn(200));
  EXPECT_EQ(Kept(2, 7), Lsn(300));
  EXPECT_EQ(Kept(1, 6), kNoLsn);
  // Once more, newer for one page: of two values the larger counts.
  Note(1, 5, 150);
  Note(1, 500, 50);
  PushOut();
  EXPECT_EQ(Kept(1, 5), Lsn(150));
  EXPECT_EQ(Kept(1, 500), Lsn(200));
  PageLsnChunk newer;
  newer.lsns[5] = Lsn(999);
  chunks_.AddKept(Key(1), &newer);
  EXPECT_EQ(newer.lsns[5].load(), Lsn(999)) << "raised, never lowered";
}

TEST_F(PageLsnChunksTest, OfAChunkThatTheBaseHasNothingIsKept) {
  Note(1, 5, 100);
  Copied(1, 4);
  Note(2, 5, 100);
  Copied(2, 5);
  chunks_.NoteFolded(4);
  PushOut();
  EXPECT_EQ(chunks_.kept_chunks(), 1u);
  EXPECT_EQ(Kept(1, 5), kNoLsn);
  EXPECT_EQ(Kept(2, 5), Lsn(100)) << "its journal is not in the base";
}

TEST_F(PageLsnChunksTest, KeptChangesGoIntoOneCheckpointAndStayUntilAFoldHasThem) {
  Note(1, 5, 100);
  PushOut();
  EXPECT_TRUE(chunks_.HasKeptChanges(Key(1)));
  chunks_.NoteFolded(9);
  EXPECT_EQ(Kept(1, 5), Lsn(100)) << "in no journal";
  std::vector<PageLsnEntry> copies;
  chunks_.TakeKeptChanges(Key(1), &copies);
  ASSERT_EQ(copies.size(), 1u);
  const PageId id{kSpace, PageNumber(kPagesPerChunk + 5)};
  EXPECT_EQ(copies[0].page, id.Packed());
  EXPECT_EQ(copies[0].lsn, Lsn(100));
  EXPECT_FALSE(chunks_.HasKeptChanges(Key(1)));
  chunks_.TakeKeptChanges(Key(1), &copies);
  EXPECT_EQ(copies.size(), 1u) << "taken already";
  chunks_.NoteFolded(10);
  EXPECT_EQ(Kept(1, 5), Lsn(100)) << "the copy is on its way";
  chunks_.NoteJournal(Key(1), 11);
  chunks_.NoteFolded(10);
  EXPECT_EQ(Kept(1, 5), Lsn(100)) << "in a newer journal";
  chunks_.NoteFolded(11);
  EXPECT_EQ(Kept(1, 5), kNoLsn);
  EXPECT_EQ(chunks_.kept_chunks(), 0u);
  EXPECT_EQ(chunks_.kept_bytes(), 0u);
}

TEST_F(PageLsnChunksTest, ACopyThatWentNowhereIsAChangeAgain) {
  Note(1, 5, 100);
  PushOut();
  std::vector<PageLsnEntry> copies;
  chunks_.TakeKeptChanges(Key(1), &copies);
  ASSERT_EQ(copies.size(), 1u);
  chunks_.MarkKeptChanged(Key(1), copies[0]);
  EXPECT_TRUE(chunks_.HasKeptChanges(Key(1)));
  // Also when nothing is kept of the chunk any more.
  const PageId other{kSpace, PageNumber(8 * kPagesPerChunk + 2)};
  chunks_.MarkKeptChanged(Key(8), {other.Packed(), Lsn(70)});
  EXPECT_EQ(Kept(8, 2), Lsn(70));
  copies.clear();
  chunks_.TakeKeptChanges(Key(8), &copies);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].page, other.Packed());
}

TEST_F(PageLsnChunksTest, AFoldLeavesNothingOfAChunkInMemoryToBeKept) {
  Note(1, 5, 100);
  Copied(1, 4);
  chunks_.NoteFolded(4);
  EXPECT_EQ(chunks_.Find(Key(1))->lsns[5].load(), Lsn(100)) << "still known";
  // What is noted afterwards is kept alone.
  Note(1, 6, 200);
  PushOut();
  EXPECT_EQ(Kept(1, 5), kNoLsn);
  EXPECT_EQ(Kept(1, 6), Lsn(200));
}

TEST_F(PageLsnChunksTest, ADroppedSpaceIsForgottenInMemoryAndAmongWhatIsKept) {
  Note(1, 5, 100);
  PushOut();
  Note(2, 5, 100);
  const uint64_t others = chunks_.chunks() - 1;
  chunks_.Forget(kSpace);
  EXPECT_EQ(chunks_.Find(Key(2)), nullptr);
  EXPECT_EQ(Kept(1, 5), kNoLsn);
  EXPECT_EQ(chunks_.kept_bytes(), 0u);
  EXPECT_EQ(chunks_.chunks(), others);
  chunks_.Forget(kSpace);
  chunks_.Forget(kOther);
  EXPECT_EQ(chunks_.bytes(), 0u);
  // The clock's hand meets what is gone, and does not count it.
  PushOut();
  EXPECT_EQ(chunks_.chunks(), kChunksMin);
}

}  // namespace
}  // namespace rowan::page_lsn_chunks_test
