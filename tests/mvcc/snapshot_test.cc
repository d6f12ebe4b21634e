// SPDX-License-Identifier: GPL-2.0-only
// Snapshots against a serial model, the commit ring when it wraps, horizons. No undo, no log: the
// outcome of each transaction is given to the ring directly.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/random.h"
#include "mvcc/txn/commit_ring.h"
#include "mvcc/txn/snapshot_registry.h"
#include "mvcc/txn_manager.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

TEST(CommitRingTest, RemembersWhatWrapped) {
  CommitRing ring(8);
  ring.Reset(TxnId(1));
  for (uint64_t id = 1; id <= 100; ++id) {
    ring.Claim(TxnId(id), Csn(1));
    EXPECT_TRUE(ring.IsRunning(TxnId(id)));
    if (id % 10 == 3) continue;  // these stay
    const auto state = id % 10 == 7 ? TxnOutcome::kRolledBack : TxnOutcome::kCommitted;
    ring.Finish(TxnId(id), TxnOutcome(state, Csn(id)), TxnId(id + 1));
  }
  EXPECT_EQ(ring.low_txn(), TxnId(3));
  for (uint64_t id = 1; id <= 100; ++id) {
    const TxnOutcome outcome = ring.Find(TxnId(id));
    if (id % 10 == 3) {
      EXPECT_EQ(outcome.state(), TxnOutcome::kRunning);
      EXPECT_TRUE(ring.IsRunning(TxnId(id)));
    } else {
      EXPECT_EQ(outcome.csn(), Csn(id));
      EXPECT_EQ(outcome.state() == TxnOutcome::kRolledBack, id % 10 == 7);
      EXPECT_FALSE(ring.IsRunning(TxnId(id)));
    }
  }
  for (uint64_t id = 3; id <= 93; id += 10) {
    ring.Finish(TxnId(id), TxnOutcome(TxnOutcome::kCommitted, Csn(200 + id)), TxnId(101));
    EXPECT_EQ(ring.Find(TxnId(id)).csn(), Csn(200 + id));
    EXPECT_EQ(ring.low_txn(), TxnId(id == 93 ? 101 : id + 10));
  }
  ring.PruneOverflow([](TxnId id, TxnOutcome) { return id == TxnId(43); });
  EXPECT_EQ(ring.overflow_size(), 1u);
  EXPECT_EQ(ring.Find(TxnId(43)).csn(), Csn(243)) << "its slot was taken when it began";
  EXPECT_EQ(ring.Find(TxnId(2)).state(), TxnOutcome::kCommitted) << "forgotten means seen by all";
}

TEST(CommitRingTest, ForgetsWhatEverybodySees) {
  CommitRing ring(8);
  ring.Reset(TxnId(1));
  for (uint64_t id = 1; id <= 1000; ++id) {
    ring.Claim(TxnId(id), Csn(id));  // the horizon keeps up
    ring.Finish(TxnId(id), TxnOutcome(TxnOutcome::kCommitted, Csn(id)), TxnId(id + 1));
  }
  EXPECT_EQ(ring.overflow_size(), 0u);
  EXPECT_EQ(ring.low_txn(), TxnId(1001));
}

TEST(CommitRingTest, UnfinishedOnesOfTheLastRunHoldLowBack) {
  CommitRing ring(16);
  ring.AddUnfinished(TxnId(40));
  ring.Reset(TxnId(100));
  ring.AddUnfinished(TxnId(60));
  EXPECT_EQ(ring.low_txn(), TxnId(40));
  EXPECT_TRUE(ring.IsRunning(TxnId(60)));
  EXPECT_FALSE(ring.IsRunning(TxnId(50)));
  EXPECT_EQ(ring.Find(TxnId(50)).state(), TxnOutcome::kCommitted);
  ring.Finish(TxnId(40), TxnOutcome(TxnOutcome::kRolledBack, Csn(1)), TxnId(100));
  EXPECT_EQ(ring.low_txn(), TxnId(60));
  ring.Finish(TxnId(60), TxnOutcome(TxnOutcome::kCommitted, Csn(2)), TxnId(100));
  EXPECT_EQ(ring.low_txn(), TxnId(100));
}

