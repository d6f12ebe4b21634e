// SPDX-License-Identifier: GPL-2.0-only
// Random small histories of optimistic serializable transactions, in one thread by turns, against
// brute force: some serial order of what committed gives the same reads and the same last state.
// ROWAN_TEST_LONG plays ten times as many.
#include <algorithm>

#include "base/random.h"
#include "tests/mvcc/serial_fixture.h"

namespace rowan::serial_history_test {
namespace {

constexpr uint32_t kValues = 4;

struct ModelRow {
  uint32_t a = 0;
  uint32_t b = 0;
  bool operator==(const ModelRow&) const = default;
};
using Model = std::map<uint32_t, ModelRow>;  ///< by id

uint32_t KeyOf(OpKind kind, uint32_t id, const ModelRow& row) {
  const uint32_t index = ScannedBy(kind);
  return index == 0 ? id : index == 1 ? row.a : row.b;
}

Seen ApplyScan(const Op& op, const Model& model) {
  std::vector<std::pair<uint32_t, uint32_t>> keys;  // in the index, with the row's id
  for (const auto& [id, row] : model) {
    const uint32_t key = KeyOf(op.kind, id, row);
    if (key >= op.low && key < op.high) keys.emplace_back(key, id);
  }
  std::sort(keys.begin(), keys.end());
  if (op.kind == OpKind::kScanBack) std::reverse(keys.begin(), keys.end());
  Seen seen;
  for (size_t i = 0; i < std::min(keys.size(), op.limit); ++i) {
    const auto& [key, id] = keys[i];
    if (ScannedBy(op.kind) != 0) {
      seen.insert(seen.end(), {id, key});
    } else {
      seen.insert(seen.end(), {id, model.at(id).a, model.at(id).b});
    }
  }
  return seen;
}

Model::iterator FindB(Model* model, uint32_t b) {
  return std::find_if(model->begin(), model->end(),
                      [b](const auto& entry) { return entry.second.b == b; });
}

Seen ApplyReplace(const Op& op, Model* model) {
  Seen seen;
  if (model->erase(op.low) != 0) seen.push_back(op.low);
  if (const auto other = FindB(model, op.value); other != model->end()) {
    seen.push_back(other->first);
    model->erase(other);
  }
  (*model)[op.low] = {0, op.value};
  return seen;
}

void ApplyPutB(const Op& op, Model* model, Seen* seen) {
  const auto found = model->find(op.low);
  if (op.kind == OpKind::kTurnB && found == model->end()) return;
  const auto other = FindB(model, op.value);
  if (other != model->end() && other != found) {
    seen->push_back(kTaken);
  } else if (op.kind == OpKind::kPutB) {
    (*model)[op.low].b = op.value;
  }
}

/// What the operation does to the model, and what it sees.
Seen Apply(const Op& op, Model* model) {
  if (op.kind == OpKind::kReplace) return ApplyReplace(op, model);
  if (op.kind != OpKind::kGet && Reads(op.kind)) return ApplyScan(op, *model);
  Seen seen;
  const auto found = model->find(op.low);
  if (op.kind == OpKind::kUndoneInsert) {
    const bool taken = found != model->end() || FindB(model, op.value) != model->end();
    return taken ? Seen{kTaken} : seen;
  }
  if (found != model->end()) seen = {op.low, found->second.a, found->second.b};
  if (op.kind == OpKind::kDelete) {
    model->erase(op.low);
  } else if (op.kind == OpKind::kPut) {
    if (found == model->end()) (*model)[op.low].b = 100 + op.low;
    (*model)[op.low].a = op.value;
  } else if (op.kind != OpKind::kGet) {
    ApplyPutB(op, model, &seen);
  }
  return seen;
}

constexpr const char* kNames[] = {
    "get",           "scan", "scan back", "scan a", "scan b",        "locked scan", "locked scan a",
    "locked scan b", "put",  "put b",     "turn b", "undone insert", "replace",     "delete"};

std::string Describe(const Op& op) {
  std::string text = kNames[static_cast<size_t>(op.kind)];
  text += " " + std::to_string(op.low);
  if (op.kind != OpKind::kGet && Reads(op.kind)) {
    return text + "-" + std::to_string(op.high) + " limit " + std::to_string(op.limit);
  }
  return Reads(op.kind) || op.kind == OpKind::kDelete ? text
                                                      : text + " " + std::to_string(op.value);
}

struct Player {
  Player(TxnManager* manager, size_t number_in) : actor(manager), number(number_in) {}
  Actor actor;
  const size_t number;
  std::vector<Op> ops;
  std::vector<Seen> seen;
  size_t next = 0;
  bool ended = false;
  bool committed = false;
  bool scanning = false;  ///< its operation before `next` is under way
};

class SerialHistoryTest : public SerialFixture {
 protected:
  Op RandomOp() {
    constexpr OpKind kKinds[] = {OpKind::kGet,         OpKind::kScan,        OpKind::kScanBack,
                                 OpKind::kScanA,       OpKind::kScanB,       OpKind::kLockedScan,
                                 OpKind::kLockedScanA, OpKind::kLockedScanB, OpKind::kPut,
                                 OpKind::kPut,         OpKind::kPut,         OpKind::kPutB,
                                 OpKind::kPutB,        OpKind::kTurnB,       OpKind::kUndoneInsert,
                                 OpKind::kReplace,     OpKind::kDelete};
    Op op;
    op.kind = kKinds[random_.Below(std::size(kKinds))];
    const uint32_t limit = ScannedBy(op.kind) != 0 ? kValues : ids_;
    op.low = static_cast<uint32_t>(random_.Below(limit));
    op.high = op.low + 1 + static_cast<uint32_t>(random_.Below(limit - op.low));
    if (op.kind != OpKind::kGet && Reads(op.kind)) op.limit = 1 + random_.Below(limit_);
    op.value = static_cast<uint32_t>(random_.Below(kValues));
    return op;
  }
  /// One row of a scan, so that others change the index meanwhile.
  Status StepScan(Player* player) {
    Actor* actor = &player->actor;
    const Op& op = player->ops[player->next - 1];
    VersionView view;
    Status status = player->scanning ? GoOn(actor, op, &view) : StartScan(actor, op, &view);
    if (status.ok()) status = TakeRow(op, view, &player->seen.back());
    player->scanning = status.ok();
    if (!status.ok()) actor->cursor.Close();
    return status.Is(Code::kEndOfRange) ? Status::Ok() : status;
  }
  void Step(Player* player) {
    Actor* actor = &player->actor;
    if (!player->scanning && player->next == player->ops.size()) {
      player->committed = Commits(actor);
      Tell(*player, player->committed ? "commits" : "cannot commit");
      player->ended = true;
      return;
    }
    if (!player->scanning) {
      ++player->next;
      player->seen.emplace_back();
    }
    const Op& op = player->ops[player->next - 1];
    const bool by_steps = steps_ && (op.kind == OpKind::kScan || op.kind == OpKind::kScanBack);
    Seen& seen = player->seen.back();
    const Status status = by_steps ? StepScan(player) : Do(actor, op, &seen);
    std::string told = Describe(op) + (status.ok() ? ":" : ": refused");
    for (const uint32_t value : seen) told += " " + std::to_string(value);
    Tell(*player, told);
    if (status.ok()) return;
    ASSERT_TRUE(status.Is(Code::kDeadlock) || status.Is(Code::kLockTimeout))
        << CodeName(status.code());
    player->scanning = false;
    ASSERT_TRUE(fixture_.Rollback(actor).ok());
    player->ended = true;
  }
  void Tell(const Player& player, const std::string& what) {
    told_ += "T" + std::to_string(player.number) + " " + what + "\n";
  }
  Model State() {
    Actor reader(manager());
    RowFixture::Begin(&reader);
    const Seen seen = ScanOk(&reader, {.kind = OpKind::kScan, .high = ids_, .limit = ids_});
    EXPECT_TRUE(fixture_.Commit(&reader).ok());
    Model state;
    for (size_t i = 0; i < seen.size(); i += 3) state[seen[i]] = {seen[i + 1], seen[i + 2]};
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
  std::vector<std::unique_ptr<Player>> MakePlayers() {
    std::vector<std::unique_ptr<Player>> players;
    for (size_t i = 0, count = 2 + random_.Below(3); i < count; ++i) {
      players.push_back(std::make_unique<Player>(manager(), i));
      const size_t ops = 1 + random_.Below(4);
      while (players.back()->ops.size() < ops) players.back()->ops.push_back(RandomOp());
    }
    return players;
  }
  void Play(const std::vector<std::unique_ptr<Player>>& players, bool optimistic) {
    std::vector<Player*> begun;
    for (;;) {
      std::vector<Player*> left;
      for (const auto& player : players) {
        if (!player->ended) left.push_back(player.get());
      }
      if (left.empty() || HasFatalFailure()) break;
      Player* player = left[random_.Below(left.size())];
      if (std::find(begun.begin(), begun.end(), player) == begun.end()) {
        begun.push_back(player);
        const bool reads = std::all_of(player->ops.begin(), player->ops.end(),
                                       [](const Op& op) { return Reads(op.kind); });
        const bool read_only = reads && random_.OneIn(2);
        Begin(&player->actor, read_only, optimistic);
        Tell(*player, read_only ? "begins to read" : "begins");
      }
      Step(player);
      if (!random_.OneIn(10)) continue;
      fixture_.Purge();
      told_ += "purge\n";
    }
    begun_ += begun.size();
  }
  /// One history; false: no serial order explains it.
  bool PlayHistory(bool optimistic) {
    const Model before = State();
    told_.clear();
    for (const auto& [id, row] : before) {
      told_ += "row " + std::to_string(id) + ": " + std::to_string(row.a) + " " +
               std::to_string(row.b) + "\n";
    }
    const std::vector<std::unique_ptr<Player>> players = MakePlayers();
    Play(players, optimistic);
    if (HasFatalFailure()) return false;
    EXPECT_EQ(manager()->serial()->size(), 0u);
    EXPECT_EQ(manager()->serial()->memory_bytes(), 0u);
    std::vector<const Player*> committed;
    for (const auto& player : players) {
      if (player->committed) committed.push_back(player.get());
    }
    committed_ += committed.size();
    return IsSerializable(committed, before, State());
  }

  void PlayHistories(int rounds) {
    if (TestSetting("ROWAN_TEST_LONG", 0) != 0) rounds *= 10;
    for (int round = 0; round < rounds; ++round) {
      ASSERT_TRUE(PlayHistory(true)) << "round " << round << "\n" << told_;
    }
    std::printf("%zu of %zu transactions committed\n", committed_, begun_);
  }

  Random random_{TestSeed()};
  uint32_t ids_ = 6;
  uint32_t limit_ = 4;  ///< rows of a scan
  bool steps_ = false;  ///< scans go on by a row when it is their turn
  std::string told_;    ///< the history, for whoever has to find out what is wrong with it
  size_t committed_ = 0;
  size_t begun_ = 0;
};

TEST_F(SerialHistoryTest, RandomHistoriesAreSerializable) {
  Fill({{0, 0}, {2, 1}, {3, 1}, {5, 3}});
  PlayHistories(20'000);
}

/// Summaries and merged ranges refuse more, and let nothing through.
TEST_F(SerialHistoryTest, SoTheyAreWithoutMemory) {
  Fill({{0, 0}, {2, 1}, {3, 1}, {5, 3}});
  manager()->SetLockMemoryMax(2000);
  PlayHistories(4000);
  EXPECT_GT(committed_, begun_ / 10);
}

/// Leaves of a few rows each, which split and merge under the scans.
TEST_F(SerialHistoryTest, SoTheyAreWhileOthersChangeWhatIsBeingScanned) {
  text_.assign(TestPageSizeBytes() / 8, 'x');
  ids_ = 24;
  limit_ = 20;
  steps_ = true;
  Fill({{0, 0}, {5, 1}, {7, 1}, {8, 0}, {11, 3}, {12, 0}, {15, 0}, {17, 1}, {20, 2}});
  PlayHistories(3000);
}

TEST_F(SerialHistoryTest, TheCheckFindsWhatSnapshotIsolationLetsThrough) {
  Fill({{0, 0}, {2, 1}, {3, 1}, {5, 3}});
  int found = 0;
  for (int round = 0; round < 1000; ++round) found += PlayHistory(false) ? 0 : 1;
  EXPECT_GT(found, 0);
  std::printf("%d of 1000 histories are not serializable; %zu of %zu transactions committed\n",
              found, committed_, begun_);
}

}  // namespace
}  // namespace rowan::serial_history_test
