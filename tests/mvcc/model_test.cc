// SPDX-License-Identifier: GPL-2.0-only
// Random programs of several interleaved transactions against a serial model: maps of rows, one
// copy per snapshot. One thread: a transaction that would have to wait times out at once, and the
// model says whether it had a reason to.
#include <algorithm>
#include <set>

#include "base/counters.h"
#include "base/random.h"
#include "mvcc/undo/undo_check.h"
#include "tests/mvcc/row_fixture.h"

namespace rowan {
namespace {

using Rows = std::map<uint32_t, TestRow>;
using Changes = std::map<uint32_t, std::optional<TestRow>>;

/// How many different ones there are: few, so that transactions meet.
struct Domain {
  uint32_t ids = 24;
  uint32_t values_a = 6;
  uint32_t values_b = 32;
};

struct ModelTxn {
  explicit ModelTxn(TxnManager* manager) : actor(manager) {}

  struct Savepoint {
    UndoPosition position;
    Changes own;
  };
  Actor actor;
  Changes own;
  std::optional<Rows> snapshot;  ///< of the rows committed when it was taken
  std::vector<Savepoint> savepoints;
  // What others may have to wait for: everything ever asked for.
  std::set<uint32_t> touched_ids;
  std::set<uint32_t> touched_b;

  [[nodiscard]] bool repeatable() const {
    return actor.txn.isolation == IsolationLevel::kRepeatableRead;
  }
};

Rows Overlay(Rows rows, const Changes& changes) {
  for (const auto& [id, row] : changes) {
    if (row.has_value()) {
      rows[id] = *row;
    } else {
      rows.erase(id);
    }
  }
  return rows;
}

class ModelTest : public ::testing::Test {
 protected:
  ModelTest() = default;
  ModelTest(uint32_t page_bytes, const Domain& domain)
      : fixture_(page_bytes, std::max(TestPoolPages(), 512U)), domain_(domain) {}

  void Run(uint64_t seed, int rounds, int steps) {
    random_.emplace(seed);
    SCOPED_TRACE(seed);
    for (int round = 0; round < rounds && !HasFailure(); ++round) {
      for (int step = 0; step < steps && !HasFailure(); ++step) Step();
      while (!txns_.empty() && !HasFailure()) End(0, random_->OneIn(3));
      if (!HasFailure()) CheckQuiet();
    }
  }

  void Step() {
    const uint64_t choice = random_->Below(100);
    if (txns_.size() < 2 || (choice < 4 && txns_.size() < 6)) return Start();
    const size_t number = random_->Below(txns_.size());
    ModelTxn& txn = *txns_[number];
    if (choice < 8) return End(number, random_->OneIn(3));
    if (choice < 12) {
      txn.savepoints.push_back({fixture_.manager()->Savepoint(&txn.actor.txn), txn.own});
    } else if (choice < 16) {
      RollbackToSavepoint(&txn);
    } else if (choice < 20) {
      fixture_.Purge();
    } else if (choice < 45) {
      Write(&txn, random_->Below(domain_.ids));
    } else if (choice < 70) {
      Write(&txn, random_->Below(4));  // hot rows: long chains, entries that come and go
    } else if (choice < 80) {
      LockingGet(&txn, random_->Below(domain_.ids));
    } else {
      CheckView(&txn);
    }
  }

  void Start() {
    txns_.push_back(std::make_unique<ModelTxn>(fixture_.manager()));
    ModelTxn& txn = *txns_.back();
    RowFixture::Begin(&txn.actor, random_->OneIn(3) ? IsolationLevel::kReadCommitted
                                                    : IsolationLevel::kRepeatableRead);
    txn.actor.txn.locks.wait_timeout_s = 0;
  }

  void End(size_t number, bool roll_back) {
    ModelTxn& txn = *txns_[number];
    if (random_->OneIn(2)) CheckView(&txn);
    if (roll_back) {
      RowFixture::Expect(fixture_.Rollback(&txn.actor));
    } else {
      RowFixture::Expect(fixture_.Commit(&txn.actor));
      committed_ = Overlay(std::move(committed_), txn.own);
    }
    txns_.erase(txns_.begin() + static_cast<ptrdiff_t>(number));
  }

  void RollbackToSavepoint(ModelTxn* txn) {
    if (txn->savepoints.empty()) return;
    const size_t kept = random_->Below(txn->savepoints.size());
    RowFixture::Expect(
        fixture_.manager()->RollbackTo(&txn->actor.txn, txn->savepoints[kept].position));
    txn->own = txn->savepoints[kept].own;
    txn->savepoints.resize(kept + 1);
  }

  TestRow RandomRow() {
    TestRow row;
    row.a = static_cast<uint32_t>(random_->Below(domain_.values_a));
    row.b = static_cast<uint32_t>(random_->Below(domain_.values_b));
    const size_t length = random_->OneIn(8) ? random_->Below(400) : random_->Below(3);
    row.text.assign(length, static_cast<char>('a' + random_->Below(3)));
    return row;
  }

