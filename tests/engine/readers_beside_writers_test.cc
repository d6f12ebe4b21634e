// SPDX-License-Identifier: GPL-2.0-only
// Readers of every kind beside writers that update, delete and insert rows, with leaves that split
// and merge and purge at work: each snapshot sees whole transactions only. Every transaction leaves
// the sum of the values as it was.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "engine/stored_row.h"
#include "tests/engine/engine_fixture.h"

namespace rowan::readers_beside_writers_test {
namespace {

constexpr uint64_t kIds = 600;  // rows 1 to this may exist; the odd ones always do
constexpr uint32_t kValue = 1000;
constexpr uint64_t kWriters = 2;
constexpr int kReads = 25;  // of each reader

uint64_t ValueOfRow(Bytes row) { return ToyDecode(row).value; }

class ReadersBesideWritersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    world_.options.storage.page_size_bytes = 4096;
    ASSERT_TRUE(world_.Open().ok());
    table_ = world_.CreateTable("test/t");
    ASSERT_NE(table_, nullptr);
    model_ = world_.Fill(table_.get(), kIds, [](uint64_t id) {
      return ToyRow{kValue, static_cast<uint32_t>(id), std::string(id % 200, 'x')};
    });
  }

  /// Moves value from one row to others, which may come or go. A writer has ids of its own.
  void Write(uint64_t writer) {
    Random random(TestSeed() + writer);
    const std::unique_ptr<Session> session = world_.engine->NewSession();
    ToyRows rows;
    for (const auto& [id, row] : model_) {
      if (id / 2 % kWriters == writer) rows[id] = row;
    }
    constexpr int kTransactionsMin = 200;
    for (int i = 0; (readers_ > 0 || i < kTransactionsMin) && !HasFailure(); ++i) {
      ToyRows now = rows;
      session->Begin(IsolationLevel::kRepeatableRead);
      for (int step = 0; step < 5; ++step) Move(session.get(), writer, &random, &now);
      if (random.OneIn(5)) {
        ASSERT_TRUE(session->Rollback().ok());
      } else {
        ASSERT_TRUE(session->Commit().ok());
        rows = std::move(now);
      }
    }
    written_[writer] = std::move(rows);
  }

  void Move(Session* session, uint64_t writer, Random* random, ToyRows* rows) {
    const uint64_t pair = random->Below(kIds / 2 / kWriters) * kWriters + writer;
    const uint64_t source = 2 * pair;  // even: comes and goes; 2 * pair + 1 is its neighbour
    if (source == 0 || source + 1 > kIds || !rows->contains(source + 1)) return;
    const ToyRow before = (*rows)[source + 1];
    ToyRow after = before;
    after.text.assign(random->Below(400), static_cast<char>('a' + random->Below(26)));
    const auto found = rows->find(source);
    if (found == rows->end()) {
      const uint32_t moved = random->Below(after.value + 1);
      after.value -= moved;
      const ToyRow made{moved, static_cast<uint32_t>(source), std::string(random->Below(400), 'n')};
      ASSERT_TRUE(EngineFixture::Insert(session, table_.get(), source, made).ok());
      (*rows)[source] = made;
    } else {
      after.value += found->second.value;
      ASSERT_TRUE(EngineFixture::Delete(session, table_.get(), source, found->second).ok());
      rows->erase(found);
    }
    ASSERT_TRUE(EngineFixture::Update(session, table_.get(), source + 1, before, after).ok());
    (*rows)[source + 1] = after;
  }

  enum class Way : uint8_t { kInBatches, kForwards, kBackwards, kRowByRow };
  uint64_t SumBy(Way way, TableCursor* cursor) {
    switch (way) {
      case Way::kInBatches: return InBatches(cursor);
      case Way::kForwards: return ByIndex(cursor, true);
      case Way::kBackwards: return ByIndex(cursor, false);
      case Way::kRowByRow: break;
    }
    return RowByRow(cursor);
  }
  void Read(Way first, Way second) {
    for (int i = 0; i < kReads && !HasFailure(); ++i) {
      const std::unique_ptr<Session> session = world_.engine->NewSession();
      session->Begin(IsolationLevel::kRepeatableRead);
      TableCursor cursor(session.get(), table_.get(), &ToyCodec());
      ASSERT_EQ(SumBy(first, &cursor), kIds * kValue);
      ASSERT_EQ(SumBy(second, &cursor), kIds * kValue) << "the same snapshot, later";
      ASSERT_TRUE(session->Commit().ok());
    }
    --readers_;
  }

  uint64_t InBatches(TableCursor* cursor) {
    uint64_t sum = 0;
    EntryBatch batch;
    cursor->OpenScan(0);
    Status status = cursor->FirstBatch({}, 100, &batch);
    for (; status.ok(); status = cursor->NextBatch(&batch)) {
      for (size_t i = 0; i < batch.size(); ++i) sum += ValueOfRow(batch.ValueOf(i));
    }
    EXPECT_TRUE(status.Is(Code::kEndOfRange)) << status.message();
    cursor->CloseScan();
    return sum;
  }
  /// Entries of the index on values, and their rows.
  uint64_t ByIndex(TableCursor* cursor, bool forward) {
    uint64_t sum = 0;
    StoredRow row;
    cursor->OpenScan(1);
    Status status = forward ? cursor->SeekFirst(&row) : cursor->SeekLast(&row);
    while (status.ok()) {
      sum += ValueOfRow(row.value);
      status = forward ? cursor->Next(&row) : cursor->Prev(&row);
    }
    EXPECT_TRUE(status.Is(Code::kEndOfRange)) << status.message();
    cursor->CloseScan();
    return sum;
  }
  uint64_t RowByRow(TableCursor* cursor) {
    uint64_t sum = 0;
    StoredRow row;
    for (uint64_t id = 1; id <= kIds; ++id) {
      const Status status = cursor->GetRow(AsBytes(ToyKey(id)), &row);
      EXPECT_TRUE(status.ok() || status.Is(Code::kNotFound)) << status.message();
      if (status.ok()) sum += ValueOfRow(row.value);
    }
    return sum;
  }

  EngineFixture world_{TestSeed()};
  std::shared_ptr<Table> table_;
  ToyRows model_;
  ToyRows written_[kWriters];
  std::atomic<int> readers_{0};  // counted down by readers, read by writers
};

TEST_F(ReadersBesideWritersTest, SnapshotsSeeWholeTransactions) {
  const std::vector<std::pair<Way, Way>> readers = {{Way::kInBatches, Way::kBackwards},
                                                    {Way::kForwards, Way::kInBatches},
                                                    {Way::kRowByRow, Way::kForwards},
                                                    {Way::kBackwards, Way::kRowByRow}};
  readers_ = static_cast<int>(readers.size());
  std::vector<std::thread> threads;
  for (uint64_t writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([this, writer] { Write(writer); });
  }
  for (const auto& [first, second] : readers) {
    threads.emplace_back([this, first = first, second = second] { Read(first, second); });
  }
  for (std::thread& thread : threads) thread.join();
  ToyRows rows;
  for (ToyRows& written : written_) rows.merge(written);
  EXPECT_EQ(world_.ReadAll(table_.get()), rows);
  world_.CheckTable(table_.get(), rows);
}

}  // namespace
}  // namespace rowan::readers_beside_writers_test
