// SPDX-License-Identifier: GPL-2.0-only
// Locks without entries, seen through the lock table: ranges of scans and folded record locks.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/mvcc/lock_fixture.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

class RangeLockTest : public LockFixture {
 protected:
  static constexpr IndexId kIndex{7};

  static LockTarget At(const std::string& key) { return MakeLockKey(kIndex, AsBytes(key)); }
  static std::string Behind(const std::string& key) { return key + std::string(1, '\0'); }

  Status Gap(size_t txn, const std::string& low, const std::string& high, LockMode mode = kX) {
    return table_.LockGap(&txns_[txn], kIndex, mode, {.low = AsBytes(low), .high = AsBytes(high)});
  }
  /// A scan that covered everything from `from` on finds the record `key`.
  Status Scan(size_t txn, const std::string& from, const std::string& key, LockMode mode = kX,
              WaitPolicy policy = WaitPolicy::kWait) {
    const std::string behind = Behind(key);
    return table_.LockScanned(&txns_[txn], At(key), mode, policy,
                              {.low = AsBytes(from), .high = AsBytes(behind)});
  }
  Status TryInsert(size_t txn, const std::string& key) {
    return Try(txn, At(key), kX, LockKind::kInsertIntention);
  }
  Status TryRecord(size_t txn, const std::string& key, LockMode mode = kX) {
    return Try(txn, At(key), mode, LockKind::kRecord, WaitPolicy::kNoWait);
  }
  Status Try(size_t txn, const LockTarget& target, LockMode mode, LockKind kind,
             WaitPolicy policy = WaitPolicy::kWait) {
    return table_.TryLock(&txns_[txn], target, mode, kind, policy);
  }
};

TEST_F(RangeLockTest, AScanLocksRecordsAndGapsWithOneRange) {
  for (const char* key : {"c", "f", "k"}) EXPECT_TRUE(Scan(0, "b", key).ok());
  EXPECT_EQ(txns_[0].locks.request_count.load(), 0u);
  EXPECT_EQ(table_.Describe(100).size(), 1u);
  for (const char* key : {"b", "c", "d", "k"}) {
    EXPECT_TRUE(TryInsert(1, key).Is(Code::kLockWait)) << key;
  }
  for (const char* key : {"a", "kk", "z"}) EXPECT_TRUE(TryInsert(1, key).ok()) << key;
  EXPECT_TRUE(TryRecord(1, "f", kS).Is(Code::kLockNotAvailable));
  EXPECT_TRUE(TryRecord(0, "f").ok()) << "our own";
  EXPECT_EQ(txns_[0].locks.request_count.load(), 4u)
      << "what the inserts queued behind, nothing refused";
  EXPECT_TRUE(TryInsert(0, "d").ok());
  table_.ReleaseAll(&txns_[0]);
  EXPECT_TRUE(TryInsert(1, "d").ok());
  EXPECT_TRUE(TryRecord(1, "f").ok());
}

TEST_F(RangeLockTest, SharedScansMeetAndWritersWait) {
  EXPECT_TRUE(Scan(0, "b", "c", kS).ok());
  EXPECT_TRUE(Scan(1, "a", "c", kS).ok());
  EXPECT_TRUE(Scan(2, "a", "c", kX, WaitPolicy::kSkipLocked).Is(Code::kSkipped));
  EXPECT_TRUE(Scan(2, "a", "c", kX).Is(Code::kLockWait));
  EXPECT_TRUE(Scan(3, "a", "c", kS).Is(Code::kLockWait)) << "does not overtake the writer";
  table_.ReleaseAll(&txns_[0]);
  table_.ReleaseAll(&txns_[1]);
  EXPECT_TRUE(table_.Wait(&txns_[2]).ok());
}

TEST_F(RangeLockTest, GapsOfSeveralMeetAndEachHoldsInsertsBack) {
  EXPECT_TRUE(Gap(0, "b", "k").ok());
  EXPECT_TRUE(Gap(1, "c", "z").ok());
  EXPECT_TRUE(TryInsert(0, "d").Is(Code::kLockWait));
  EXPECT_TRUE(TryInsert(1, "d").Is(Code::kLockWait));
  std::thread first([&] { EXPECT_TRUE(table_.Wait(&txns_[0]).ok()); });
  AwaitSleeper(0);
  EXPECT_TRUE(table_.Wait(&txns_[1]).Is(Code::kDeadlock));
  table_.ReleaseAll(&txns_[1]);
  first.join();
}

