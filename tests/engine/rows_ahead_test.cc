// SPDX-License-Identifier: GPL-2.0-only
// Scans of a secondary index, and lists of keys, have the leaves of the rows read that they will
// look up.
#include "engine/rows_ahead.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/counters.h"
#include "btree/cursor.h"
#include "btree/descent.h"
#include "engine/stored_row.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/await.h"

namespace rowan::rows_ahead_test {
namespace {

constexpr uint64_t kRows = 4000;

/// Lets every n-th entry pass.
class SomeEntries : public EntryFilter {
 public:
  explicit SomeEntries(uint32_t n) : n_(n) {}
  bool Matches() override { return ++entry_ % n_ == 0; }

 private:
  const uint32_t n_;
  uint32_t entry_ = 0;
};

class RowsAheadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    world_.options.storage.page_size_bytes = 4096;
    world_.options.storage.buffer.pool_bytes = uint64_t{1024} * 4096;
    ASSERT_TRUE(world_.Open().ok());
    std::shared_ptr<Table> table = world_.CreateTable("test/t");
    ASSERT_NE(table, nullptr);
    const TableId id = table->id();
    world_.Fill(table.get(), kRows, [](uint64_t row) {
      return ToyRow{ValueOf(row), static_cast<uint32_t>(row), std::string(200, 'x')};
    });
    Cursor cursor(&table->index(0)->tree);
    for (uint64_t row = 1; row <= kRows; ++row) {
      ASSERT_TRUE(cursor.SeekExactly(AsBytes(ToyKey(row))).ok());
      leaves_[ValueOf(row)] = {table->index(0)->tree.space(), cursor.leaf()};
      cursor.Unlatch();
    }
    table.reset();
    ASSERT_TRUE(world_.Shutdown().ok());
    ASSERT_TRUE(world_.Open().ok());
    Result<std::shared_ptr<Table>> opened = world_.engine->OpenTable(id);
    ASSERT_TRUE(opened.ok());
    table_ = *opened;
    ReadInnerPages();
    session_ = world_.engine->NewSession();
    session_->Begin(IsolationLevel::kRepeatableRead);
  }
  void TearDown() override {
    session_.reset();
    table_.reset();
  }
  /// The first one is of a row in the middle: to open a table reads its ends.
  static uint32_t ValueOf(uint64_t row) {
    return static_cast<uint32_t>((row * 1237 + 777) % kRows);
  }
  /// Those on the way to a leaf are read first.
  void ReadInnerPages() {
    Descent descent(table_->index(0)->tree);
    for (uint64_t row = 1; row <= kRows; row += 10) {
      PageGuard parent;
      ChildChoice choice;
      const std::string key = ToyKey(row);
      ASSERT_TRUE(descent.ToLeafParent({Aim::kOwner, AsBytes(key)}, &parent, &choice).ok());
    }
  }
  BufferPool* pool() { return table_->index(0)->tree.pool(); }

  EngineFixture world_{TestSeed()};
  std::map<uint32_t, PageId> leaves_;  ///< of the row, by value
  std::shared_ptr<Table> table_;
  std::unique_ptr<Session> session_;
};

TEST_F(RowsAheadTest, TheLeavesOfCopiedEntriesAreReadBeforeTheirRowsAreLookedUp) {
  StoredRow row;
  TableCursor cursor(session_.get(), table_.get(), &ToyCodec());
  cursor.OpenScan(1);
  Status status = cursor.SeekFirst(&row);
  // The entries after the first ones of the batches, which have 1, 4, 16, ... of them.
  for (uint32_t value = 0; value < 50 && status.ok(); ++value, status = cursor.Next(&row)) {
    if (value + 1 == 5 || value + 1 == 21 || value == 0) continue;
    ASSERT_TRUE(Await([&] { return pool()->IsResident(leaves_[value + 1]); })) << value;
  }
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(RowsAheadTest, AScanThatLocksLooksAheadOnItsLeaf) {
  StoredRow row;
  TableCursor cursor(session_.get(), table_.get(), &ToyCodec(), {.mode = ReadMode::kLockExclusive});
  cursor.OpenScan(1);
  Status status = cursor.SeekFirst(&row);
  // These are on one leaf. The first row that is read is not watched, the second one is.
  for (uint32_t value = 0; value < 40 && status.ok(); ++value, status = cursor.Next(&row)) {
    if (value < 2) continue;
    ASSERT_TRUE(Await([&] { return pool()->IsResident(leaves_[value + 1]); })) << value;
  }
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(RowsAheadTest, RowsOfAListAreReadAheadAlsoWhereTheyAreLocked) {
  for (const ReadMode mode : {ReadMode::kSnapshot, ReadMode::kLockExclusive}) {
    StoredRow row;
    TableCursor cursor(session_.get(), table_.get(), &ToyCodec(), {.mode = mode});
    cursor.OpenScan(0);
    cursor.ExpectManyRows();
    // Each on a leaf of its own, of another half of the table for each mode.
    const uint64_t begin = mode == ReadMode::kSnapshot ? 100 : 2100;
    const auto row_at = [&](size_t position) { return begin + position * 50; };
    for (size_t position = 0; position < 30; ++position) {
      if (cursor.WantsRowsAhead()) {
        cursor.ReadRowsAhead({1, position, 30}, [&](size_t ahead, ByteBuffer* key) {
          const std::string text = ToyKey(row_at(ahead));
          const Bytes bytes = AsBytes(text);
          key->assign(bytes.begin(), bytes.end());
        });
      }
      ASSERT_TRUE(position < 2 ||
                  Await([&] { return pool()->IsResident(leaves_[ValueOf(row_at(position))]); }))
          << position;
      ASSERT_TRUE(cursor.GetRow(AsBytes(ToyKey(row_at(position))), &row).ok());
    }
  }
}

TEST_F(RowsAheadTest, EntriesThatAFilterThrowsAwayAreNotAskedFor) {
  StoredRow row;
  SomeEntries filter(8);
  TableCursor cursor(session_.get(), table_.get(), &ToyCodec());
  cursor.OpenScan(1);
  cursor.SetFilter(&filter);
  const uint64_t before = ReadCounter(Counter::kPagesReadAhead);
  uint32_t rows = 0;
  for (Status status = cursor.SeekFirst(&row); status.ok(); status = cursor.Next(&row)) ++rows;
  EXPECT_EQ(rows, kRows / 8);
  // Up to the first ones that the filter passes, nothing is known of it; a walk along the index
  // reads its own leaves.
  EXPECT_LT(ReadCounter(Counter::kPagesReadAhead) - before, 150u);
}

TEST_F(RowsAheadTest, AScanInMemoryAsksForNothing) {
  RowsAhead ahead;
  EXPECT_FALSE(ahead.active());
  ahead.Begin();
  const PageId resident{table_->index(0)->tree.space(), table_->index(0)->tree.root()};
  ASSERT_TRUE(pool()->Fix(resident, LatchMode::kShared).ok());
  for (size_t position = 0; ahead.active(); ++position) {
    ASSERT_LT(position, 1000u);
    ahead.Ask(pool(), {1, position, 1000}, [&](size_t) { return resident; });
  }
}

}  // namespace
}  // namespace rowan::rows_ahead_test