  void Write(ModelTxn* txn, uint64_t which) {
    const auto id = static_cast<uint32_t>(which);
    const Rows current = Overlay(committed_, txn->own);
    const auto found = current.find(id);
    const bool exists = found != current.end();
    TestRow row = RandomRow();
    txn->touched_ids.insert(id);
    if (exists) txn->touched_b.insert(found->second.b);
    if (!exists || random_->OneIn(12)) {
      txn->touched_b.insert(row.b);
      const Status status = fixture_.Insert(&txn->actor, id, row);
      Judge(*txn, id, row, status, exists ? Code::kDuplicate : UniqueOutcome(current, id, row.b));
      if (status.ok()) txn->own[id] = row;
      return;
    }
    if (random_->OneIn(3)) {
      const Status status = fixture_.Delete(&txn->actor, id, found->second);
      Judge(*txn, id, found->second, status, Code::kOk);
      if (status.ok()) txn->own[id] = std::nullopt;
      return;
    }
    if (random_->OneIn(2)) row.b = found->second.b;
    if (random_->OneIn(2)) row.a = found->second.a;
    txn->touched_b.insert(row.b);
    const Status status = fixture_.Update(&txn->actor, id, found->second, row);
    Judge(*txn, id, row, status,
          row.b == found->second.b ? Code::kOk : UniqueOutcome(current, id, row.b));
    if (status.ok()) txn->own[id] = row;
  }

  static Code UniqueOutcome(const Rows& current, uint32_t id, uint32_t b) {
    for (const auto& [other, row] : current) {
      if (other != id && row.b == b) return Code::kDuplicate;
    }
    return Code::kOk;
  }

  /// A time-out needs somebody to wait for; any other outcome nobody who forbids it.
  void Judge(const ModelTxn& txn, uint32_t id, const TestRow& row, Status status, Code expected) {
    bool may_wait = false;
    for (const auto& other : txns_) {
      if (other.get() == &txn) continue;
      may_wait = may_wait || other->touched_ids.count(id) != 0;
      for (const uint32_t b : txn.touched_b) may_wait = may_wait || other->touched_b.count(b) != 0;
      if (status.Is(Code::kLockTimeout)) continue;
      EXPECT_EQ(other->own.count(id), 0u) << "wrote over a row of an active transaction";
      if (!status.ok()) continue;
      for (const auto& [other_id, other_row] : other->own) {
        const bool clash = other_row.has_value() && other_id != id && other_row->b == row.b;
        EXPECT_FALSE(clash) << "two active rows with one unique value";
      }
    }
    if (status.Is(Code::kLockTimeout)) {
      EXPECT_TRUE(may_wait) << "nobody to wait for, id " << id;
    } else {
      EXPECT_EQ(CodeName(status.code()), std::string(CodeName(expected))) << "id " << id;
    }
  }

  void LockingGet(ModelTxn* txn, uint64_t which) {
    const auto id = static_cast<uint32_t>(which);
    const ReadMode mode = random_->OneIn(2) ? ReadMode::kLockShared : ReadMode::kLockExclusive;
    TestRow row;
    txn->touched_ids.insert(id);
    const Status status = fixture_.Get(&txn->actor, id, mode, &row);
    const Rows current = Overlay(committed_, txn->own);
    const bool exists = current.count(id) != 0;
    Judge(*txn, id, row, status, exists ? Code::kOk : Code::kNotFound);
    if (status.ok()) {
      EXPECT_TRUE(exists && row == current.at(id)) << "id " << id;
    }
  }

  // --- consistent reads ---
  void CheckView(ModelTxn* txn) {
    Txn* raw = &txn->actor.txn;
    if (!raw->snapshot.active()) fixture_.manager()->OpenSnapshot(raw);
    if (!txn->snapshot.has_value() || !txn->repeatable()) txn->snapshot = committed_;
    const Rows view = Overlay(*txn->snapshot, txn->own);
    std::vector<std::string> expected[3];
    for (const auto& [id, row] : view) {
      expected[0].push_back(BigEndian(id) + RowBytes(row));
      expected[1].push_back(RowFixture::KeyA(id, row) + row.text);
      expected[2].push_back(RowFixture::KeyB(id, row));
    }
    for (uint32_t number = 0; number < 3; ++number) {
      std::sort(expected[number].begin(), expected[number].end());
      txn->actor.cursor.Open(raw, fixture_.index(number), {});
      Walk(&txn->actor.cursor, expected[number]);
      txn->actor.cursor.Open(raw, fixture_.index(number), {});
      Result<uint64_t> count = txn->actor.cursor.CountRange({}, {});
      ASSERT_TRUE(count.ok());
      EXPECT_EQ(*count, view.size()) << "index " << number;
    }
    CheckGets(txn, view);
    txn->actor.cursor.Close();
    if (!txn->repeatable()) fixture_.manager()->CloseSnapshot(raw);
  }

