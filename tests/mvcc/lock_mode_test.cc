// SPDX-License-Identifier: GPL-2.0-only
// The lock matrix, spelled out, and the queue summary against it.
#include "mvcc/lock/lock_mode.h"
#include "mvcc/lock/queue_summary.h"
#include "mvcc/txn/txn.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

constexpr LockMode kS = LockMode::kShared;
constexpr LockMode kX = LockMode::kExclusive;
constexpr LockMode kModes[] = {kS, kX};
constexpr LockKind kKinds[] = {LockKind::kRecord, LockKind::kGap, LockKind::kNextKey,
                               LockKind::kInsertIntention, LockKind::kUniqueValue};

TEST(LockModeTest, RecordPartsConflictUnlessBothAreShared) {
  for (const LockKind held : {LockKind::kRecord, LockKind::kNextKey}) {
    for (const LockKind wanted : {LockKind::kRecord, LockKind::kNextKey}) {
      EXPECT_FALSE(LocksConflict(kS, held, kS, wanted));
      EXPECT_TRUE(LocksConflict(kS, held, kX, wanted));
      EXPECT_TRUE(LocksConflict(kX, held, kS, wanted));
      EXPECT_TRUE(LocksConflict(kX, held, kX, wanted));
    }
  }
}

TEST(LockModeTest, GapsConflictWithInsertIntentionsOnly) {
  for (const LockMode held : kModes) {
    for (const LockMode wanted : kModes) {
      EXPECT_FALSE(LocksConflict(held, LockKind::kGap, wanted, LockKind::kGap));
      EXPECT_FALSE(LocksConflict(held, LockKind::kGap, wanted, LockKind::kNextKey));
      EXPECT_FALSE(LocksConflict(held, LockKind::kGap, wanted, LockKind::kRecord));
      EXPECT_FALSE(LocksConflict(held, LockKind::kNextKey, wanted, LockKind::kGap));
      EXPECT_FALSE(LocksConflict(held, LockKind::kRecord, wanted, LockKind::kGap));
      EXPECT_TRUE(LocksConflict(held, LockKind::kGap, wanted, LockKind::kInsertIntention));
      EXPECT_TRUE(LocksConflict(held, LockKind::kNextKey, wanted, LockKind::kInsertIntention));
      EXPECT_FALSE(LocksConflict(held, LockKind::kRecord, wanted, LockKind::kInsertIntention));
    }
  }
}

TEST(LockModeTest, NobodyWaitsForAnInsertIntention) {
  for (const LockMode held : kModes) {
    for (const LockMode wanted : kModes) {
      for (const LockKind kind : kKinds) {
        EXPECT_FALSE(LocksConflict(held, LockKind::kInsertIntention, wanted, kind));
      }
    }
  }
}

TEST(LockModeTest, UniqueValuesMeetOnlyTheirLike) {
  for (const LockKind kind : kKinds) {
    const bool same = kind == LockKind::kUniqueValue;
    EXPECT_EQ(LocksConflict(kX, LockKind::kUniqueValue, kX, kind), same);
    EXPECT_EQ(LocksConflict(kX, kind, kS, LockKind::kUniqueValue), same);
    EXPECT_FALSE(LocksConflict(kS, LockKind::kUniqueValue, kS, kind));
  }
}

TEST(LockModeTest, AStrongerLockCoversAWeakerOne) {
  EXPECT_TRUE(LockCovers(kX, LockKind::kRecord, kS, LockKind::kRecord));
  EXPECT_FALSE(LockCovers(kS, LockKind::kRecord, kX, LockKind::kRecord));
  EXPECT_TRUE(LockCovers(kS, LockKind::kNextKey, kS, LockKind::kRecord));
  EXPECT_TRUE(LockCovers(kS, LockKind::kNextKey, kX, LockKind::kGap));
  EXPECT_FALSE(LockCovers(kX, LockKind::kRecord, kS, LockKind::kNextKey));
  EXPECT_FALSE(LockCovers(kX, LockKind::kGap, kS, LockKind::kNextKey));
  EXPECT_FALSE(LockCovers(kX, LockKind::kGap, kS, LockKind::kRecord));
  EXPECT_FALSE(LockCovers(kX, LockKind::kNextKey, kX, LockKind::kInsertIntention));
}

TEST(LockModeTest, WhatIsCoveredNeverConflictsWhereTheCoverDoesNot) {
  // A third party that can live with the cover can live with everything it covers.
  for (const LockMode cover_mode : kModes) {
    for (const LockKind cover : kKinds) {
      for (const LockMode mode : kModes) {
        for (const LockKind kind : kKinds) {
          if (!LockCovers(cover_mode, cover, mode, kind)) continue;
          for (const LockMode other_mode : kModes) {
            for (const LockKind other : kKinds) {
              if (!LocksConflict(other_mode, other, cover_mode, cover)) {
                EXPECT_FALSE(LocksConflict(other_mode, other, mode, kind));
              }
            }
          }
        }
      }
    }
  }
}

TEST(LockModeTest, SummaryAnswersLikeTheMatrix) {
  Random random(TestSeed());
  std::vector<Txn> owners(4);
  struct Item {
    const Txn* owner;
    LockMode mode;
    LockKind kind;
  };
  for (int round = 0; round < 2000; ++round) {
    QueueSummary summary;
    std::vector<Item> items(random.Below(5));
    for (Item& item : items) {
      item = {&owners[random.Below(4)], kModes[random.Below(2)], kKinds[random.Below(5)]};
      summary.Add(item.owner, item.mode, item.kind);
    }
    for (const Txn& txn : owners) {
      for (const LockMode mode : kModes) {
        for (const LockKind kind : kKinds) {
          bool expected = false;
          for (const Item& item : items) {
            expected |= item.owner != &txn && LocksConflict(item.mode, item.kind, mode, kind);
          }
          ASSERT_EQ(summary.Blocks(&txn, mode, kind), expected);
        }
      }
    }
  }
}

}  // namespace
}  // namespace rowan
