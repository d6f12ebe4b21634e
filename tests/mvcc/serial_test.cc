// SPDX-License-Identifier: GPL-2.0-only
// Optimistic serializable transactions. Random small histories, in one thread by turns, against
// brute force: some serial order of what committed gives the same reads and the same last state.
#include <algorithm>
#include <set>
#include <thread>

#include "base/random.h"
#include "tests/mvcc/row_fixture.h"

namespace rowan {
namespace {

constexpr uint32_t kIds = 6;
constexpr uint32_t kValues = 4;

enum class OpKind : uint8_t { kGet, kScan, kScanBack, kScanA, kLockedScan, kPut, kDelete };

struct Op {
  OpKind kind = OpKind::kGet;
  uint32_t low = 0;
  uint32_t high = 0;
  size_t limit = 1;
  uint32_t value = 0;
};
using Model = std::map<uint32_t, uint32_t>;  ///< id -> a
using Seen = std::vector<uint32_t>;          ///< of one operation

bool Changes(OpKind kind) { return kind == OpKind::kPut || kind == OpKind::kDelete; }

/// What the operation does to the model, and what it sees.
Seen Apply(const Op& op, Model* model) {
  Seen seen;
  const auto add = [&](uint32_t id, uint32_t value) {
    if (seen.size() < 2 * op.limit) seen.insert(seen.end(), {id, value});
  };
  switch (op.kind) {
    case OpKind::kScan:
    case OpKind::kLockedScan:
      for (const auto& [id, value] : *model) {
        if (id >= op.low && id < op.high) add(id, value);
      }
      break;
    case OpKind::kScanBack:
      for (auto at = model->rbegin(); at != model->rend(); ++at) {
        if (at->first >= op.low && at->first < op.high) add(at->first, at->second);
      }
      break;
    case OpKind::kScanA:
      for (uint32_t a = op.low; a < op.high; ++a) {
        for (const auto& [id, value] : *model) {
          if (value == a) add(id, value);
        }
      }
      break;
    default:
      if (const auto found = model->find(op.low); found != model->end()) {
        seen = {op.low, found->second};
      }
      if (op.kind == OpKind::kPut) (*model)[op.low] = op.value;
      if (op.kind == OpKind::kDelete) model->erase(op.low);
  }
  return seen;
}

struct Player {
  explicit Player(TxnManager* manager) : actor(manager) {}
  Actor actor;
  std::vector<Op> ops;
  std::vector<Seen> seen;
  size_t next = 0;
  bool ended = false;
  bool committed = false;
};

class SerialTest : public ::testing::Test {
 protected:
  [[nodiscard]] TxnManager* manager() const { return fixture_.manager(); }
  void Begin(Actor* actor, bool read_only = false, bool optimistic = true) {
    RowFixture::Begin(actor, IsolationLevel::kSerializable);
    actor->txn.lock_wait_timeout_s = 0;
    actor->txn.refuses_newer_rows = true;
    if (optimistic) {
      manager()->BeginOptimistic(&actor->txn, read_only);
    } else {
      actor->txn.optimistic = false;
    }
  }
  std::unique_ptr<Actor> NewActor(bool read_only = false) {
    auto actor = std::make_unique<Actor>(manager());
    Begin(actor.get(), read_only);
    return actor;
  }
  void Fill(const Model& model) {
    auto writer = std::make_unique<Actor>(manager());
    RowFixture::Begin(writer.get());
    for (const auto& [id, a] : model) {
      ASSERT_TRUE(fixture_.Insert(writer.get(), id, {a, ++last_b_, ""}).ok());
    }
    ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
  }

