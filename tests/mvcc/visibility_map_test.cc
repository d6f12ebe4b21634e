// SPDX-License-Identifier: GPL-2.0-only
// Counts and positions by the visibility map: always what a walk over the entries says, whoever
// writes beside, however old the snapshot; and without visits where nothing changed.
#include <algorithm>
#include <atomic>
#include <thread>

#include "base/counters.h"
#include "base/random.h"
#include "tests/mvcc/row_fixture.h"

namespace rowan::visibility_map_test {
namespace {

constexpr uint32_t kPageBytes = 4096;  // many leaves of few rows

TestRow RowOf(uint32_t id) { return {id * 7 % 1000, id, "some text"}; }

/// A snapshot that reads by itself.
struct Reader {
  explicit Reader(RowFixture* fixture) : fixture_(fixture), actor(fixture->manager()) {
    RowFixture::Begin(&actor);
    fixture_->manager()->OpenSnapshot(&actor.txn);
  }
  ~Reader() {
    actor.cursor.Close();
    fixture_->manager()->CloseSnapshot(&actor.txn);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  uint64_t Count(uint32_t index, Bytes from = {}, Bytes end = {}) {
    actor.cursor.Open(&actor.txn, fixture_->index(index), {});
    return RowFixture::Take(actor.cursor.CountRange(from, end));
  }
  /// By a walk over the entries.
  std::vector<std::string> Keys(uint32_t index) {
    std::vector<std::string> keys;
    actor.cursor.Open(&actor.txn, fixture_->index(index), {});
    VersionView view;
    Status status = actor.cursor.SeekFirst(&view);
    for (; status.ok(); status = actor.cursor.Next(&view)) keys.emplace_back(AsText(view.key));
    EXPECT_TRUE(status.Is(Code::kEndOfRange));
    return keys;
  }
  Status Number(uint32_t index, Bytes from, Bytes end, SnapshotScan::Ordinal ordinal,
                std::string* key) {
    actor.cursor.Open(&actor.txn, fixture_->index(index), {});
    VersionView view;
    const Status status = actor.cursor.SeekNumber(from, end, ordinal, &view);
    if (status.ok()) *key = AsText(view.key);
    return status;
  }

  RowFixture* const fixture_;
  Actor actor;
};

class VisibilityMapTest : public ::testing::Test {
 protected:
  void Fill(uint32_t rows) {
    Actor writer(fixture_.manager());
    RowFixture::Begin(&writer);
    for (uint32_t id = 0; id < rows; ++id) {
      RowFixture::Expect(fixture_.Insert(&writer, id, RowOf(id)));
    }
    RowFixture::Expect(fixture_.Commit(&writer));
  }
  /// In a transaction of its own.
  template <typename Change>
  void Do(Change change) {
    Actor writer(fixture_.manager());
    RowFixture::Begin(&writer);
    RowFixture::Expect(change(&writer));
    RowFixture::Expect(fixture_.Commit(&writer));
  }
  static uint64_t NotVisited() { return ReadCounter(Counter::kLeavesNotVisited); }
  static uint64_t Visited() { return ReadCounter(Counter::kLeavesAllVisible); }
  void CheckTrees() {
    for (uint32_t index = 0; index < 3; ++index) fixture_.Raw(index);
  }
  /// Random ranges and positions of an index against the walk.
  void Compare(Reader* reader, uint32_t index, const std::vector<std::string>& keys,
               Random* random);

