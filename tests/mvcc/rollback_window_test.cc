// SPDX-License-Identifier: GPL-2.0-only
// What workers that share a rollback are given: units that keep the order, whatever the records are
// like, little reading in search of them, nothing to join when there are none; and nothing is lost
// when reading fails while the undo is dropped.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/logging.h"
#include "base/random.h"
#include "mvcc/undo/rollback_window.h"
#include "tests/mvcc/undo_fixture.h"

namespace rowan::rollback_window_test {
namespace {

constexpr uint32_t kPageBytes = 4096;
constexpr uint64_t kEnough = 1'000'000;

/// One record: a row or an entry of a change.
struct Record {
  uint32_t change = 0;
  uint32_t row = 0;
  UndoShare::Kind kind = UndoShare::kRow;
};
constexpr size_t kRecordBytes = 9;

Record RecordIn(Bytes payload) {
  return {LoadLe<uint32_t>(payload.data()), LoadLe<uint32_t>(payload.data() + 4),
          static_cast<UndoShare::Kind>(payload[8])};
}

/// Records that stand for no data, of any size and kind.
class RecordFixture : public UndoFixture {
 public:
  RecordFixture() : UndoFixture(1, kPageBytes) {
    records_alone = 10;
    Create();
  }

  void Put(Txn* txn, const Record& record, size_t bytes) {
    std::vector<std::byte> payload(std::max(bytes, kRecordBytes));
    StoreLe<uint32_t>(payload.data(), record.change);
    StoreLe<uint32_t>(payload.data() + 4, record.row);
    payload[8] = static_cast<std::byte>(record.kind);
    ASSERT_TRUE(manager().AssignId(txn).ok());
    ASSERT_TRUE(undo_log().EnsureRoom(txn, payload.size()).ok());
    MiniTxn mini_txn(&pool());
    ASSERT_TRUE(mini_txn.Start(UndoLog::LogBytesMax(payload.size()) + 100).ok());
    ASSERT_TRUE(
        undo_log()
            .Append(&mini_txn, txn, UndoType::kClusteredUpdate, IndexId(7), {Bytes(payload)})
            .ok());
    mini_txn.Commit();
  }
  /// Rows, each another one, that the next start finds unfinished.
  void PutRowsAndStart(uint32_t rows, size_t bytes, UndoShare::Kind kind = UndoShare::kRow) {
    Txn txn;
    for (uint32_t i = 0; i < rows; ++i) Put(&txn, {i, i, kind}, bytes);
    ASSERT_TRUE(manager().MakeDurable().ok());
    ASSERT_TRUE(Start(true).ok());
  }

  UndoShare ShareOf(const UndoRecordInPage& found) const override {
    looks.fetch_add(1);
    const Record record = RecordIn(found.payload);
    return {record.kind, (uint64_t{record.row} + 1) << 16};
  }
  Status Undo(Txn* txn, const UndoRecordCopy& record, UndoPointer pointer,
              WorkBudget* /*budget*/) override {
    const Record one = RecordIn(record.payload);
    EXPECT_TRUE(undone.insert(one.row).second) << one.row << " is undone twice";
    if (before_undo) before_undo(one);
    return undo_log().DropLast(txn, pointer);
  }

  mutable std::atomic<uint64_t> looks{0};  ///< at records, by windows
  std::set<uint32_t> undone;
  std::function<void(const Record&)> before_undo;
};

class RollbackWindowTest : public ::testing::Test {
 protected:
  /// The window of a transaction of this run.
  void Open() {
    txn_ = txn_owner_.get();
    ASSERT_TRUE(window_.TryOpen(&txn_owner_));
  }
  bool Take(UndoUnit* unit, const WorkBudget& budget = WorkBudget(kEnough)) {
    const auto share_of = [this](const UndoRecordInPage& record) {
      return fixture_.ShareOf(record);
    };
    return window_.Take(*fixture_.undo_log().streams()->space(), share_of, budget, unit);
  }
  void Close() {
    RollbackWindow::Outcome outcome;
    ASSERT_TRUE(window_.Leave(&outcome));
    txn_owner_ = std::move(outcome.txn);
  }
  /// Of a unit, oldest first.
  std::vector<Record> RecordsOf(const UndoUnit& unit) {
    std::vector<Record> records;
    for (auto slice = unit.slices.rbegin(); slice != unit.slices.rend(); ++slice) {
      Result<PageGuard> guard = fixture_.undo_log().streams()->space()->FixShared(slice->page);
      EXPECT_TRUE(guard.ok());
      UndoRecordInPage record;
      for (size_t at = slice->begin; at < slice->end; at += record.length) {
        EXPECT_TRUE(ParseUndoRecord(guard->page(), at, slice->end, &record));
        records.push_back(RecordIn(record.payload));
      }
    }
    return records;
  }
  /// Rows alone, rows with entries, and rows that move, of all sizes. Returns how many records.
  uint32_t PutChanges(Random* random, size_t bytes_max);