  // --- operations ---
  Status Read(Actor* actor, uint32_t id, std::optional<TestRow>* row) {
    manager()->OpenSnapshot(&actor->txn);
    TestRow found;
    const Status status = fixture_.Get(actor, id, ReadMode::kSnapshot, &found);
    if (status.ok()) *row = found;
    return status.Is(Code::kNotFound) ? Status::Ok() : status;
  }
  Status Scan(Actor* actor, const Op& op, Seen* seen) {
    const bool by_a = op.kind == OpKind::kScanA;
    const bool locks = op.kind == OpKind::kLockedScan;
    const bool forward = op.kind != OpKind::kScanBack;
    if (!locks) manager()->OpenSnapshot(&actor->txn);
    const std::string low = BigEndian(op.low);
    const std::string high = BigEndian(op.high);
    VersionCursor& cursor = actor->cursor;
    cursor.Open(&actor->txn, fixture_.index(by_a ? 1 : 0),
                {.mode = locks ? ReadMode::kLockShared : ReadMode::kSnapshot, .lock_gaps = locks});
    if (forward) cursor.SetEnd(AsBytes(high));
    VersionView view;
    Status status =
        forward ? cursor.SeekAtLeast(AsBytes(low), &view) : cursor.SeekBefore(AsBytes(high), &view);
    while (status.ok() && AsText(view.key) >= low) {
      const uint32_t first = LoadBe32(view.key.data());
      seen->push_back(by_a ? LoadBe32(view.key.data() + 4) : first);
      seen->push_back(by_a ? first : ParseTestRow(view.value).a);
      if (seen->size() >= 2 * op.limit) break;
      status = forward ? cursor.Next(&view) : cursor.Prev(&view);
    }
    cursor.Close();
    return status.Is(Code::kEndOfRange) ? Status::Ok() : status;
  }
  Status Do(Actor* actor, const Op& op, Seen* seen) {
    if (op.kind != OpKind::kGet && !Changes(op.kind)) return Scan(actor, op, seen);
    std::optional<TestRow> row;
    const Status status = Read(actor, op.low, &row);
    if (!status.ok()) return status;
    if (row.has_value()) *seen = {op.low, row->a};
    if (op.kind == OpKind::kDelete && row.has_value()) return fixture_.Delete(actor, op.low, *row);
    if (op.kind != OpKind::kPut) return status;
    if (!row.has_value()) return fixture_.Insert(actor, op.low, {op.value, ++last_b_, ""});
    TestRow changed = *row;
    changed.a = op.value;
    return fixture_.Update(actor, op.low, *row, changed);
  }
  Status Put(Actor* actor, uint32_t id, uint32_t value) {
    Seen seen;
    return Do(actor, {.kind = OpKind::kPut, .low = id, .value = value}, &seen);
  }
  Seen ScanOk(Actor* actor, const Op& op) {
    Seen seen;
    EXPECT_TRUE(Scan(actor, op, &seen).ok());
    return seen;
  }