  RowFixture fixture_{kPageBytes, std::max(TestPoolPages(), 512U)};
};

void VisibilityMapTest::Compare(Reader* reader, uint32_t index,
                                const std::vector<std::string>& keys, Random* random) {
  const auto bound = [&] {
    // Keys, places between them, and none.
    if (keys.empty() || random->OneIn(6)) return std::string();
    std::string key = keys[random->Below(keys.size())];
    if (random->OneIn(3)) key.resize(random->Below(key.size()) + 1);
    return key;
  };
  std::string from = bound();
  std::string end = bound();
  if (!end.empty() && end < from) from.swap(end);
  const auto first = std::lower_bound(keys.begin(), keys.end(), from);
  const auto last = end.empty() ? keys.end() : std::lower_bound(keys.begin(), keys.end(), end);
  const auto count = static_cast<uint64_t>(last - first);
  ASSERT_EQ(reader->Count(index, AsBytes(from), AsBytes(end)), count);
  SnapshotScan::Ordinal ordinal{random->Below(count + 2), ForwardIf(random->OneIn(2))};
  std::string key;
  const Status found = reader->Number(index, AsBytes(from), AsBytes(end), ordinal, &key);
  ASSERT_EQ(found.ok(), ordinal.number < count) << found.message();
  if (!found.ok()) return;
  const auto number = static_cast<ptrdiff_t>(ordinal.number);
  const bool forward = ordinal.direction == Direction::kForward;
  ASSERT_EQ(key, forward ? *(first + number) : *(last - 1 - number));
}

TEST_F(VisibilityMapTest, MapLearnsOfLeavesThatAreCountedInPart) {
  Fill(500);
  Tree& tree = fixture_.index(0)->tree;
  tree.ForgetLeafMap();
  const auto count = [&] {
    Reader reader(&fixture_);
    return reader.Count(0, AsBytes(BigEndian(203)), AsBytes(BigEndian(207)));
  };
  EXPECT_EQ(count(), 4u);
  const uint64_t known = tree.leaf_map().Summarize(TxnId(kTxnIdLimit)).known;
  EXPECT_GE(known, 1u);
  EXPECT_LE(known, 2u);
  EXPECT_EQ(count(), 4u);
  Do([&](Actor* writer) { return fixture_.Delete(writer, 204, RowOf(204)); });
  EXPECT_EQ(count(), 3u);
  CheckTrees();
}

TEST_F(VisibilityMapTest, QuietTableIsCountedWithoutVisits) {
  Fill(5000);
  for (uint32_t index = 0; index < 3; ++index) {
    Reader reader(&fixture_);
    ResetCounters();
    EXPECT_EQ(reader.Count(index), 5000U);
    EXPECT_GT(NotVisited(), 20U);
    EXPECT_EQ(Visited(), 0U);
  }
}

TEST_F(VisibilityMapTest, EntryIsFoundWithoutCopiesOfItsNeighbours) {
  Fill(5000);
  Reader reader(&fixture_);
  for (const bool forward : {true, false}) {
    std::string key;
    reader.actor.cursor.TakeCounts();
    RowFixture::Expect(reader.Number(0, {}, {}, {2345, ForwardIf(forward)}, &key));
    // The one that is found, and the same one by its key.
    EXPECT_LE(reader.actor.cursor.TakeCounts().examined_entries, 4U);
  }
}

TEST_F(VisibilityMapTest, RowsThatASnapshotPassesOverAreCountedOnce) {
  constexpr uint32_t kRows = 2000;  // on dozens of leaves
  Reader old(&fixture_);
  Fill(kRows);
  Do([&](Actor* writer) {  // a second version: the reader has to look for its own
    for (uint32_t id = 0; id < kRows; ++id) {
      TestRow changed = RowOf(id);
      changed.text = "other text";
      const Status status = fixture_.Update(writer, id, RowOf(id), changed);
      if (!status.ok()) return status;
    }
    return Status::Ok();
  });
  old.actor.cursor.TakeCounts();
  EXPECT_TRUE(old.Keys(0).empty());
  const ReadCounts counts = old.actor.cursor.TakeCounts();
  EXPECT_EQ(counts.examined_entries, kRows);
  EXPECT_LT(counts.examined_bytes, kRows * 50);
}

TEST_F(VisibilityMapTest, MapIsRebuiltByReaders) {
  Fill(3000);
  const Index& built = *fixture_.index(1);
  // As after a restart: the same tree, nothing known.
  Index again(fixture_.allocator(), built.tree.space(), built.tree.root(), built.id(), built.table,
              false);
  Reader reader(&fixture_);
  VersionCursor* cursor = &reader.actor.cursor;
  const auto count = [&] {
    ResetCounters();
    cursor->Open(&reader.actor.txn, &again, {});
    return RowFixture::Take(cursor->CountRange({}, {}));
  };
  EXPECT_EQ(count(), 3000U);
  EXPECT_EQ(NotVisited(), 0U);
  EXPECT_EQ(count(), 3000U);
  EXPECT_GT(NotVisited(), 20U);
  EXPECT_EQ(Visited(), 0U);
  cursor->Close();
}

TEST_F(VisibilityMapTest, OpenWriterTakesTheMapOnlyFromItsLeaves) {
  Fill(5000);
  Actor open(fixture_.manager());
  RowFixture::Begin(&open);
  RowFixture::Expect(fixture_.Delete(&open, 100, RowOf(100)));
  Reader old(&fixture_);
  // Others change a few leaves and commit; only these have to be visited by anybody.
  for (uint32_t id = 2000; id < 2010; ++id) {
    Do([&](Actor* writer) { return fixture_.Delete(writer, id, RowOf(id)); });
  }
  Reader young(&fixture_);
  const uint64_t leaves = [&] {
    ResetCounters();
    EXPECT_EQ(young.Count(0), 4990U);
    return NotVisited();
  }();
  EXPECT_GT(leaves, 20U);
  ResetCounters();
  EXPECT_EQ(old.Count(0), 5000U);
  EXPECT_GE(NotVisited() + 2, leaves);
  RowFixture::Expect(fixture_.Rollback(&open));
  EXPECT_EQ(young.Count(0), 4990U);
  EXPECT_EQ(old.Count(0), 5000U);
}

TEST_F(VisibilityMapTest, OpenWriterDoesNotHideWhatAllSee) {
  Fill(5000);
  Actor open(fixture_.manager());
  RowFixture::Begin(&open);
  RowFixture::Expect(fixture_.Delete(&open, 100, RowOf(100)));
  for (uint32_t id = 0; id < 5000; id += 10) {
    Do([&](Actor* writer) { return fixture_.Delete(writer, id + 1, RowOf(id + 1)); });
  }
  fixture_.manager()->RefreshHorizon();
  Reader reader(&fixture_);
  for (uint32_t index = 0; index < 2; ++index) {
    EXPECT_EQ(reader.Count(index), 4500U);  // proves leaf by leaf
    const uint64_t looks = fixture_.manager()->OutcomeMapLooks();
    ResetCounters();
    EXPECT_EQ(reader.Count(index), 4500U);
    EXPECT_GT(NotVisited(), 20U);
    EXPECT_LE(Visited(), 2U);
    EXPECT_EQ(fixture_.manager()->OutcomeMapLooks(), looks);
  }
  RowFixture::Expect(fixture_.Rollback(&open));
  EXPECT_EQ(reader.Count(0), 4500U);
  CheckTrees();
}

TEST_F(VisibilityMapTest, CheckFindsStampsThatAreTooLow) {
  Fill(3000);
  Reader old(&fixture_);
  Do([&](Actor* writer) { return fixture_.Delete(writer, 1000, RowOf(1000)); });
  Actor open(fixture_.manager());
  RowFixture::Begin(&open);
  RowFixture::Expect(fixture_.Insert(&open, 9050, RowOf(9050)));
  for (uint32_t index = 0; index < 2; ++index) {
    RowFixture::Expect(fixture_.Check(index, {}));
    Tree& tree = fixture_.index(index)->tree;
    std::vector<PageNumber> changed;
    RowFixture::Expect(tree.Check({}, [&](PageNumber page) {
      const LeafWord word = tree.leaf_map().Get(page);
      if (word.known() && !word.HoldsFor(old.actor.txn.snapshot.low_txn)) changed.push_back(page);
    }));
    EXPECT_GE(changed.size(), 2U);
    for (const PageNumber page : changed) {
      const LeafWord word = tree.leaf_map().Get(page);
      tree.NoteLeaf(page, {word.live(), word.live() + (word.clean() ? 0 : 1), kNoTxn});
      EXPECT_TRUE(fixture_.Check(index, {}).Is(Code::kCorrupt));
      tree.NoteLeaf(page, word);
    }
    RowFixture::Expect(fixture_.Check(index, {}));
  }
  RowFixture::Expect(fixture_.Rollback(&open));
}

TEST_F(VisibilityMapTest, OwnChangesCount) {
  Fill(2000);
  Reader reader(&fixture_);
  RowFixture::Expect(fixture_.Delete(&reader.actor, 7, RowOf(7)));
  RowFixture::Expect(fixture_.Insert(&reader.actor, 9000, RowOf(9000)));
  RowFixture::Expect(fixture_.Delete(&reader.actor, 8, RowOf(8)));
  for (uint32_t index = 0; index < 3; ++index) {
    EXPECT_EQ(reader.Count(index), 1999U);
    EXPECT_EQ(reader.Keys(index).size(), 1999U);
  }
  RowFixture::Expect(fixture_.Rollback(&reader.actor));
}

TEST_F(VisibilityMapTest, RandomProgram) {
  Random random(TestSeed());
  std::map<uint32_t, TestRow> rows;
  std::vector<std::pair<std::unique_ptr<Reader>, size_t>> readers;
  for (int step = 0; step < 600 && !HasFailure(); ++step) {
    Actor writer(fixture_.manager());
    RowFixture::Begin(&writer);
    std::map<uint32_t, TestRow> changed = rows;
    const uint32_t start = random.Below(4000);
    const uint32_t length = 1 + random.Below(random.OneIn(8) ? 400 : 10);
    for (uint32_t id = start; id < start + length; ++id) {
      const auto found = changed.find(id);
      if (found == changed.end()) {
        changed[id] = RowOf(id);
        RowFixture::Expect(fixture_.Insert(&writer, id, changed[id]));
      } else if (start % 3 == 0) {
        TestRow row = found->second;
        row.a = random.Below(1000);
        RowFixture::Expect(fixture_.Update(&writer, id, found->second, row));
        found->second = row;
      } else {
        RowFixture::Expect(fixture_.Delete(&writer, id, found->second));
        changed.erase(found);
      }
    }
    if (random.OneIn(4)) {
      RowFixture::Expect(fixture_.Rollback(&writer));
    } else {
      RowFixture::Expect(fixture_.Commit(&writer));
      rows = changed;
    }
    if (random.OneIn(10)) fixture_.Purge();
    if (random.OneIn(20)) readers.emplace_back(std::make_unique<Reader>(&fixture_), rows.size());
    if (readers.size() > 4) readers.erase(readers.begin() + random.Below(4));
    for (const auto& [reader, count] : readers) {
      const uint32_t index = random.Below(3);
      ASSERT_EQ(reader->Count(index), count);
      if (random.OneIn(8)) Compare(reader.get(), index, reader->Keys(index), &random);
    }
  }
  CheckTrees();
}

/// Writers that each own every n-th id and keep moving their rows about, all rows of a stretch in a
/// transaction: the number of rows is the same for every snapshot.
class MovingRows {
 public:
  static constexpr uint32_t kWriters = 3;
  static constexpr uint32_t kPlaces = 2000;
  static constexpr uint32_t kRowsEach = 500;