TEST_F(RangeLockTest, RangesThatTouchBecomeOne) {
  EXPECT_TRUE(Gap(0, "a", "c").ok());
  EXPECT_TRUE(Gap(0, "f", "h").ok());
  EXPECT_TRUE(Gap(1, "b", "g").ok());
  EXPECT_TRUE(Gap(0, "m", "p", kS).ok());
  EXPECT_EQ(table_.Describe(100).size(), 4u);
  EXPECT_TRUE(Gap(0, "c", "f").ok());
  EXPECT_EQ(table_.Describe(100).size(), 3u);
  EXPECT_TRUE(Gap(0, "A", "b").ok());  // backward
  EXPECT_TRUE(table_.Check().ok());
  EXPECT_EQ(table_.Describe(100).size(), 3u);
  EXPECT_TRUE(TryInsert(2, "B").Is(Code::kLockWait));
  EXPECT_TRUE(TryInsert(2, "gg").Is(Code::kLockWait));
  EXPECT_TRUE(TryInsert(2, "i").ok());
}

TEST_F(RangeLockTest, ARecordLockIsRespectedByAScan) {
  EXPECT_TRUE(Try(0, At("c"), kX, LockKind::kRecord).ok());
  EXPECT_TRUE(Scan(1, "a", "c").Is(Code::kLockWait));
  table_.ReleaseAll(&txns_[0]);
  EXPECT_TRUE(table_.Wait(&txns_[1]).ok());
  EXPECT_TRUE(Scan(1, "a", "c").ok());
}

TEST_F(RangeLockTest, AUpgradeFromARangePassesThoseWhoWaitForIt) {
  EXPECT_TRUE(Scan(0, "a", "c", kS).ok());
  EXPECT_TRUE(Try(1, At("c"), kX, LockKind::kRecord).Is(Code::kLockWait));
  EXPECT_TRUE(Scan(0, "a", "c", kX).ok());
  table_.ReleaseAll(&txns_[0]);
  EXPECT_TRUE(table_.Wait(&txns_[1]).ok());
}

TEST_F(RangeLockTest, AUpgradePastWaitersIsSeenWhenTheFirstOfThemLeaves) {
  EXPECT_TRUE(Scan(0, "a", "c", kS).ok());
  EXPECT_TRUE(Try(1, At("c"), kX, LockKind::kRecord).Is(Code::kLockWait));
  EXPECT_TRUE(Try(2, At("c"), kS, LockKind::kRecord).Is(Code::kLockWait));
  EXPECT_TRUE(Scan(0, "a", "c", kX).ok());
  table_.ReleaseAll(&txns_[1]);  // gives up
  EXPECT_EQ(Granted(At("c")), (std::vector<uint64_t>{1, 1})) << "not the one that wants to share";
  table_.ReleaseAll(&txns_[0]);
  EXPECT_TRUE(table_.Wait(&txns_[2]).ok());
}

TEST_F(RangeLockTest, ADeadKeyAtTheEndIsAGapUntilItsRecordIsFound) {
  const std::string behind = Behind("c");
  EXPECT_TRUE(
      table_
          .LockGap(&txns_[0], kIndex, kX,
                   {.low = AsBytes("a"), .high = AsBytes(behind), .gap_edge = GapEdge::kLast})
          .ok());
  EXPECT_TRUE(TryInsert(1, "c").Is(Code::kLockWait));
  EXPECT_TRUE(TryRecord(1, "c").ok());
  EXPECT_TRUE(Scan(0, "c", "c").Is(Code::kLockWait));
  table_.ReleaseAll(&txns_[1]);
  EXPECT_TRUE(Scan(0, "c", "c").ok());
  EXPECT_TRUE(TryRecord(1, "c").Is(Code::kLockNotAvailable));
}

TEST_F(RangeLockTest, ManyRecordLocksBecomeFewBytesAndStayLocks) {
  constexpr uint64_t kLocks = 50'000;
  table_.SetMemoryMax(uint64_t{8} << 20);
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < kLocks; ++i) keys.push_back("key" + std::to_string(i));
  for (const std::string& key : keys) {
    ASSERT_TRUE(Try(0, At(key), kX, LockKind::kRecord).ok());
  }
  EXPECT_LT(txns_[0].locks.request_count.load(), 2048u);
  EXPECT_LT(table_.memory_bytes(), 16 * kLocks);
  for (uint64_t i = 0; i < kLocks; i += 997) {
    ASSERT_TRUE(TryRecord(1, keys[i], kS).Is(Code::kLockNotAvailable)) << keys[i];
    ASSERT_TRUE(TryRecord(0, keys[i]).ok());
    ASSERT_TRUE(table_.Conflicts(&txns_[1], At(keys[i]), kS, LockKind::kRecord));
  }
  EXPECT_TRUE(TryRecord(1, "another key").ok());
  EXPECT_TRUE(Scan(1, "key", keys[5]).Is(Code::kLockWait)) << "a scan meets a folded lock";
  EXPECT_TRUE(TryInsert(1, "key0").ok()) << "a record lock says nothing about gaps";
  table_.ReleaseAll(&txns_[0]);
  EXPECT_TRUE(TryRecord(1, keys[17]).ok());
}