  // --- random histories ---
  Op RandomOp() {
    Op op;
    constexpr OpKind kKinds[] = {OpKind::kGet,   OpKind::kScan,       OpKind::kScanBack,
                                 OpKind::kScanA, OpKind::kLockedScan, OpKind::kPut,
                                 OpKind::kPut,   OpKind::kPut,        OpKind::kDelete};
    op.kind = kKinds[random_.Below(std::size(kKinds))];
    const uint32_t limit = op.kind == OpKind::kScanA ? kValues : kIds;
    op.low = static_cast<uint32_t>(random_.Below(limit));
    op.high = op.low + 1 + static_cast<uint32_t>(random_.Below(limit - op.low));
    if (op.kind != OpKind::kGet && !Changes(op.kind)) op.limit = 1 + random_.Below(4);
    op.value = static_cast<uint32_t>(random_.Below(kValues));
    return op;
  }
  void Step(Player* player) {
    Actor* actor = &player->actor;
    if (player->next == player->ops.size()) {
      const Status status = fixture_.Commit(actor);
      ASSERT_TRUE(status.ok() || status.Is(Code::kDeadlock)) << status.message();
      player->committed = status.ok();
      if (!status.ok()) {
        ASSERT_TRUE(fixture_.Rollback(actor).ok());
      }
      player->ended = true;
      return;
    }
    Seen seen;
    const Status status = Do(actor, player->ops[player->next++], &seen);
    player->seen.push_back(seen);
    if (status.ok()) return;
    ASSERT_TRUE(status.Is(Code::kDeadlock) || status.Is(Code::kLockTimeout))
        << CodeName(status.code());
    ASSERT_TRUE(fixture_.Rollback(actor).ok());
    player->ended = true;
  }
  Model State() {
    Actor reader(manager());
    RowFixture::Begin(&reader);
    const Seen seen = ScanOk(&reader, {.kind = OpKind::kScan, .high = kIds, .limit = kIds});
    EXPECT_TRUE(fixture_.Commit(&reader).ok());
    Model state;
    for (size_t i = 0; i < seen.size(); i += 2) state[seen[i]] = seen[i + 1];
    return state;
  }
  /// True if a serial order explains what they saw and left.
  static bool IsSerializable(std::vector<const Player*> players, const Model& before,
                             const Model& after) {
    std::sort(players.begin(), players.end());
    do {
      Model model = before;
      bool same = true;
      for (const Player* player : players) {
        for (size_t i = 0; i < player->ops.size() && same; ++i) {
          same = Apply(player->ops[i], &model) == player->seen[i];
        }
      }
      if (same && model == after) return true;
    } while (std::next_permutation(players.begin(), players.end()));
    return false;
  }
  /// One history; false: no serial order explains it.
  bool PlayHistory(bool optimistic) {
    const Model before = State();
    std::vector<std::unique_ptr<Player>> players;
    for (size_t i = 0, count = 2 + random_.Below(3); i < count; ++i) {
      players.push_back(std::make_unique<Player>(manager()));
      const size_t ops = 1 + random_.Below(4);
      while (players.back()->ops.size() < ops) players.back()->ops.push_back(RandomOp());
    }
    std::vector<Player*> begun;
    for (;;) {
      std::vector<Player*> left;
      for (const auto& player : players) {
        if (!player->ended) left.push_back(player.get());
      }
      if (left.empty()) break;
      Player* player = left[random_.Below(left.size())];
      if (std::find(begun.begin(), begun.end(), player) == begun.end()) {
        begun.push_back(player);
        const bool reads = std::none_of(player->ops.begin(), player->ops.end(),
                                        [](const Op& op) { return Changes(op.kind); });
        Begin(&player->actor, reads && random_.OneIn(2), optimistic);
      }
      Step(player);
      if (HasFatalFailure()) return false;
      if (random_.OneIn(20)) fixture_.Purge();
    }
    EXPECT_EQ(manager()->serial()->size(), 0u);
    EXPECT_EQ(manager()->serial()->memory_bytes(), 0u);
    std::vector<const Player*> committed;
    for (const auto& player : players) {
      if (player->committed) committed.push_back(player.get());
    }
    committed_ += committed.size();
    begun_ += begun.size();
    return IsSerializable(committed, before, State());
  }