  MovingRows(RowFixture* fixture, uint32_t number)
      : fixture_(fixture), actor_(fixture->manager()), random_(TestSeed() + number), own_(number) {
    for (uint32_t place = 0; place < kRowsEach; ++place) places_.push_back(place);
    actor_.txn.locks.wait_timeout_s = 5;
  }
  Status InsertAll(Actor* actor) {
    for (const uint32_t place : places_) {
      const Status status = fixture_->Insert(actor, Id(place), RowOf(Id(place)));
      if (!status.ok()) return status;
    }
    return Status::Ok();
  }
  /// Moves some neighbours elsewhere, or changes their entries; now and then rolls back.
  Status Step() {
    RowFixture::Begin(&actor_);
    std::vector<uint32_t> places = places_;
    const size_t first = random_.Below(places.size());
    const size_t last = std::min(places.size(), first + 1 + random_.Below(60));
    uint32_t target = random_.Below(kPlaces);
    for (size_t i = first; i < last; ++i) {
      while (std::find(places.begin(), places.end(), target) != places.end()) {
        target = (target + 1) % kPlaces;
      }
      Status status = fixture_->Delete(&actor_, Id(places[i]), RowOf(Id(places[i])));
      if (status.ok()) status = fixture_->Insert(&actor_, Id(target), RowOf(Id(target)));
      if (!status.ok()) return status;
      places[i] = target;
    }
    if (random_.OneIn(4)) return fixture_->Rollback(&actor_);
    std::sort(places.begin(), places.end());
    places_ = std::move(places);
    return fixture_->Commit(&actor_);
  }

