// SPDX-License-Identifier: GPL-2.0-only
// Sessions that get into each other's way while others look at them: operators at locks and waits,
// replication changes whose worker a session is. Meant for ThreadSanitizer too.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "tests/mvcc/row_fixture.h"

namespace rowan::observed_sessions_test {
namespace {

constexpr uint32_t kRows = 4;
constexpr uint32_t kRounds = 120;

/// One session: inserts, changes over rows newer than its snapshot, savepoints, reads of an index
/// with its own changes in front of its snapshot.
class BusySession {
 public:
  BusySession(RowFixture* fixture, uint64_t seed)
      : fixture_(fixture), actor_(fixture->manager()), random_(seed) {
    actor_.txn.thread.store(seed + 1);
  }
  ~BusySession() { EXPECT_TRUE(fixture_->Commit(&actor_).ok()); }

  void Run() {
    int worker = 0;
    for (uint32_t round = 0; round < kRounds; ++round) {
      fixture_->manager()->locks()->SetReplicaWorker(&actor_.txn,
                                                     random_.OneIn(2) ? &worker : nullptr);
      RowFixture::Begin(&actor_);
      actor_.txn.locks.wait_timeout_s = 1;
      if (random_.OneIn(2)) fixture_->manager()->OpenSnapshot(&actor_.txn);
      Status status;
      for (uint32_t step = 0; step < 3 && status.ok(); ++step) status = Step();
      if (status.ok() && !random_.OneIn(3)) {
        ASSERT_TRUE(fixture_->Commit(&actor_).ok());
      } else {
        ASSERT_TRUE(fixture_->Rollback(&actor_).ok());
      }
    }
    fixture_->manager()->locks()->SetReplicaWorker(&actor_.txn, nullptr);
  }

 private:
  Status Step() {
    const auto id = static_cast<uint32_t>(random_.Below(kRows));
    const TestRow fresh{static_cast<uint32_t>(random_.Below(3)),
                        static_cast<uint32_t>(random_.Below(3)) + 10 * id, "row"};
    TestRow found;
    Status status = fixture_->Get(&actor_, id, ReadMode::kLockExclusive, &found);
    if (status.Is(Code::kNotFound)) {
      status = fixture_->Insert(&actor_, id, fresh);
    } else if (status.ok()) {
      status = random_.OneIn(3) ? fixture_->Delete(&actor_, id, found)
                                : fixture_->Update(&actor_, id, found, fresh);
    }
    if (status.ok()) status = ReadIndex();
    return status.Is(Code::kDuplicate) ? Status::Ok() : status;
  }

  Status ReadIndex() {
    VersionView view;
    fixture_->manager()->OpenSnapshot(&actor_.txn);
    actor_.cursor.Open(&actor_.txn, fixture_->index(1), {.mode = ReadMode::kSnapshot});
    Status status = actor_.cursor.SeekFirst(&view);
    while (status.ok()) status = actor_.cursor.Next(&view);
    return status.Is(Code::kEndOfRange) ? Status::Ok() : status;
  }

  RowFixture* const fixture_;
  Actor actor_;
  Random random_;
};

TEST(ObservedSessionsTest, NobodyIsDisturbed) {
  RowFixture fixture;
  std::atomic<bool> stop{false};
  std::vector<std::thread> sessions;
  for (uint64_t number = 0; number < 4; ++number) {
    sessions.emplace_back([&, number] { BusySession(&fixture, TestSeed() * 10 + number).Run(); });
  }
  std::vector<std::thread> observers;
  uint64_t seen = 0;
  observers.emplace_back([&] {
    while (!stop.load()) {
      seen += fixture.manager()->locks()->DescribeWaits(100).size();
      seen += fixture.manager()->locks()->Describe(100).size();
      seen += fixture.manager()->locks()->LastDeadlock().number;
      seen += fixture.manager()->Describe().size();
      seen += fixture.manager()->DescribePurge().oldest_snapshot.thread;
    }
  });
  for (uint32_t worker = 0; worker < 2; ++worker) {
    observers.emplace_back([&, worker] {
      while (!stop.load()) {
        WorkBudget budget(50);
        ASSERT_TRUE(fixture.manager()->PurgeSome(worker, 2, &budget).ok());
        std::this_thread::yield();
      }
    });
  }
  for (std::thread& session : sessions) session.join();
  stop.store(true);
  for (std::thread& observer : observers) observer.join();
  // How much depends on who runs when.
  RecordProperty("seen", std::to_string(seen));
  fixture.Purge();
  EXPECT_EQ(fixture.manager()->HistoryLength(), 0u);
  EXPECT_EQ(fixture.manager()->locks()->lock_count(), 0u);
  const size_t rows = fixture.Raw(0).size();
  EXPECT_EQ(fixture.Raw(1).size(), rows) << "entries and rows agree";
  EXPECT_EQ(fixture.Raw(2).size(), rows);
}

}  // namespace
}  // namespace rowan::observed_sessions_test