TEST(CommitRingTest, AReaderWaitsForACommitThatIsBeingPublished) {
  CommitRing ring(8);
  ring.Reset(TxnId(1));
  ring.Claim(TxnId(1), Csn(1));
  ring.SetCommitting(TxnId(1));
  std::thread reader([&ring] { EXPECT_EQ(ring.Find(TxnId(1)).csn(), Csn(5)); });
  std::this_thread::yield();
  ring.Finish(TxnId(1), TxnOutcome(TxnOutcome::kCommitted, Csn(5)), TxnId(2));
  reader.join();
}

TEST(SnapshotRegistryTest, TheOldestSnapshotDecides) {
  SnapshotRegistry registry;
  std::vector<uint32_t> slots;
  for (uint64_t i = 0; i < 1000; ++i) {
    slots.push_back(registry.AcquireSlot());
    EXPECT_TRUE(registry.Publish(slots.back(), TxnId(500 + i), Csn(100 + i)));
  }
  TxnId low(5000);
  Csn csn(5000);
  std::vector<Snapshot> open;
  registry.FindOldest(&low, &csn, &open);
  EXPECT_EQ(low, TxnId(500));
  EXPECT_EQ(csn, Csn(100));
  EXPECT_EQ(open.size(), 1000u);
  EXPECT_FALSE(registry.Publish(slots[0], TxnId(500), Csn(100))) << "older than the announcement";
  EXPECT_TRUE(registry.Publish(slots[0], TxnId(5000), Csn(5000)));
  for (size_t i = 1; i < slots.size(); ++i) registry.ReleaseSlot(slots[i]);
  low = TxnId(6000), csn = Csn(6000);
  open.clear();
  registry.FindOldest(&low, &csn, &open);
  EXPECT_EQ(csn, Csn(5000));
  EXPECT_EQ(open.size(), 1u);
  EXPECT_LT(registry.AcquireSlot(), 1000u) << "slots are used again";
}

class ManagerTest : public ::testing::Test {
 protected:
  static TxnManagerOptions SmallRing() {
    return {.lock_memory_bytes_max = 1u << 20, .commit_ring_entries = 64};
  }
  TxnManager manager_{nullptr, nullptr, SmallRing()};
};

TEST_F(ManagerTest, OneTransactionThroughItsLife) {
  Txn txn;
  manager_.OpenSnapshot(&txn);
  EXPECT_TRUE(txn.snapshot.active());
  ASSERT_TRUE(manager_.AssignId(&txn).ok());
  const TxnId id = txn.txn_id();
  ASSERT_TRUE(manager_.AssignId(&txn).ok());
  EXPECT_EQ(txn.txn_id(), id);
  EXPECT_TRUE(manager_.IsActive(id));
  EXPECT_TRUE(manager_.IsVisible(txn.snapshot, id, id)) << "one's own";
  EXPECT_FALSE(manager_.IsVisible(txn.snapshot, id, kNoTxn));
  EXPECT_TRUE(manager_.WithActive(id, [&](Txn* found) { EXPECT_EQ(found, &txn); }));
  EXPECT_EQ(manager_.Describe().size(), 1u);
  ASSERT_TRUE(manager_.Commit(&txn, Durability::kDurable, true).ok());
  EXPECT_FALSE(txn.snapshot.active());
  EXPECT_FALSE(manager_.IsActive(id));
  EXPECT_FALSE(manager_.WithActive(id, [](Txn*) { FAIL(); }));
  manager_.RefreshHorizon();
  EXPECT_GT(manager_.VisibleToAll(), id);
}