 private:
  [[nodiscard]] uint32_t Id(uint32_t place) const { return place * kWriters + own_; }

  RowFixture* const fixture_;
  Actor actor_;
  Random random_;
  const uint32_t own_;
  std::vector<uint32_t> places_;
};

TEST_F(VisibilityMapTest, CountsAmongWriters) {
  constexpr uint64_t kRows = uint64_t{MovingRows::kWriters} * MovingRows::kRowsEach;
  std::vector<std::unique_ptr<MovingRows>> movers;
  for (uint32_t i = 0; i < MovingRows::kWriters; ++i) {
    movers.push_back(std::make_unique<MovingRows>(&fixture_, i));
    Do([&](Actor* actor) { return movers.back()->InsertAll(actor); });
  }
  std::atomic<int> working{MovingRows::kWriters};
  std::vector<std::thread> threads;
  for (auto& mover : movers) {
    threads.emplace_back([&, mover = mover.get()] {
      for (int step = 0; step < 60 && !HasFailure(); ++step) RowFixture::Expect(mover->Step());
      --working;
    });
  }
  threads.emplace_back([&] {
    while (working != 0) {
      fixture_.Purge();
      std::this_thread::yield();
    }
  });
  Reader old(&fixture_);
  threads.emplace_back([&] {
    Random random(TestSeed() + 100);
    while (working != 0 && !HasFailure()) {
      Reader reader(&fixture_);
      for (int round = 0; round < 4; ++round) {
        for (uint32_t index = 0; index < 3; ++index) ASSERT_EQ(reader.Count(index), kRows);
        const uint32_t index = random.Below(3);
        const std::vector<std::string> keys = reader.Keys(index);
        for (int i = 0; i < 5; ++i) Compare(&reader, index, keys, &random);
      }
    }
  });
  while (working != 0 && !HasFailure()) {
    for (uint32_t index = 0; index < 3; ++index) ASSERT_EQ(old.Count(index), kRows);
  }
  for (std::thread& thread : threads) thread.join();
  CheckTrees();
}

}  // namespace
}  // namespace rowan::visibility_map_test