  RowFixture fixture_;
  Random random_{TestSeed()};
  uint32_t last_b_ = 0;
  size_t committed_ = 0;
  size_t begun_ = 0;
};

TEST_F(SerialTest, RandomHistoriesAreSerializable) {
  Fill({{0, 0}, {2, 1}, {3, 1}, {5, 3}});
  for (int round = 0; round < 3000; ++round) {
    ASSERT_TRUE(PlayHistory(true)) << "round " << round;
  }
  std::printf("%zu of %zu transactions committed\n", committed_, begun_);
}

TEST_F(SerialTest, TheCheckFindsWhatSnapshotIsolationLetsThrough) {
  Fill({{0, 0}, {2, 1}, {3, 1}, {5, 3}});
  int found = 0;
  for (int round = 0; round < 1000; ++round) found += PlayHistory(false) ? 0 : 1;
  EXPECT_GT(found, 0);
  std::printf("%d of 1000 histories are not serializable; %zu of %zu transactions committed\n",
              found, committed_, begun_);
}

TEST_F(SerialTest, OneOfTwoThatSkewCommits) {
  Fill({{1, 0}, {2, 0}});
  auto one = NewActor();
  auto two = NewActor();
  for (Actor* actor : {one.get(), two.get()}) {
    EXPECT_EQ(ScanOk(actor, {.kind = OpKind::kScan, .high = 3, .limit = 5}).size(), 4u);
  }
  ASSERT_TRUE(Put(one.get(), 1, 1).ok());
  ASSERT_TRUE(Put(two.get(), 2, 1).ok()) << "nobody waits";
  ASSERT_TRUE(fixture_.Commit(one.get()).ok());
  EXPECT_TRUE(fixture_.Commit(two.get()).Is(Code::kDeadlock));
  ASSERT_TRUE(fixture_.Rollback(two.get()).ok());
  Begin(two.get());
  ASSERT_TRUE(Put(two.get(), 2, 1).ok());
  ASSERT_TRUE(fixture_.Commit(two.get()).ok()) << "the next try";
}

TEST_F(SerialTest, APreparedTransactionCanCommitWhateverOthersDo) {
  Fill({{1, 0}, {2, 0}});
  auto one = NewActor();
  auto two = NewActor();
  std::optional<TestRow> row;
  ASSERT_TRUE(Read(one.get(), 1, &row).ok());
  ASSERT_TRUE(Put(one.get(), 2, 1).ok());
  ASSERT_TRUE(manager()->Prepare(&one->txn, AsBytes("xid")).ok());
  // It reads what the prepared one wrote over, and writes over what that one read.
  ASSERT_TRUE(Read(two.get(), 2, &row).ok());
  EXPECT_TRUE(Put(two.get(), 1, 1).Is(Code::kDeadlock));
  ASSERT_TRUE(fixture_.Rollback(two.get()).ok());
  EXPECT_TRUE(fixture_.Commit(one.get()).ok());
}

/// T2 reads 1 and 2; T3 changes 2 and commits; T1 reads both; T2 changes 1 (Fekete's example).
TEST_F(SerialTest, AReaderAloneMakesACircle) {
  for (const bool reads : {false, true}) {
    Fill({{10, 0}, {11, 0}});
    auto two = NewActor();
    auto three = NewActor();
    std::optional<TestRow> row;
    for (const uint32_t id : {10u, 11u}) ASSERT_TRUE(Read(two.get(), id, &row).ok());
    ASSERT_TRUE(Put(three.get(), 11, 2).ok());
    ASSERT_TRUE(fixture_.Commit(three.get()).ok());
    if (reads) {
      auto one = NewActor(true);
      EXPECT_NE(one->txn.serial, nullptr);
      for (const uint32_t id : {10u, 11u}) ASSERT_TRUE(Read(one.get(), id, &row).ok());
      ASSERT_TRUE(fixture_.Commit(one.get()).ok()) << "who only reads is not rolled back";
    }
    const Status put = Put(two.get(), 10, 3);
    const Status status = put.ok() ? fixture_.Commit(two.get()) : put;
    EXPECT_EQ(status.ok(), !reads) << "without the reader there is no circle";
    if (!status.ok()) {
      ASSERT_TRUE(fixture_.Rollback(two.get()).ok());
    }
    auto cleaner = NewActor();
    for (const uint32_t id : {10u, 11u}) {
      ASSERT_TRUE(Read(cleaner.get(), id, &row).ok());
      ASSERT_TRUE(fixture_.Delete(cleaner.get(), id, *row).ok());
    }
    ASSERT_TRUE(fixture_.Commit(cleaner.get()).ok());
    fixture_.Purge();
  }
}

TEST_F(SerialTest, ReadOnlyTransactionsBecomeSafe) {
  Fill({{1, 0}, {2, 0}});
  std::optional<TestRow> row;
  {
    auto reader = NewActor(true);
    EXPECT_EQ(reader->txn.serial, nullptr) << "nobody writes";
    ASSERT_TRUE(Read(reader.get(), 1, &row).ok());
    ASSERT_TRUE(fixture_.Commit(reader.get()).ok());
  }
  auto writer = NewActor();
  auto reader = NewActor(true);
  ASSERT_TRUE(Read(reader.get(), 1, &row).ok());
  EXPECT_NE(reader->txn.serial, nullptr);
  ASSERT_TRUE(Put(writer.get(), 1, 1).ok());
  ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
  ASSERT_TRUE(Read(reader.get(), 2, &row).ok());
  EXPECT_EQ(reader->txn.serial, nullptr) << "the writer saw what the snapshot shows";
  EXPECT_EQ(manager()->serial()->size(), 0u);
  ASSERT_TRUE(fixture_.Commit(reader.get()).ok());
}

TEST_F(SerialTest, WhatAScanDidNotReachMayBeWritten) {
  Model rows;
  for (uint32_t id = 0; id < 1000; id += 10) rows[id] = id;
  Fill(rows);
  const Op first{.kind = OpKind::kScan, .low = 100, .high = 900, .limit = 3};
  const Op last{.kind = OpKind::kScanBack, .low = 100, .high = 900, .limit = 3};
  for (const Op& op : {first, last}) {
    const bool back = op.kind == OpKind::kScanBack;
    for (const auto& [inside, id] :
         {std::pair(false, back ? 865u : 121u), std::pair(true, back ? 875u : 119u)}) {
      auto one = NewActor();
      auto two = NewActor();
      std::optional<TestRow> row;
      ScanOk(one.get(), op);
      ASSERT_TRUE(Read(two.get(), 50, &row).ok());
      ASSERT_TRUE(Put(one.get(), 50, 7).ok());
      ASSERT_TRUE(Put(two.get(), id, 7).ok());
      ASSERT_TRUE(fixture_.Commit(one.get()).ok());
      EXPECT_EQ(fixture_.Commit(two.get()).ok(), !inside) << id;
      ASSERT_TRUE(fixture_.Rollback(two.get()).ok());
    }
  }
}

TEST_F(SerialTest, ManyReadsBecomeOneRange) {
  Model rows;
  for (uint32_t id = 0; id < 3000; ++id) rows[id] = id;
  Fill(rows);
  auto one = NewActor();
  auto two = NewActor();
  std::optional<TestRow> row;
  for (uint32_t id = 0; id < 3000; ++id) ASSERT_TRUE(Read(one.get(), id, &row).ok());
  EXPECT_LT(manager()->serial()->memory_bytes(), 2000u);
  EXPECT_TRUE(manager()->serial()->Check());
  ASSERT_TRUE(Read(two.get(), 5000, &row).ok());
  ASSERT_TRUE(Put(one.get(), 5000, 1).ok());
  ASSERT_TRUE(Put(two.get(), 17, 1).ok());
  ASSERT_TRUE(fixture_.Commit(one.get()).ok());
  EXPECT_FALSE(fixture_.Commit(two.get()).ok());
}

/// T2 reads 1, T3 changes it and commits, T1 begins, T2 puts a row where T1 looks, and commits;
/// then that row goes again. T1 must still learn of it.
TEST_F(SerialTest, WhatCameAndWentIsMet) {
  Fill({{1, 0}, {2, 0}});
  auto two = NewActor();
  auto three = NewActor();
  std::optional<TestRow> row;
  ASSERT_TRUE(Read(two.get(), 1, &row).ok());
  ASSERT_TRUE(Put(three.get(), 1, 1).ok());
  ASSERT_TRUE(fixture_.Commit(three.get()).ok());
  auto one = NewActor();
  ASSERT_TRUE(Read(one.get(), 2, &row).ok());
  ASSERT_TRUE(Put(two.get(), 50, 1).ok());
  ASSERT_TRUE(fixture_.Commit(two.get()).ok());
  auto four = NewActor();
  ASSERT_TRUE(Read(four.get(), 50, &row).ok());
  ASSERT_TRUE(fixture_.Delete(four.get(), 50, *row).ok());
  ASSERT_TRUE(fixture_.Commit(four.get()).ok());
  fixture_.Purge();
  Seen seen;
  EXPECT_TRUE(Scan(one.get(), {.kind = OpKind::kScan, .low = 40, .high = 60, .limit = 9}, &seen)
                  .Is(Code::kDeadlock));
}

TEST_F(SerialTest, WithoutMemoryTheOldestGivesWay) {
  Fill({{1, 0}, {2, 0}, {3, 0}});
  manager()->SetLockMemoryMax(1);
  auto old = NewActor();
  std::optional<TestRow> row;
  ASSERT_TRUE(Read(old.get(), 1, &row).ok());
  auto young = NewActor();
  ASSERT_TRUE(Read(young.get(), 2, &row).ok());
  ASSERT_TRUE(fixture_.Commit(young.get()).ok());
  EXPECT_TRUE(Put(old.get(), 3, 1).Is(Code::kDeadlock));
  ASSERT_TRUE(fixture_.Rollback(old.get()).ok());
  EXPECT_EQ(manager()->serial()->size(), 0u);
}

/// Of each pair of rows at most one is 1: a rule that only serializable transactions keep.
TEST_F(SerialTest, ManyThreadsKeepTheRule) {
  constexpr uint32_t kPairs = 4;
  Model rows;
  for (uint32_t id = 0; id < 2 * kPairs; ++id) rows[id] = 0;
  Fill(rows);
  std::atomic<uint32_t> committed{0};
  const auto work = [&](uint64_t seed) {
    Random random(seed);
    Actor actor(manager());
    for (int i = 0; i < 400; ++i) {
      const auto id = static_cast<uint32_t>(random.Below(2 * kPairs));
      Begin(&actor, false);
      actor.txn.lock_wait_timeout_s = 10;
      std::optional<TestRow> mine;
      std::optional<TestRow> other;
      Status status = Read(&actor, id, &mine);
      if (status.ok()) status = Read(&actor, id ^ 1, &other);
      if (status.ok()) {
        TestRow changed = *mine;
        changed.a = mine->a == 1 || other->a == 1 ? 0 : 1;
        status = fixture_.Update(&actor, id, *mine, changed);
      }
      if (status.ok()) status = fixture_.Commit(&actor);
      if (status.ok()) {
        committed.fetch_add(1);
        continue;
      }
      EXPECT_TRUE(status.Is(Code::kDeadlock)) << CodeName(status.code());
      EXPECT_TRUE(fixture_.Rollback(&actor).ok());
    }
  };
  const auto watch = [&] {
    Actor actor(manager());
    for (int i = 0; i < 200; ++i) {
      Begin(&actor, true);
      Seen seen;
      const Status status =
          Scan(&actor, {.kind = OpKind::kScan, .high = 2 * kPairs, .limit = 2 * kPairs}, &seen);
      EXPECT_TRUE(status.ok() || status.Is(Code::kDeadlock));
      for (size_t pair = 0; status.ok() && pair < kPairs; ++pair) {
        EXPECT_FALSE(seen[4 * pair + 1] == 1 && seen[4 * pair + 3] == 1);
      }
      EXPECT_TRUE(status.ok() ? fixture_.Commit(&actor).ok() : fixture_.Rollback(&actor).ok());
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  threads.emplace_back(watch);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(committed.load(), 100u);
  EXPECT_EQ(manager()->serial()->size(), 0u);
  EXPECT_EQ(manager()->serial()->memory_bytes(), 0u);
}

}  // namespace
}  // namespace rowan
