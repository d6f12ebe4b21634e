// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/lock/lock_table.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/mvcc/lock_fixture.h"

namespace rowan {
namespace {

class LockTableTest : public LockFixture {};

TEST_F(LockTableTest, SharedLocksMeet) {
  EXPECT_TRUE(Lock(0, Key(1), kS).ok());
  EXPECT_TRUE(Lock(1, Key(1), kS).ok());
  EXPECT_TRUE(
      Try(2, Key(1), kX, LockKind::kRecord, WaitPolicy::kNoWait).Is(Code::kLockNotAvailable));
  EXPECT_TRUE(Try(2, Key(1), kX, LockKind::kRecord, WaitPolicy::kSkipLocked).Is(Code::kSkipped));
  EXPECT_TRUE(Lock(2, Key(2), kX).ok());
  EXPECT_EQ(table_.lock_count(), 3u);
}

TEST_F(LockTableTest, ACoveredLockAddsNoEntry) {
  EXPECT_TRUE(Lock(0, Key(1), kX).ok());
  EXPECT_TRUE(Lock(0, Key(1), kX).ok());
  EXPECT_TRUE(Lock(0, Key(1), kS).ok());
  EXPECT_EQ(table_.lock_count(), 1u);
  EXPECT_EQ(txns_[0].locks.request_count.load(), 1u);
}

TEST_F(LockTableTest, UnlockTakesBackAsManyAsWereGiven) {
  EXPECT_TRUE(Lock(0, Key(1), kX).ok());
  EXPECT_TRUE(Lock(0, Key(1), kX).ok());
  table_.Unlock(&txns_[0], Key(1), kX, LockKind::kRecord);
  EXPECT_TRUE(table_.Conflicts(&txns_[1], Key(1), kS, LockKind::kRecord));
  table_.Unlock(&txns_[0], Key(1), kX, LockKind::kRecord);
  EXPECT_FALSE(table_.Conflicts(&txns_[1], Key(1), kS, LockKind::kRecord));
  EXPECT_EQ(table_.lock_count(), 0u);
  table_.Unlock(&txns_[0], Key(1), kX, LockKind::kRecord);  // nothing left: harmless
}

TEST_F(LockTableTest, UnlockInTheMiddleOfTheOwnersList) {
  for (uint64_t key = 0; key < 10; ++key) EXPECT_TRUE(Lock(0, Key(key), kX).ok());
  for (const uint64_t key : {4u, 0u, 9u, 5u}) {
    table_.Unlock(&txns_[0], Key(key), kX, LockKind::kRecord);
  }
  EXPECT_EQ(txns_[0].locks.request_count.load(), 6u);
  EXPECT_EQ(table_.Describe(100).size(), 6u);
  table_.ReleaseAll(&txns_[0]);
  EXPECT_EQ(table_.lock_count(), 0u);
  EXPECT_TRUE(table_.Check().ok());
}

TEST_F(LockTableTest, AnImplicitLockIsNeverTakenBackBeforeTheEnd) {
  EXPECT_TRUE(Lock(0, Key(1), kX).ok());
  table_.AddImplicit(&txns_[0], Key(1));
  table_.AddImplicit(&txns_[0], Key(2));
  table_.Unlock(&txns_[0], Key(1), kX, LockKind::kRecord);
  EXPECT_TRUE(table_.Conflicts(&txns_[1], Key(1), kS, LockKind::kRecord));
  EXPECT_TRUE(table_.Conflicts(&txns_[1], Key(2), kS, LockKind::kRecord));
  EXPECT_EQ(table_.lock_count(), 2u);
}

TEST_F(LockTableTest, AnUpgradePassesThoseWhoWaitForIt) {
  EXPECT_TRUE(Lock(0, Key(1), kS).ok());
  EXPECT_TRUE(Try(1, Key(1), kX).Is(Code::kLockWait));
  EXPECT_TRUE(Lock(0, Key(1), kX).ok());
  table_.ReleaseAll(&txns_[0]);
  EXPECT_TRUE(table_.Wait(&txns_[1]).ok());  // granted meanwhile
}

TEST_F(LockTableTest, WaitersAreServedInTheOrderOfArrival) {
  EXPECT_TRUE(Lock(0, Key(1), kS).ok());
  EXPECT_TRUE(Try(1, Key(1), kX).Is(Code::kLockWait));
  EXPECT_TRUE(Try(2, Key(1), kS).Is(Code::kLockWait));  // does not overtake the writer
  EXPECT_TRUE(Try(3, Key(1), kS).Is(Code::kLockWait));
  EXPECT_TRUE(Try(4, Key(1), kX).Is(Code::kLockWait));
  EXPECT_EQ(Granted(Key(1)), (std::vector<uint64_t>{1}));
  table_.ReleaseAll(&txns_[0]);
  EXPECT_EQ(Granted(Key(1)), (std::vector<uint64_t>{2}));
  table_.ReleaseAll(&txns_[1]);
  EXPECT_EQ(Granted(Key(1)), (std::vector<uint64_t>{3, 4}));
  EXPECT_TRUE(table_.Check().ok());
  table_.ReleaseAll(&txns_[2]);
  EXPECT_EQ(Granted(Key(1)), (std::vector<uint64_t>{4}));
  table_.ReleaseAll(&txns_[3]);
  EXPECT_EQ(Granted(Key(1)), (std::vector<uint64_t>{5}));
}

TEST_F(LockTableTest, AWaiterThatLeavesLetsThoseBehindItIn) {
  EXPECT_TRUE(Lock(0, Key(1), kS).ok());
  EXPECT_TRUE(Try(1, Key(1), kX).Is(Code::kLockWait));
  EXPECT_TRUE(Try(2, Key(1), kS).Is(Code::kLockWait));
  table_.ReleaseAll(&txns_[1]);
  EXPECT_EQ(Granted(Key(1)), (std::vector<uint64_t>{1, 3}));
}

TEST_F(LockTableTest, GapsHoldInsertsBackAndNothingElse) {
  EXPECT_TRUE(Try(0, Key(1), kS, LockKind::kGap).ok());
  EXPECT_TRUE(Try(1, Key(1), kX, LockKind::kGap).ok());
  EXPECT_TRUE(Try(2, Key(1), kX, LockKind::kRecord).ok());
  EXPECT_TRUE(Try(3, Key(1), kX, LockKind::kInsertIntention).Is(Code::kLockWait));
  EXPECT_TRUE(Try(4, Key(1), kS, LockKind::kGap).ok());  // does not wait for the intention
  table_.ReleaseAll(&txns_[0]);
  table_.ReleaseAll(&txns_[1]);
  EXPECT_EQ(Granted(Key(1)), (std::vector<uint64_t>{3, 5}));
  table_.ReleaseAll(&txns_[4]);
  EXPECT_EQ(Granted(Key(1)), (std::vector<uint64_t>{3, 4}));
  EXPECT_TRUE(table_.Wait(&txns_[3]).ok());
  EXPECT_EQ(Granted(Key(1)), (std::vector<uint64_t>{3})) << "an intention leaves no entry";
  EXPECT_TRUE(Try(3, Key(1), kX, LockKind::kInsertIntention).ok());
  EXPECT_EQ(table_.lock_count(), 1u);
}

TEST_F(LockTableTest, TheMemoryCapIsAnErrorAndNotTheEnd) {
  uint64_t key = 0;
  Status status;
  while ((status = Lock(0, Key(key), kX)).ok()) ++key;
  EXPECT_TRUE(status.Is(Code::kLockTableFull));
  EXPECT_GE(key, 1000u);
  EXPECT_TRUE(Lock(2, Key(key + 1), kX).ok()) << "a transaction with few locks";
  table_.ReleaseAll(&txns_[2]);
  table_.AddImplicit(&txns_[0], Key(1u << 20));  // cannot be refused
  EXPECT_TRUE(table_.Conflicts(&txns_[1], Key(1u << 20), kS, LockKind::kRecord));
  table_.ReleaseAll(&txns_[0]);
  EXPECT_EQ(table_.lock_count(), 0u);
  EXPECT_TRUE(Lock(1, Key(1), kX).ok());
}

TEST_F(LockTableTest, ARequestNotWaitedForIsWithdrawn) {
  EXPECT_TRUE(Lock(0, Key(1), kX).ok());
  EXPECT_TRUE(Try(1, Key(1), kX).Is(Code::kLockWait));
  EXPECT_TRUE(Try(1, Key(2), kX).ok());  // the caller started over and found another row
  EXPECT_EQ(txns_[1].locks.request_count.load(), 1u);
  EXPECT_TRUE(Try(1, Key(1), kX).Is(Code::kLockWait));
  table_.ReleaseAll(&txns_[1]);
  EXPECT_EQ(table_.lock_count(), 1u);
}

}  // namespace
}  // namespace rowan
