// SPDX-License-Identifier: GPL-2.0-only
// Scans in batches show what scans entry by entry show: the same entries in the same order, of the
// session's snapshot, with its own changes and older versions, in any range and from any size on.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "engine/stored_row.h"
#include "tests/engine/engine_fixture.h"

namespace rowan::entry_batch_test {
namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;
constexpr uint64_t kRows = 3000;

class EntryBatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(world_.Open().ok());
    table_ = world_.CreateTable("test/t");
    ASSERT_NE(table_, nullptr);
    rows_ = world_.Fill(table_.get(), kRows, [](uint64_t id) {
      return ToyRow{static_cast<uint32_t>(id * 2654435761U % 1000), static_cast<uint32_t>(id * 7),
                    std::string(id % 40, 'x')};
    });
  }
  std::unique_ptr<Session> Begin() {
    std::unique_ptr<Session> session = world_.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    return session;
  }
  /// Updates, deletes and inserts rows at random.
  void Change(Session* session, uint64_t changes) {
    for (uint64_t i = 0; i < changes; ++i) {
      const uint64_t id = 1 + random_.Below(kRows + 200);
      const ToyRow next{static_cast<uint32_t>(random_.Below(1000)),
                        static_cast<uint32_t>(1000000 + ++unique_), "changed"};
      ToyRow now;
      const bool exists = EngineFixture::ReadForUpdate(session, table_.get(), id, &now).ok();
      if (!exists) {
        ASSERT_TRUE(EngineFixture::Insert(session, table_.get(), id, next).ok());
      } else if (random_.Below(3) == 0) {
        ASSERT_TRUE(EngineFixture::Delete(session, table_.get(), id, now).ok());
      } else {
        ASSERT_TRUE(EngineFixture::Update(session, table_.get(), id, now, next).ok());
      }
    }
  }
  Entries OneByOne(Session* session, uint32_t index, const EntryRange& range) {
    Entries entries;
    TableCursor cursor(session, table_.get(), &ToyCodec());
    EXPECT_TRUE(cursor
                    .VisitEntries(index, range,
                                  [&](Bytes key, Bytes value) {
                                    entries.emplace_back(AsText(key), AsText(value));
                                    return Status::Ok();
                                  })
                    .ok());
    return entries;
  }
  Entries InBatches(Session* session, uint32_t index, const EntryRange& range, size_t entries_first,
                    size_t* batches) {
    Entries entries;
    TableCursor cursor(session, table_.get(), &ToyCodec());
    cursor.OpenScan(index);
    EntryBatch batch;
    Status status = cursor.FirstBatch(range, entries_first, &batch);
    for (*batches = 0; status.ok(); status = cursor.NextBatch(&batch)) {
      ++*batches;
      EXPECT_GT(batch.size(), 0U);
      for (size_t i = 0; i < batch.size(); ++i) {
        entries.emplace_back(AsText(batch.KeyOf(i)), AsText(batch.ValueOf(i)));
      }
    }
    EXPECT_TRUE(status.Is(Code::kEndOfRange)) << status.message();
    cursor.CloseScan();
    return entries;
  }
  void ExpectAlike(Session* session) {
    size_t batches = 0;
    for (const uint32_t index : {0U, 1U, 2U}) {
      const Entries all = OneByOne(session, index, {});
      ASSERT_FALSE(all.empty());
      EXPECT_EQ(InBatches(session, index, {}, 100000, &batches), all);
      EXPECT_LT(batches, all.size() / 4);
      for (int round = 0; round < 10; ++round) {
        const std::string from = all[random_.Below(all.size())].first;
        const std::string end = all[random_.Below(all.size())].first;
        const EntryRange range{AsBytes(from), round % 3 == 0 ? Bytes() : AsBytes(end)};
        EXPECT_EQ(InBatches(session, index, range, 1 + random_.Below(50), &batches),
                  OneByOne(session, index, range));
      }
    }
  }

  EngineFixture world_{TestSeed()};
  Random random_{TestSeed()};
  std::shared_ptr<Table> table_;
  ToyRows rows_;
  uint64_t unique_ = 0;
};

TEST_F(EntryBatchTest, BatchesShowTheSnapshotWithItsOwnChanges) {
  const std::unique_ptr<Session> reader = Begin();
  const std::unique_ptr<Session> writer = Begin();
  ExpectAlike(reader.get());  // opens its snapshot
  const Entries before = OneByOne(reader.get(), 0, {});
  Change(writer.get(), 300);
  ExpectAlike(reader.get());
  ExpectAlike(writer.get());
  EXPECT_EQ(OneByOne(reader.get(), 0, {}), before);
  ASSERT_TRUE(writer->Commit().ok());
  ExpectAlike(reader.get());
  EXPECT_EQ(OneByOne(reader.get(), 0, {}), before);
  ASSERT_TRUE(reader->Commit().ok());
}

TEST_F(EntryBatchTest, InterruptedScansEndAfterABatch) {
  const std::unique_ptr<Session> session = Begin();
  TableCursor cursor(session.get(), table_.get(), &ToyCodec());
  cursor.OpenScan(0);
  EntryBatch batch;
  ASSERT_TRUE(cursor.FirstBatch({}, 10, &batch).ok());
  EXPECT_LE(batch.size(), 10U);
  session->Interrupt();
  EXPECT_TRUE(cursor.NextBatch(&batch).Is(Code::kInterrupted));
  cursor.CloseScan();
}

TEST_F(EntryBatchTest, EntriesOfABatchBecomeRows) {
  const std::unique_ptr<Session> session = Begin();
  TableCursor cursor(session.get(), table_.get(), &ToyCodec());
  cursor.SetColumns(nullptr, RowKeys::kKeep);
  cursor.OpenScan(1);
  EntryBatch batch;
  ASSERT_TRUE(cursor.FirstBatch({}, 1000, &batch).ok());
  for (size_t i = 0; i < batch.size(); i += 7) {
    StoredRow row;
    const Status put = cursor.PutEntry(batch.KeyOf(i), batch.ValueOf(i), &row);
    ASSERT_TRUE(put.ok()) << put.message();
    const uint64_t id = LoadBe64(row.key.data());
    EXPECT_EQ(AsText(cursor.row_key()), AsText(ToyKeyOf(1, batch.KeyOf(i))));
    EXPECT_EQ(ToyDecode(row.value), rows_[id]);
  }
  cursor.CloseScan();
}

}  // namespace
}  // namespace rowan::entry_batch_test
