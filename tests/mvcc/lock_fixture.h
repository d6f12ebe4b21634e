// SPDX-License-Identifier: GPL-2.0-only
// A lock table with a handful of transactions, numbered 0..kTxns-1 with ids one higher. Not
// thread-safe by itself: each test decides which thread drives which transaction.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "mvcc/lock/lock_table.h"

namespace rowan {

class LockFixture : public ::testing::Test {
 protected:
  static constexpr size_t kTxns = 32;
  static constexpr LockMode kS = LockMode::kShared;
  static constexpr LockMode kX = LockMode::kExclusive;

  LockFixture() {
    for (size_t i = 0; i < kTxns; ++i) {
      txns_[i].id = i + 1;
      txns_[i].locks.wait_timeout_s = 20;
    }
  }
  ~LockFixture() override {
    for (Txn& txn : txns_) table_.ReleaseAll(&txn);
    EXPECT_EQ(table_.lock_count(), 0u);
  }

  static LockKey Key(uint64_t number) { return {IndexId(7), number}; }

  Status Try(size_t txn, LockKey key, LockMode mode, LockKind kind = LockKind::kRecord,
             WaitPolicy policy = WaitPolicy::kWait) {
    return table_.TryLock(&txns_[txn], key, mode, kind, policy);
  }
  /// Waits where it has to.
  Status Lock(size_t txn, LockKey key, LockMode mode) {
    const Status status = Try(txn, key, mode);
    return status.Is(Code::kLockWait) ? table_.Wait(&txns_[txn]) : status;
  }
  void AwaitSleeper(size_t txn) const {
    while (txns_[txn].locks.waiting_for.load() == nullptr) std::this_thread::yield();
  }
  /// Ids of those that hold something on the key, ascending.
  std::vector<uint64_t> Granted(LockKey key) const {
    std::vector<uint64_t> ids;
    for (const LockInfo& info : table_.Describe(1000)) {
      if (info.key_hash == key.key_hash && info.granted) ids.push_back(info.owner.value());
    }
    std::sort(ids.begin(), ids.end());
    return ids;
  }

  LockTable table_{uint64_t{64} << 10};
  std::array<Txn, kTxns> txns_;
};

}  // namespace rowan
