// SPDX-License-Identifier: GPL-2.0-only
// Ids of creators that every snapshot sees go from the entries of a leaf before it is split, and
// nobody notices but who counts bytes.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/counters.h"
#include "base/random.h"
#include "btree/bulk_builder.h"
#include "tests/mvcc/row_fixture.h"

namespace rowan::entry_creators_test {
namespace {

constexpr uint32_t kPageBytes = 4096;
constexpr uint32_t kRowsEach = 10;     // of a transaction
constexpr uint32_t kTxnsPerPurge = 4;  // so that the horizon follows
constexpr uint32_t kIdRange = 1U << 20;

/// Another number for each number, in no order.
uint32_t Mix(uint32_t number) {
  number ^= number >> 16;
  number *= 0x85ebca6bU;
  number ^= number >> 13;
  number *= 0xc2b2ae35U;
  return number ^ number >> 16;
}

TestRow RowOf(uint32_t id) { return {Mix(id), Mix(id), "text"}; }

struct Size {
  uint32_t pages = 0;
  double entry_bytes = 0;   ///< key, value, record header and slot, on an average
  double with_creator = 0;  ///< share of the entries
};

class EntryCreatorsTest : public ::testing::Test {
 protected:
  /// Rows `first` to `last` - 1, some in each of many transactions.
  void Load(uint32_t first, uint32_t last) {
    Actor actor(fixture_.manager());
    uint32_t txns = 0;
    for (uint32_t id = first; id < last;) {
      RowFixture::Begin(&actor);
      for (uint32_t i = 0; i < kRowsEach && id < last; ++i, ++id) {
        ASSERT_TRUE(fixture_.Insert(&actor, id, RowOf(id)).ok());
      }
      ASSERT_TRUE(fixture_.Commit(&actor).ok());
      if (++txns % kTxnsPerPurge == 0) fixture_.Purge();
    }
    fixture_.Purge();
  }

  Size SizeOf(uint32_t index) {
    Size size;
    uint64_t entries = 0;
    uint64_t bytes = 0;
    uint64_t with_creator = 0;
    const Status status = fixture_.index(index)->tree.Check(
        [&](Bytes key, Bytes value) {
          ++entries;
          bytes += key.size() + value.size() + 10;
          with_creator += HeaderOf(value).creator == kNoTxn ? 0 : 1;
          return Status::Ok();
        },
        [&](PageNumber) { ++size.pages; });
    EXPECT_TRUE(status.ok()) << status.message();
    size.entry_bytes = static_cast<double>(bytes) / static_cast<double>(entries);
    size.with_creator = static_cast<double>(with_creator) / static_cast<double>(entries);
    return size;
  }

  static SecondaryHeader HeaderOf(Bytes value) {
    SecondaryHeader header;
    Bytes payload;
    EXPECT_TRUE(ParseSecondary(value, &header, &payload));
    return header;
  }

  /// Entries that have this id, as creator or deleter.
  size_t CountOf(uint32_t index, TxnId txn) {
    size_t count = 0;
    for (const RowFixture::RawEntry& entry : fixture_.Raw(index)) {
      const SecondaryHeader header = HeaderOf(AsBytes(entry.value));
      count += header.creator == txn || header.deleter == txn ? 1 : 0;
    }
    return count;
  }

  /// The entries of an index as one built of sorted entries has them.
  void BuildLike(uint32_t index, Index* built) {
    BulkBuilder builder(&built->tree);
    std::byte header[kSecondaryHeaderBytesMax];
    const size_t header_bytes = StoreSecondaryHeader(header, kNoTxn, kNoTxn);
    std::string value;
    for (const RowFixture::RawEntry& entry : fixture_.Raw(index)) {
      SecondaryHeader old_header;
      Bytes payload;
      ASSERT_TRUE(ParseSecondary(AsBytes(entry.value), &old_header, &payload));
      value.assign(reinterpret_cast<const char*>(header), header_bytes);
      value += AsText(payload);
      ASSERT_TRUE(builder.Add(AsBytes(entry.key), AsBytes(value), kNoTxn).ok());
    }
    ASSERT_TRUE(builder.Finish().ok());
  }