TEST_F(RangeLockTest, MemoryThatOneHasUsedUpIsNotMissedByOthers) {
  table_.SetMemoryMax(uint64_t{1} << 18);
  Status status;
  uint64_t count = 0;
  while (status.ok() && count < 2'000'000) {
    status = Try(0, At("key" + std::to_string(count++)), kX, LockKind::kRecord);
  }
  EXPECT_TRUE(status.Is(Code::kLockTableFull));
  EXPECT_GT(count, 8192u);
  for (uint64_t i = 0; i < 5000; ++i) {
    ASSERT_TRUE(Try(1, At("other" + std::to_string(i)), kX, LockKind::kRecord).ok());
  }
  EXPECT_TRUE(Gap(2, "x", "y").ok());
  table_.SetMemoryMax(uint64_t{64} << 20);
  EXPECT_TRUE(Try(0, At("one more"), kX, LockKind::kRecord).ok());
}

/// Each thread runs transactions that lock ranges and records of 64 keys or insert between them; a
/// table of who holds what, written while the locks are held, finds every pair that must not be.
TEST_F(RangeLockTest, RandomProgramsNeverHoldWhatConflicts) {
  constexpr size_t kThreads = 4;
  constexpr int kKeys = 64;
  constexpr int kRounds = 400;
  struct Holders {
    std::atomic<int> shared{0};
    std::atomic<int> exclusive{0};
  };
  std::array<Holders, kKeys> holders;
  std::atomic<int> violations{0};
  const auto name = [](int key) { return std::string("key") + static_cast<char>('0' + key); };
  const auto run = [&](size_t me) {
    Random random(TestSeed() + me);
    Txn* txn = &txns_[me];
    txn->undo.bytes = random.Below(100);
    for (int round = 0; round < kRounds; ++round) {
      std::vector<std::pair<int, bool>> held;
      Status status;
      const auto hold = [&](int key, bool exclusive) {
        Holders& holder = holders[static_cast<size_t>(key)];
        int own_shared = 0;
        int own_exclusive = 0;
        for (const auto& [other, other_exclusive] : held) {
          if (other != key) continue;
          ++(other_exclusive ? own_exclusive : own_shared);
        }
        ++(exclusive ? holder.exclusive : holder.shared);
        held.emplace_back(key, exclusive);
        (exclusive ? own_exclusive : own_shared) += 1;
        if (holder.exclusive > own_exclusive) ++violations;
        if (own_exclusive > 0 && holder.shared > own_shared) ++violations;
      };
      for (int step = 0; step < 6 && status.ok(); ++step) {
        const int first = static_cast<int>(random.Below(kKeys));
        const bool exclusive = random.Below(2) == 0;
        const LockMode mode = exclusive ? kX : kS;
        if (random.Below(3) == 0) {
          const std::string key = name(first);
          status = Try(me, At(key), mode, LockKind::kRecord);
          if (status.Is(Code::kLockWait)) status = table_.Wait(txn);
          if (status.ok()) hold(first, exclusive);
          continue;
        }
        const std::string from = name(first);
        for (int key = first; key < kKeys && key < first + 5 && status.ok(); ++key) {
          do {
            status = Scan(me, from, name(key), mode);
          } while (status.Is(Code::kLockWait) && (status = table_.Wait(txn)).ok());
          if (status.ok()) hold(key, exclusive);
        }
      }
      for (const auto& [key, exclusive] : held) {
        Holders& holder = holders[static_cast<size_t>(key)];
        --(exclusive ? holder.exclusive : holder.shared);
      }
      table_.ReleaseAll(txn);
      if (!status.ok() && !status.Is(Code::kDeadlock)) ++violations;
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) threads.emplace_back(run, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(violations.load(), 0);
  EXPECT_TRUE(table_.Check().ok());
}

}  // namespace
}  // namespace rowan