TEST_F(ManagerTest, IdsAreReservedAheadAndRarely) {
  int calls = 0;
  TxnId reserved;
  manager_.SetIdReserver([&](TxnId next, Csn) {
    ++calls;
    reserved = next;
    return Status::Ok();
  });
  manager_.SetNextIds(TxnId(1000), Csn(1));
  for (int i = 0; i < 1000; ++i) {
    Txn txn;
    ASSERT_TRUE(manager_.AssignId(&txn).ok());
    ASSERT_LT(txn.txn_id(), reserved);
    ASSERT_TRUE(manager_.Commit(&txn, Durability::kDurable, true).ok());
  }
  EXPECT_EQ(calls, 1);
}

TEST_F(ManagerTest, AFailedReservationFailsTheFirstWrite) {
  manager_.SetIdReserver([](TxnId, Csn) { return Status(Code::kStopped); });
  manager_.SetNextIds(TxnId(1), Csn(1));
  Txn txn;
  EXPECT_TRUE(manager_.AssignId(&txn).Is(Code::kStopped));
  EXPECT_FALSE(txn.is_writer());
}

TEST_F(ManagerTest, AnOldSnapshotHoldsTheHorizonAndNothingPilesUp) {
  Txn reader;
  Txn writer;
  ASSERT_TRUE(manager_.AssignId(&writer).ok());
  manager_.OpenSnapshot(&reader);
  const Csn seen = reader.snapshot.csn;
  for (int i = 0; i < 20000; ++i) {
    Txn other;
    ASSERT_TRUE(manager_.AssignId(&other).ok());
    EXPECT_FALSE(manager_.IsVisible(reader.snapshot, other.txn_id(), kNoTxn));
    ASSERT_TRUE(manager_.Commit(&other, Durability::kDurable, true).ok());
  }
  manager_.RefreshHorizon();
  EXPECT_EQ(manager_.RememberedOutcomes(), 0u);
  EXPECT_EQ(manager_.PurgeHorizon(), seen);
  EXPECT_EQ(manager_.VisibleToAll(), writer.txn_id());
  manager_.CloseSnapshot(&reader);
  ASSERT_TRUE(manager_.Commit(&writer, Durability::kDurable, true).ok());
  manager_.RefreshHorizon();
  EXPECT_EQ(manager_.VisibleToAll(), manager_.NextTxnId());
}

TEST_F(ManagerTest, AnOpenWriterMakesNobodyWaitForTheOverflowMap) {
  // With a snapshot of its own, outcomes are moved aside and dropped again and again.
  for (const bool with_snapshot : {false, true}) {
    Txn idle;
    if (with_snapshot) manager_.OpenSnapshot(&idle);
    ASSERT_TRUE(manager_.AssignId(&idle).ok());
    constexpr uint64_t kTransactions = 20000;
    for (uint64_t i = 0; i < kTransactions; ++i) {
      Txn other;
      ASSERT_TRUE(manager_.AssignId(&other).ok());
      ASSERT_TRUE(manager_.Commit(&other, Durability::kDurable, true).ok());
    }
    manager_.RefreshHorizon();
    const uint64_t before = manager_.OutcomeMapLooks();
    Txn reader;
    manager_.OpenSnapshot(&reader);
    EXPECT_EQ(reader.snapshot.low_txn, idle.txn_id());
    const uint64_t first = idle.txn_id().value() + 1;
    for (uint64_t id = first; id < first + kTransactions; ++id) {
      ASSERT_FALSE(manager_.IsActive(TxnId(id)));
      // These have no undo, so they count as rolled back while the ring knows them.
      (void)manager_.IsVisible(reader.snapshot, TxnId(id), kNoTxn);
    }
    EXPECT_LE(manager_.OutcomeMapLooks() - before, kTransactions / 64);
    ASSERT_TRUE(manager_.Commit(&idle, Durability::kDurable, true).ok());
  }
}

/// Model: every transaction's place in the order of commits; a snapshot sees those before it.
class VisibilityModelTest : public ::testing::Test {};

