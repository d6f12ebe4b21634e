// SPDX-License-Identifier: GPL-2.0-only
// The lock matrix as lock_mode.txt spells it out, and the queue summary against it.
#include "mvcc/lock/lock_mode.h"
#include "mvcc/lock/queue_summary.h"
#include "mvcc/txn/txn.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/random.h"
#include "tests/support/test_settings.h"

namespace rowan::lock_mode_test {
namespace {

constexpr LockMode kS = LockMode::kShared;
constexpr LockMode kX = LockMode::kExclusive;
constexpr LockMode kModes[] = {kS, kX};
constexpr LockKind kKinds[] = {LockKind::kRecord, LockKind::kGap, LockKind::kNextKey,
                               LockKind::kInsertIntention, LockKind::kUniqueValue};

constexpr const char* kNames[] = {"record", "gap", "next-key", "insert intention", "unique value"};

using Relation = bool (*)(LockMode held_mode, LockKind held, LockMode wanted_mode, LockKind wanted);

/// A row for each lock that is held, a column for each that is wanted.
std::string Table(Relation relation) {
  std::string text;
  for (size_t held = 0; held < std::size(kKinds); ++held) {
    for (const LockMode held_mode : kModes) {
      text += Format("{:16} {} |", kNames[held], held_mode == kS ? 'S' : 'X');
      for (const LockKind wanted : kKinds) {
        for (const LockMode mode : kModes) {
          text += relation(held_mode, kKinds[held], mode, wanted) ? " x" : " .";
        }
        text += " |";
      }
      text += '\n';
    }
  }
  return text;
}

TEST(LockModeTest, TheTablesOfConflictsAndCoversAreTheseOnes) {
  std::ifstream stream(ROWAN_TEST_DATA "/lock_mode.txt");
  std::string tables;
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty() && line[0] != '#') tables += line + "\n";
  }
  EXPECT_EQ(tables, Table(&LocksConflict) + Table(&LockCovers));
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
}  // namespace rowan::lock_mode_test