  /// To the end with turns on the way, then back to the start.
  void Walk(VersionCursor* cursor, const std::vector<std::string>& expected) {
    VersionView view;
    size_t place = 0;
    Status status = cursor->SeekFirst(&view);
    const size_t turns_one_in = 1 + random_->Below(8);
    while (status.ok()) {
      ASSERT_LT(place, expected.size());
      EXPECT_EQ(std::string(AsText(view.key)) + std::string(AsText(view.value)), expected[place]);
      if (place > 0 && random_->OneIn(2 + turns_one_in)) {
        status = cursor->Prev(&view);
        --place;
      } else {
        status = cursor->Next(&view);
        ++place;
      }
    }
    EXPECT_TRUE(status.Is(Code::kEndOfRange)) << status.message();
    EXPECT_EQ(place, expected.size());
    status = cursor->Prev(&view);
    for (; status.ok(); status = cursor->Prev(&view)) {
      ASSERT_GT(place, 0u);
      --place;
      EXPECT_EQ(std::string(AsText(view.key)) + std::string(AsText(view.value)), expected[place]);
    }
    EXPECT_TRUE(status.Is(Code::kEndOfRange)) << status.message();
    EXPECT_EQ(place, 0u);
  }

  void CheckGets(ModelTxn* txn, const Rows& view) {
    for (uint32_t id = 0; id < domain_.ids; ++id) {
      TestRow row;
      const Status status = fixture_.Get(&txn->actor, id, ReadMode::kSnapshot, &row);
      const auto found = view.find(id);
      EXPECT_EQ(status.ok(), found != view.end()) << "id " << id;
      if (found == view.end() || !status.ok()) continue;
      EXPECT_EQ(row, found->second);
      CheckNeighbour(&txn->actor.cursor, view, found);
      VersionView entry;
      txn->actor.cursor.Open(&txn->actor.txn, fixture_.index(1), {});
      EXPECT_TRUE(txn->actor.cursor.Get(AsBytes(RowFixture::KeyA(id, row)), &entry).ok());
      EXPECT_EQ(AsText(entry.value), row.text);
    }
  }

  /// A scan goes on, in both directions, from a row that was looked up.
  void CheckNeighbour(VersionCursor* cursor, const Rows& view, Rows::const_iterator row) {
    const bool forward = random_->OneIn(2);
    VersionView next;
    const Status status = forward ? cursor->Next(&next) : cursor->Prev(&next);
    const bool at_end = forward ? std::next(row) == view.end() : row == view.begin();
    ASSERT_EQ(status.code(), at_end ? Code::kEndOfRange : Code::kOk) << "id " << row->first;
    if (at_end) return;
    const auto expected = forward ? std::next(row) : std::prev(row);
    EXPECT_EQ(AsText(next.key), BigEndian(expected->first));
    EXPECT_EQ(ParseTestRow(next.value), expected->second);
  }

  /// Nobody is active: after purge nothing is left but the live rows.
  void CheckQuiet() {
    fixture_.Purge();
    const auto rows = fixture_.Raw(0);
    ASSERT_EQ(rows.size(), committed_.size());
    size_t place = 0;
    for (const auto& [id, row] : committed_) {
      ClusteredHeader header;
      Bytes bytes;
      ASSERT_TRUE(ParseClustered(AsBytes(rows[place].value), &header, &bytes));
      EXPECT_EQ(rows[place].key, BigEndian(id));
      EXPECT_FALSE(header.deleted);
      EXPECT_EQ(ParseTestRow(bytes), row);
      ++place;
    }
    EXPECT_EQ(fixture_.Raw(1).size(), committed_.size());
    EXPECT_EQ(fixture_.Raw(2).size(), committed_.size());
    EXPECT_EQ(fixture_.manager()->locks()->lock_count(), 0u);
    RowFixture::Expect(UndoCheck(fixture_.manager()->undo()->streams()).Run());
  }

  RowFixture fixture_;
  const Domain domain_;
  std::optional<Random> random_;
  Rows committed_;
  std::vector<std::unique_ptr<ModelTxn>> txns_;
};

TEST_F(ModelTest, RandomProgramsReadAndEndLikeTheModel) { Run(TestSeed(), 30, 300); }

TEST_F(ModelTest, ManyShortRounds) { Run(TestSeed() + 1, 200, 30); }

/// Leaves that fill up, so that entries lose their creators before they would be split.
class CrowdedModelTest : public ModelTest {
 protected:
  CrowdedModelTest() : ModelTest(4096, {.ids = 500, .values_a = 40, .values_b = 1U << 20}) {}

  void Fill() {
    Start();
    for (uint32_t id = 0; id < domain_.ids; ++id) Write(txns_.back().get(), id);
    End(txns_.size() - 1, false);
    fixture_.Purge();
  }
};

TEST_F(CrowdedModelTest, EntriesLoseTheirCreatorsUnnoticed) {
  random_.emplace(TestSeed() + 2);
  Fill();
  ResetCounters();
  Run(TestSeed() + 2, 5, 400);
  // How many depends on the program.
  RecordProperty("entries_shortened", static_cast<int>(ReadCounter(Counter::kEntriesShortened)));
}

}  // namespace
}  // namespace rowan