  /// The entries that a reader sees of a secondary index.
  std::vector<std::string> Seen(Actor* reader, uint32_t index) {
    if (reader->txn.state != TxnState::kActive) RowFixture::Begin(reader);
    fixture_.manager()->OpenSnapshot(&reader->txn);
    std::vector<std::string> entries;
    VersionView view;
    reader->cursor.Open(&reader->txn, fixture_.index(index), {});
    Status status = reader->cursor.SeekFirst(&view);
    for (; status.ok(); status = reader->cursor.Next(&view)) {
      entries.push_back(std::string(AsText(view.key)) + std::string(AsText(view.value)));
    }
    EXPECT_TRUE(status.Is(Code::kEndOfRange)) << status.message();
    reader->cursor.Close();
    return entries;
  }
  void ExpectRows(const std::map<uint32_t, TestRow>& rows) {
    std::vector<std::string> expected[3];
    for (const auto& [id, row] : rows) {
      expected[1].push_back(RowFixture::KeyA(id, row) + row.text);
      expected[2].push_back(RowFixture::KeyB(id, row));
    }
    Actor reader(fixture_.manager());
    for (const uint32_t index : {1U, 2U}) {
      std::sort(expected[index].begin(), expected[index].end());
      EXPECT_TRUE(Seen(&reader, index) == expected[index]) << "index " << index;
      fixture_.Raw(index);
    }
    ASSERT_TRUE(fixture_.Commit(&reader).ok());
  }

  /// Transactions that insert, some of which delete, some of which are rolled back.
  void Write(uint32_t number) {
    Random random(TestSeed() + number);
    Actor actor(fixture_.manager());
    uint32_t next = number * (kIdRange / 4);
    for (int txn = 0; txn < 100; ++txn) {
      RowFixture::Begin(&actor);
      const uint32_t first = next;
      for (uint64_t rows = random.Between(1, 20); rows > 0; --rows, ++next) {
        EXPECT_TRUE(fixture_.Insert(&actor, next, RowOf(next)).ok());
      }
      if (random.OneIn(4)) {
        EXPECT_TRUE(fixture_.Delete(&actor, first, RowOf(first)).ok());
      }
      EXPECT_TRUE((random.OneIn(4) ? fixture_.Rollback(&actor) : fixture_.Commit(&actor)).ok());
      fixture_.manager()->RefreshHorizon();
      if (number == 1 && txn % 8 == 0) fixture_.Purge();
    }
  }