  RecordFixture fixture_;
  std::unique_ptr<Txn> txn_owner_ = std::make_unique<Txn>();
  Txn* txn_ = nullptr;
  RollbackWindow window_;
};

uint32_t RollbackWindowTest::PutChanges(Random* random, size_t bytes_max) {
  uint32_t row = 0;
  const auto put = [&](uint32_t change, UndoShare::Kind kind) {
    fixture_.Put(txn_owner_.get(), {change, row++, kind}, random->Between(1, bytes_max));
  };
  for (uint32_t change = 0; change < 300; ++change) {
    const uint64_t rows = random->OneIn(4) ? 2 : 1;
    const uint64_t entries = random->OneIn(3) ? 0 : random->Between(1, 5);
    for (uint64_t i = 0; i < rows; ++i) put(change, UndoShare::kRow);
    for (uint64_t i = 0; i < entries; ++i) put(change, UndoShare::kFollows);
  }
  return row;
}

TEST_F(RollbackWindowTest, NoUnitIsCutBetweenRowsAndTheirEntries) {
  Random random(TestSeed());
  for (const size_t bytes_max : {40u, 700u, 3500u}) {
    SCOPED_TRACE(bytes_max);
    txn_owner_ = std::make_unique<Txn>();
    const uint32_t count = PutChanges(&random, bytes_max);
    std::set<uint32_t> with_entries;
    std::map<uint32_t, size_t> unit_of;  // of a change
    Open();
    uint32_t next = count;  // records come from the newest to the oldest, none is left out
    UndoUnit unit;
    size_t units = 0;
    for (; Take(&unit); ++units) {
      const std::vector<Record> records = RecordsOf(unit);
      ASSERT_FALSE(records.empty());
      EXPECT_EQ(records.front().kind, UndoShare::kRow);
      for (auto record = records.rbegin(); record != records.rend(); ++record) {
        ASSERT_EQ(record->row, --next);
        if (record->kind == UndoShare::kFollows) with_entries.insert(record->change);
        const size_t first = unit_of.emplace(record->change, units).first->second;
        EXPECT_TRUE(first == units || !with_entries.contains(record->change))
            << "change " << record->change;
      }
      window_.GiveBack(unit, Status::Ok());
    }
    Close();
    EXPECT_GT(units, 2u);
    EXPECT_LT(next, count / 2) << "hardly any units";
    ASSERT_TRUE(fixture_.manager().Rollback(txn_owner_.get()).ok());
    fixture_.undone.clear();
  }
}

TEST_F(RollbackWindowTest, NobodyJoinsWhereNothingIsToBeHad) {
  for (uint32_t i = 0; i < 20; ++i) fixture_.Put(txn_owner_.get(), {i, i, UndoShare::kRow}, 1500);
  constexpr std::chrono::milliseconds kNoWait{0};
  EXPECT_EQ(window_.JoinOrWait(kNoWait), nullptr);
  Open();
  std::vector<UndoUnit> units(1);
  while (Take(&units.back())) {
    // There may be more behind the unit.
    if (units.size() == 1) {
      ASSERT_EQ(window_.JoinOrWait(kNoWait), txn_);
      RollbackWindow::Outcome outcome;
      ASSERT_FALSE(window_.Leave(&outcome));
    }
    units.emplace_back();
  }
  units.pop_back();
  ASSERT_GT(units.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(window_.JoinOrWait(kNoWait), nullptr);
  window_.GiveBack(units[0], Status::Ok());
  EXPECT_EQ(window_.JoinOrWait(kNoWait), nullptr);
  // A unit that comes back half done is for whoever waits.
  std::thread helper([&] {
    EXPECT_EQ(window_.JoinOrWait(std::chrono::minutes(1)), txn_);
    UndoUnit unit;
    EXPECT_TRUE(Take(&unit));
    window_.GiveBack(unit, Status(Code::kBusy));
    RollbackWindow::Outcome outcome;
    EXPECT_FALSE(window_.Leave(&outcome));
  });
  window_.GiveBack(units[1], Status(Code::kBusy));
  helper.join();
  // After a failure nothing is handed out.
  window_.GiveBack(units[2], Status(Code::kIoError));
  EXPECT_EQ(window_.JoinOrWait(kNoWait), nullptr);
  for (size_t i = 3; i < units.size(); ++i) window_.GiveBack(units[i], Status::Ok());
  Close();
  EXPECT_EQ(window_.JoinOrWait(kNoWait), nullptr);
  ASSERT_TRUE(fixture_.manager().Rollback(txn_owner_.get()).ok());
}

TEST_F(RollbackWindowTest, TheSearchForAUnitEndsWithTheShutdown) {
  for (uint32_t i = 0; i < 40; ++i) {
    fixture_.Put(txn_owner_.get(), {i, i, UndoShare::kFollows}, 1500);
  }
  Open();
  std::atomic<bool> stopping{false};
  uint64_t looks = 0;
  UndoUnit unit;
  const auto share_of = [&](const UndoRecordInPage& record) {
    ++looks;
    stopping = true;
    return fixture_.ShareOf(record);
  };
  const WorkBudget budget(kEnough, &stopping);
  EXPECT_FALSE(window_.Take(*fixture_.undo_log().streams()->space(), share_of, budget, &unit));
  EXPECT_EQ(looks, 2u) << "records of one page";
  Close();
  ASSERT_TRUE(fixture_.manager().Rollback(txn_owner_.get()).ok());
}

TEST(RollbackOfLargeRecordsTest, LittleIsReadInSearchOfUnits) {
  constexpr uint32_t kRows = 4000;
  // Two to a page, six, one; and what nobody can share.
  for (const auto& [bytes, kind] : {std::pair{1500, UndoShare::kRow},
                                    {600, UndoShare::kRow},
                                    {2500, UndoShare::kRow},
                                    {1500, UndoShare::kFollows}}) {
    SCOPED_TRACE(bytes);
    RecordFixture fixture;
    fixture.PutRowsAndStart(kRows, static_cast<size_t>(bytes), kind);
    while (fixture.manager().LoserCount() != 0) ASSERT_TRUE(fixture.RollbackUnit(100).ok());
    EXPECT_EQ(fixture.undone.size(), kRows);
    EXPECT_LT(fixture.looks.load(), 2 * kRows);
    fixture.CheckAll();
  }
}

TEST(RollbackOfLargeRecordsTest, AReadErrorWhileUndoIsDroppedLosesNothing) {
  constexpr uint32_t kRows = 3600;
  // More pages than the pool has: they are read again when they are dropped.
  for (const uint64_t nth : {1u, 2u, 5u, 20u, 90u}) {
    SCOPED_TRACE(nth);
    RecordFixture fixture;
    fixture.PutRowsAndStart(kRows, 300);
    fixture.before_undo = [&](const Record& record) {
      if (record.row != 20) return;
      fixture.file_system().Inject(
          {.call = FileCall::kRead, .path_part = "space_2", .nth_call = nth});
    };
    SetLogSink([](LogLevel, std::string_view) {});
    while (fixture.manager().LoserCount() != 0) ASSERT_TRUE(fixture.RollbackUnit(kEnough).ok());
    fixture.file_system().ClearFaults();
    SetLogSink({});
    EXPECT_EQ(fixture.manager().Describe().size(), 1u) << "no read failed";
    fixture.manager().RetryFailedRollbacks();
    while (fixture.manager().LoserCount() != 0) ASSERT_TRUE(fixture.RollbackUnit(kEnough).ok());
    EXPECT_TRUE(fixture.manager().Describe().empty());
    EXPECT_EQ(fixture.undone.size(), kRows);
    EXPECT_EQ(fixture.undo().Statistics().pages, fixture.undo().stream_count());
    fixture.CheckAll();
  }
}

}  // namespace
}  // namespace rowan::rollback_window_test