TEST_F(VisibilityModelTest, RandomProgramsAgreeWithTheSerialOrder) {
  Random random(TestSeed());
  for (const uint64_t ring_size : {64u, 1024u}) {
    TxnManager manager(nullptr, nullptr,
                       {.lock_memory_bytes_max = 1 << 20, .commit_ring_entries = ring_size});
    struct Reader {
      Txn txn;
      uint64_t step = 0;
    };
    std::vector<std::unique_ptr<Txn>> writers;
    std::vector<std::unique_ptr<Reader>> readers;
    std::map<uint64_t, uint64_t> ended;  // id -> step of its end
    std::vector<uint64_t> ids;
    for (uint64_t step = 1; step < 20000; ++step) {
      const uint64_t choice = random.Below(10);
      if (choice < 4 && writers.size() < 40) {
        writers.push_back(std::make_unique<Txn>());
        ASSERT_TRUE(manager.AssignId(writers.back().get()).ok());
        ids.push_back(writers.back()->txn_id().value());
      } else if (choice < 7 && !writers.empty()) {
        // Mostly the young ones end, so that old ones are passed by the ring.
        const size_t pick = writers.size() - 1 - random.Below((writers.size() + 1) / 2);
        ended[writers[pick]->txn_id().value()] = step;
        ASSERT_TRUE(manager.Commit(writers[pick].get(), Durability::kDurable, true).ok());
        writers.erase(writers.begin() + static_cast<ptrdiff_t>(pick));
      } else if (choice == 7 && readers.size() < 10) {
        readers.push_back(std::make_unique<Reader>());
        readers.back()->step = step;
        manager.OpenSnapshot(&readers.back()->txn);
      } else if (choice == 8 && !readers.empty()) {
        readers.erase(readers.begin() + static_cast<ptrdiff_t>(random.Below(readers.size())));
      } else if (random.OneIn(20)) {
        manager.RefreshHorizon();
      }
      for (int check = 0; check < 5 && !ids.empty(); ++check) {
        const uint64_t id = ids[random.Below(ids.size())];
        const auto end = ended.find(id);
        ASSERT_EQ(manager.IsActive(TxnId(id)), end == ended.end()) << id;
        if (id < manager.VisibleToAll().value()) {
          ASSERT_NE(end, ended.end());
          for (const auto& reader : readers) ASSERT_LT(end->second, reader->step);
        }
      }
    }
  }
}

/// Writers that commit, readers that ask, and a horizon that moves, on the bare ring and registry.
/// The truth is each writer's CSN, written down before it is published.
class RingFixture {
 public:
  RingFixture() { ring_.Reset(TxnId(1)); }

  void Write(uint64_t seed) {
    Random random(seed);
    for (uint64_t id = Claim(); id != 0; id = Claim()) {
      if (random.OneIn(50)) std::this_thread::yield();
      ring_.SetCommitting(TxnId(id));
      const uint64_t csn = next_csn_.fetch_add(1);
      csn_of_[id].store(csn);
      ring_.Finish(TxnId(id), TxnOutcome(TxnOutcome::kCommitted, Csn(csn)),
                   TxnId(next_txn_.load()));
    }
  }

  void Read(uint64_t seed) {
    Random random(seed);
    const uint32_t slot = registry_.AcquireSlot();
    while (!stop_.load()) {
      Snapshot snapshot;
      snapshot.slot = slot;
      do {
        snapshot.low_txn = ring_.low_txn();
        snapshot.csn = Csn(next_csn_.load());
      } while (!registry_.Publish(slot, snapshot.low_txn, snapshot.csn));
      snapshot.high_txn = TxnId(next_txn_.load());
      registry_.SetHigh(slot, snapshot.high_txn, 0);
      for (int look = 0; look < 20; ++look) AskTwice(&random, snapshot);
      registry_.Withdraw(slot);
    }
    registry_.ReleaseSlot(slot);
  }

  void Refresh() {
    while (!stop_.load()) {
      ring_.AdvanceLow(TxnId(next_txn_.load()), 1024);
      TxnId low = ring_.low_txn();
      Csn csn(next_csn_.load());
      registry_.FindOldest(&low, &csn, nullptr);
      if (horizon_.load() < csn.value()) horizon_.store(csn.value());
      std::this_thread::yield();
    }
  }
  void Stop() { stop_.store(true); }