  RowFixture fixture_{kPageBytes, std::max(TestPoolPages(), 2048U)};
};

TEST_F(EntryCreatorsTest, ALoadedIndexIsNearlyAsSmallAsABuiltOne) {
  Load(0, 16000);
  for (const uint32_t index : {1U, 2U}) {
    Index* built = fixture_.AddIndex(false);
    BuildLike(index, built);
    const Size loaded = SizeOf(index);
    const Size sorted = SizeOf(index + 2);
    std::printf("index %u: %u pages, %.1f bytes an entry, %.0f %% with creator; built %u, %.1f\n",
                index, loaded.pages, loaded.entry_bytes, 100 * loaded.with_creator, sorted.pages,
                sorted.entry_bytes);
    EXPECT_LT(loaded.with_creator, 0.45);
    // Entries in random order fill seven tenths of a leaf, sorted ones fifteen sixteenths.
    EXPECT_LT(loaded.pages, sorted.pages * 1.5);
  }
}

TEST_F(EntryCreatorsTest, AscendingEntriesLeaveFullLeavesWithoutIds) {
  Actor actor(fixture_.manager());
  for (uint32_t id = 0; id < 8000; ++id) {
    RowFixture::Begin(&actor);
    ASSERT_TRUE(fixture_.Insert(&actor, id, {id, id, ""}).ok());
    ASSERT_TRUE(fixture_.Commit(&actor).ok());
    if (id % 16 == 0) fixture_.Purge();
  }
  for (const uint32_t index : {1U, 2U}) {
    Index* built = fixture_.AddIndex(false);
    BuildLike(index, built);
    const Size loaded = SizeOf(index);
    const Size sorted = SizeOf(index + 2);
    std::printf("index %u: %u pages, %.0f %% with creator; built %u\n", index, loaded.pages,
                100 * loaded.with_creator, sorted.pages);
    EXPECT_LT(loaded.pages, sorted.pages * 1.25);
  }
}

TEST_F(EntryCreatorsTest, AnOldSnapshotKeepsThem) {
  Load(0, 2000);
  Actor reader(fixture_.manager());
  const std::vector<std::string> before[2] = {Seen(&reader, 1), Seen(&reader, 2)};
  const TxnId first_unseen = fixture_.manager()->NextTxnId();
  Load(2000, 5000);
  const auto unseen = [&](uint32_t index) {
    size_t count = 0;
    for (const RowFixture::RawEntry& entry : fixture_.Raw(index)) {
      count += HeaderOf(AsBytes(entry.value)).creator >= first_unseen ? 1 : 0;
    }
    return count;
  };
  for (const uint32_t index : {1U, 2U}) {
    EXPECT_EQ(unseen(index), 3000U);
    EXPECT_TRUE(Seen(&reader, index) == before[index - 1]);
  }
  ASSERT_TRUE(fixture_.Commit(&reader).ok());
  const uint32_t pages = SizeOf(2).pages;
  fixture_.Purge();
  ResetCounters();
  Load(5000, 6000);
  EXPECT_GT(ReadCounter(Counter::kEntriesShortened), 1000U);
  EXPECT_LT(SizeOf(2).pages, pages + pages / 4) << "the leaves were split nevertheless";
  std::map<uint32_t, TestRow> rows;
  for (uint32_t id = 0; id < 6000; ++id) rows[id] = RowOf(id);
  ExpectRows(rows);
}

// The ids of a transaction that is open stay while those around them go, and its rollback, or its
// commit and purge, find them.
TEST_F(EntryCreatorsTest, AnOpenTransactionFindsItsOwn) {
  for (const bool commits : {false, true}) {
    SCOPED_TRACE(commits);
    const uint32_t base = commits ? 100000 : 0;
    std::map<uint32_t, TestRow> rows;
    Load(base, base + 2000);
    Actor actor(fixture_.manager());
    RowFixture::Begin(&actor);
    std::map<uint32_t, TestRow> changed;
    for (uint32_t id = base; id < base + 2000; ++id) rows[id] = changed[id] = RowOf(id);
    for (uint32_t id = base; id < base + 300; ++id) {
      const TestRow row = RowOf(id);
      if (id % 3 == 0) {
        ASSERT_TRUE(fixture_.Delete(&actor, id, row).ok());
        changed.erase(id);
      } else {
        TestRow other = row;
        (id % 3 == 1 ? other.a : other.b) = Mix(id + kIdRange);
        ASSERT_TRUE(fixture_.Update(&actor, id, row, other).ok());
        changed[id] = other;
      }
      if (id % 5 != 0) continue;
      // Away and back: the mark is cleared again, and rollback has to put it back.
      const TestRow again = RowOf(id + 1000);
      ASSERT_TRUE(fixture_.Delete(&actor, id + 1000, again).ok());
      ASSERT_TRUE(fixture_.Insert(&actor, id + 1000, again).ok());
    }
    const TxnId own = actor.txn.txn_id();
    const size_t marks[2] = {CountOf(1, own), CountOf(2, own)};
    ResetCounters();
    Load(base + 2000, base + 4000);
    EXPECT_GT(ReadCounter(Counter::kEntriesShortened), 500U);
    for (const uint32_t index : {1U, 2U}) EXPECT_EQ(CountOf(index, own), marks[index - 1]);
    ASSERT_TRUE((commits ? fixture_.Commit(&actor) : fixture_.Rollback(&actor)).ok());
    fixture_.Purge();
    for (uint32_t id = base + 2000; id < base + 4000; ++id) rows[id] = changed[id] = RowOf(id);
    for (uint32_t id = 0; id < (commits ? 4000U : 0U); ++id) changed[id] = RowOf(id);
    const std::map<uint32_t, TestRow>& expected = commits ? changed : rows;
    ExpectRows(expected);
    EXPECT_EQ(fixture_.Raw(1).size(), expected.size());
    EXPECT_EQ(fixture_.Raw(2).size(), expected.size());
  }
}

// Readers of the indexes alone beside writers whose leaves lose ids under their hands.
TEST_F(EntryCreatorsTest, EveryIndexShowsASnapshotTheSameRows) {
  constexpr uint32_t kWriters = 3;
  Load(0, 1000);
  ResetCounters();
  std::atomic<uint32_t> writing{kWriters};
  std::vector<std::thread> threads;
  for (uint32_t number = 1; number <= kWriters; ++number) {
    threads.emplace_back([&, number] {
      Write(number);
      writing.fetch_sub(1);
    });
  }
  Actor reader(fixture_.manager());
  do {
    RowFixture::Begin(&reader);
    fixture_.manager()->OpenSnapshot(&reader.txn);
    reader.cursor.Open(&reader.txn, fixture_.index(0), {});
    const uint64_t rows = RowFixture::Take(reader.cursor.CountRange({}, {}));
    reader.cursor.Close();
    for (const uint32_t index : {1U, 2U}) EXPECT_EQ(Seen(&reader, index).size(), rows);
    EXPECT_TRUE(fixture_.Commit(&reader).ok());
  } while (writing.load() != 0 && !HasFailure());
  for (std::thread& thread : threads) thread.join();
  // How many depends on who runs when.
  RecordProperty("entries_shortened", static_cast<int>(ReadCounter(Counter::kEntriesShortened)));
  for (uint32_t index = 0; index < 3; ++index) fixture_.Raw(index);
}

}  // namespace
}  // namespace rowan::entry_creators_test