 private:
  static constexpr uint64_t kIds = 30000;

  uint64_t Claim() {
    std::lock_guard lock(assign_);
    const uint64_t id = next_txn_.load();
    if (id >= kIds) return 0;
    ring_.Claim(TxnId(id), Csn(horizon_.load()));
    next_txn_.store(id + 1);
    return id;
  }

  bool Sees(const Snapshot& snapshot, TxnId id) const {
    if (id < snapshot.low_txn) return true;
    if (id >= snapshot.high_txn) return false;
    const TxnOutcome outcome = ring_.Find(id);
    return outcome.state() == TxnOutcome::kCommitted && outcome.csn() < snapshot.csn;
  }

  /// What a snapshot sees is a prefix of the order of CSNs, and stays the same.
  void AskTwice(Random* random, const Snapshot& snapshot) {
    const uint64_t top = snapshot.high_txn.value() + 3;
    const TxnId id(top > 300 ? top - random->Below(300) : random->Between(1, top));
    const bool seen = Sees(snapshot, id);
    const uint64_t truth = csn_of_[id.value()].load();
    ASSERT_EQ(seen, truth != 0 && truth < snapshot.csn.value()) << id.value();
    std::this_thread::yield();
    ASSERT_EQ(Sees(snapshot, id), seen) << id.value();
  }

  CommitRing ring_{256};
  SnapshotRegistry registry_;
  std::atomic<uint64_t> next_txn_{1};
  std::atomic<uint64_t> next_csn_{1};
  std::atomic<uint64_t> horizon_{1};
  std::mutex assign_;
  std::vector<std::atomic<uint64_t>> csn_of_ = std::vector<std::atomic<uint64_t>>(kIds + 100);
  std::atomic<bool> stop_{false};
};

TEST_F(VisibilityModelTest, ASnapshotSeesEachCommitWholeAndInOrder) {
  RingFixture fixture;
  const uint64_t seed = TestSeed();
  std::vector<std::thread> writers;
  std::vector<std::thread> others;
  for (uint64_t i = 0; i < 3; ++i) writers.emplace_back([&, i] { fixture.Write(seed + i); });
  for (uint64_t i = 0; i < 2; ++i) others.emplace_back([&, i] { fixture.Read(seed + 10 + i); });
  others.emplace_back([&] { fixture.Refresh(); });
  for (std::thread& writer : writers) writer.join();
  fixture.Stop();
  for (std::thread& other : others) other.join();
}

TEST_F(VisibilityModelTest, ManyThreadsTakeIdsSnapshotsAndEnd) {
  TxnManager manager(nullptr, nullptr,
                     {.lock_memory_bytes_max = 1 << 20, .commit_ring_entries = 128});
  const uint64_t seed = TestSeed();
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 4; ++i) {
    threads.emplace_back([&manager, seed, i] {
      Random random(seed + i);
      for (int round = 0; round < 3000; ++round) {
        Txn txn;
        if (random.OneIn(2)) manager.OpenSnapshot(&txn);
        if (random.OneIn(2)) {
          ASSERT_TRUE(manager.AssignId(&txn).ok());
          const TxnId id = txn.txn_id();
          ASSERT_TRUE(manager.IsActive(id));
          ASSERT_LE(manager.VisibleToAll(), id);
        }
        if (random.OneIn(50)) manager.RefreshHorizon();
        if (txn.snapshot.active()) {
          ASSERT_LE(manager.VisibleToAll(), txn.snapshot.low_txn);
          ASSERT_LE(manager.PurgeHorizon(), txn.snapshot.csn);
        }
        ASSERT_TRUE(manager.Commit(&txn, Durability::kDurable, true).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(manager.Describe().empty());
  manager.RefreshHorizon();
  EXPECT_EQ(manager.VisibleToAll(), manager.NextTxnId());
}

}  // namespace
}  // namespace rowan
