// SPDX-License-Identifier: GPL-2.0-only
// Locking scans that cover ranges: what a scan found, and did not find, stays so until its
// transaction ends, whatever inserts, deletes, rollbacks, purge, splits and merges do meanwhile.
#include <array>
#include <set>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "tests/mvcc/row_fixture.h"

namespace rowan {
namespace {

class PhantomTest : public ::testing::Test {
 protected:
  struct Range {
    uint32_t index = 0;
    uint32_t low = 0;
    uint32_t high = 0;
    bool forward = true;
    size_t limit = SIZE_MAX;
    ReadMode mode = ReadMode::kLockShared;
    WaitPolicy policy = WaitPolicy::kWait;
  };

  std::unique_ptr<Actor> NewActor() {
    auto actor = std::make_unique<Actor>(fixture_.manager());
    RowFixture::Begin(actor.get());
    actor->txn.locks.wait_timeout_s = 20;
    return actor;
  }
  void Fill(uint32_t rows, uint32_t step) {
    auto writer = NewActor();
    for (uint32_t id = 0; id < rows; id += step) {
      ASSERT_TRUE(fixture_.Insert(writer.get(), id, {id, id, std::string(60, 't')}).ok());
    }
    ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
  }
  /// Keys of the entries whose first column is in [low, high), in the order of the scan.
  Status Scan(Actor* actor, const Range& range, std::vector<std::string>* keys) {
    keys->clear();
    VersionView view;
    VersionCursor& cursor = actor->cursor;
    cursor.Open(&actor->txn, fixture_.index(range.index),
                {.mode = range.mode, .wait_policy = range.policy, .lock_gaps = true});
    const std::string low = BigEndian(range.low);
    const std::string high = BigEndian(range.high);
    if (range.forward) cursor.SetEnd(AsBytes(high));
    Status status = range.forward ? cursor.SeekAtLeast(AsBytes(low), &view)
                                  : cursor.SeekBefore(AsBytes(high), &view);
    while (status.ok() || status.Is(Code::kSkipped)) {
      if (AsText(view.key) < low) break;
      keys->emplace_back(AsText(view.key));
      if (keys->size() >= range.limit) break;
      status = range.forward ? cursor.Next(&view) : cursor.Prev(&view);
    }
    return status.Is(Code::kEndOfRange) ? Status::Ok() : status;
  }
  std::vector<std::string> ScanOk(Actor* actor, const Range& range) {
    std::vector<std::string> keys;
    EXPECT_TRUE(Scan(actor, range, &keys).ok());
    return keys;
  }
  /// Does the insert of this row wait for somebody?
  bool InsertWaits(uint32_t id, uint32_t a, uint32_t b) {
    auto writer = NewActor();
    writer->txn.interrupted = true;  // ends the wait as soon as it begins
    const Status status = fixture_.Insert(writer.get(), id, {a, b, "new"});
    EXPECT_TRUE(status.ok() || status.Is(Code::kInterrupted)) << status.message();
    EXPECT_TRUE(fixture_.Rollback(writer.get()).ok());
    return !status.ok();
  }
  bool InsertWaits(uint32_t id) { return InsertWaits(id, 1'000'000 + id, 1'000'000 + id); }

  RowFixture fixture_;
};

TEST_F(PhantomTest, AnEmptyTableIsAllGap) {
  for (const bool forward : {true, false}) {
    auto reader = NewActor();
    EXPECT_TRUE(ScanOk(reader.get(), {.low = 10, .high = 20, .forward = forward}).empty());
    EXPECT_TRUE(InsertWaits(10));
    EXPECT_TRUE(InsertWaits(19));
    EXPECT_FALSE(InsertWaits(20));
    EXPECT_EQ(InsertWaits(9), !forward) << "the way back is looked for to the start";
    ASSERT_TRUE(fixture_.Commit(reader.get()).ok());
    EXPECT_FALSE(InsertWaits(10));
  }
}

TEST_F(PhantomTest, AnAbsentKeyIsLockedAndAFoundOneIsNoRange) {
  Fill(300, 10);
  auto reader = NewActor();
  VersionView view;
  reader->cursor.Open(&reader->txn, fixture_.index(0),
                      {.mode = ReadMode::kLockExclusive, .lock_gaps = true});
  EXPECT_TRUE(reader->cursor.Get(AsBytes(BigEndian(15)), &view).Is(Code::kNotFound));
  EXPECT_TRUE(reader->cursor.Get(AsBytes(BigEndian(5000)), &view).Is(Code::kNotFound));
  EXPECT_TRUE(reader->cursor.Get(AsBytes(BigEndian(20)), &view).ok());
  EXPECT_TRUE(InsertWaits(15));
  EXPECT_TRUE(InsertWaits(5000));
  for (const uint32_t free : {14u, 16u, 21u, 4999u, 5001u}) EXPECT_FALSE(InsertWaits(free));
}

TEST_F(PhantomTest, BothDirectionsAndLimitsLockWhatWasRead) {
  Fill(1000, 10);
  auto reader = NewActor();
  EXPECT_EQ(ScanOk(reader.get(), {.low = 105, .high = 405, .limit = 3}).size(), 3u);
  EXPECT_TRUE(InsertWaits(106));
  EXPECT_TRUE(InsertWaits(129));
  EXPECT_FALSE(InsertWaits(131)) << "behind the last row read";
  EXPECT_FALSE(InsertWaits(104));
  EXPECT_EQ(ScanOk(reader.get(), {.low = 505, .high = 905, .forward = false, .limit = 3}).size(),
            3u);
  EXPECT_TRUE(InsertWaits(904));
  EXPECT_TRUE(InsertWaits(881));
  EXPECT_FALSE(InsertWaits(879));
  EXPECT_FALSE(InsertWaits(905));
}

TEST_F(PhantomTest, SecondaryIndexesLockTheirOwnGaps) {
  Fill(1000, 10);
  auto reader = NewActor();
  EXPECT_EQ(ScanOk(reader.get(), {.index = 1, .low = 100, .high = 101}).size(), 1u);
  EXPECT_TRUE(InsertWaits(3, 100, 3)) << "another row of the value";
  EXPECT_TRUE(InsertWaits(999, 100, 3));
  EXPECT_FALSE(InsertWaits(3, 101, 3));
  EXPECT_TRUE(ScanOk(reader.get(), {.index = 2, .low = 203, .high = 209}).empty());
  EXPECT_TRUE(InsertWaits(4, 4, 205));
  EXPECT_FALSE(InsertWaits(4, 205, 4));
}

TEST_F(PhantomTest, RollbackPurgeSplitsAndMergesMoveNoGap) {
  Fill(6000, 3);
  auto dead = NewActor();
  for (uint32_t id = 900; id < 1500; id += 3) {
    ASSERT_TRUE(fixture_.Delete(dead.get(), id, {id, id, std::string(60, 't')}).ok());
  }
  ASSERT_TRUE(fixture_.Commit(dead.get()).ok());
  auto reader = NewActor();
  EXPECT_EQ(ScanOk(reader.get(), {.low = 901, .high = 2000}).size(), 167u) << "over dead rows";
  EXPECT_TRUE(InsertWaits(903)) << "in the place of a dead row";
  fixture_.Purge();
  auto writer = NewActor();
  for (uint32_t id = 2001; id < 2900; ++id) {
    if (id % 3 != 0) {
      ASSERT_TRUE(fixture_.Insert(writer.get(), id, {id, id, std::string(200, 'n')}).ok()) << id;
    }
  }
  for (uint32_t id = 300; id < 900; id += 3) {
    ASSERT_TRUE(fixture_.Delete(writer.get(), id, {id, id, std::string(60, 't')}).ok());
  }
  EXPECT_TRUE(InsertWaits(905)) << "between what purge took away";
  EXPECT_TRUE(InsertWaits(1999));
  ASSERT_TRUE(fixture_.Rollback(writer.get()).ok());
  fixture_.Purge();
  for (const uint32_t id : {901u, 1000u, 1499u, 1502u, 1999u}) EXPECT_TRUE(InsertWaits(id)) << id;
  for (const uint32_t id : {899u, 2002u}) EXPECT_FALSE(InsertWaits(id)) << id;
  ASSERT_TRUE(fixture_.Commit(reader.get()).ok());
  EXPECT_FALSE(InsertWaits(1000));
}

TEST_F(PhantomTest, SkippedRowsStayOutOfTheRange) {
  Fill(100, 10);
  auto holder = NewActor();
  TestRow row;
  ASSERT_TRUE(fixture_.Get(holder.get(), 30, ReadMode::kLockExclusive, &row).ok());
  auto reader = NewActor();
  EXPECT_EQ(ScanOk(reader.get(), {.low = 10,
                                  .high = 60,
                                  .mode = ReadMode::kLockExclusive,
                                  .policy = WaitPolicy::kSkipLocked})
                .size(),
            4u);
  EXPECT_TRUE(
      fixture_.Update(holder.get(), 30, {30, 30, std::string(60, 't')}, {30, 30, "u"}).ok());
  auto other = NewActor();
  EXPECT_EQ(ScanOk(other.get(), {.low = 0,
                                 .high = 100,
                                 .mode = ReadMode::kLockExclusive,
                                 .policy = WaitPolicy::kSkipLocked})
                .size(),
            5u);
}

/// Readers scan a range twice; writers change rows at random; nobody may see a phantom.
TEST_F(PhantomTest, RandomScansFindTheSameTwice) {
  constexpr uint32_t kIds = 400;
  constexpr size_t kThreads = 4;
  Fill(kIds, 2);
  const uint64_t stop = MonotonicMicros() + 2'000'000;
  std::atomic<uint64_t> scans{0};
  std::atomic<uint64_t> writes{0};
  std::atomic<bool> done{false};
  const auto scan_twice = [&](Actor* actor, Random* random) {
    Range range{.index = static_cast<uint32_t>(random->Below(3)),
                .low = static_cast<uint32_t>(random->Below(kIds)),
                .forward = random->Below(2) == 0,
                .limit = random->Below(4) == 0 ? 5u : SIZE_MAX};
    range.high = range.low + 1 + static_cast<uint32_t>(random->Below(60));
    if (random->Below(3) == 0) range.mode = ReadMode::kLockExclusive;
    std::vector<std::string> first;
    std::vector<std::string> second;
    Status status = Scan(actor, range, &first);
    if (!status.ok()) return status;
    for (uint64_t i = random->Below(3); i > 0; --i) std::this_thread::yield();
    status = Scan(actor, range, &second);
    if (!status.ok()) return status;
    EXPECT_EQ(first, second) << "index " << range.index << " from " << range.low << " to "
                             << range.high << (range.forward ? "" : " backward");
    ++scans;
    return status;
  };
  const auto write = [&](Actor* actor, Random* random) {
    const auto id = static_cast<uint32_t>(random->Below(kIds));
    TestRow row;
    Status status = fixture_.Get(actor, id, ReadMode::kLockExclusive, &row);
    const TestRow fresh{static_cast<uint32_t>(random->Below(kIds)),
                        static_cast<uint32_t>(random->Below(kIds)),
                        std::string(random->Below(300), 'x')};
    if (status.Is(Code::kNotFound)) {
      status = fixture_.Insert(actor, id, fresh);
    } else if (status.ok()) {
      status = random->Below(2) == 0 ? fixture_.Delete(actor, id, row)
                                     : fixture_.Update(actor, id, row, fresh);
    }
    if (status.Is(Code::kDuplicate)) status = Status::Ok();
    if (status.ok()) ++writes;
    return status;
  };
  const auto run = [&](size_t me) {
    Random random(TestSeed() + me);
    auto actor = NewActor();
    while (MonotonicMicros() < stop) {
      RowFixture::Begin(actor.get());
      Status status;
      for (uint64_t step = 1 + random.Below(4); step > 0 && status.ok(); --step) {
        status =
            random.Below(2) == 0 ? scan_twice(actor.get(), &random) : write(actor.get(), &random);
      }
      EXPECT_TRUE(status.ok() || status.Is(Code::kDeadlock)) << status.message();
      const bool commits = status.ok() && random.Below(4) != 0;
      const Status ended = commits ? fixture_.Commit(actor.get()) : fixture_.Rollback(actor.get());
      EXPECT_TRUE(ended.ok());
    }
  };
  std::thread purger([&] {
    while (!done) {
      fixture_.Purge();
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) threads.emplace_back(run, i);
  for (std::thread& thread : threads) thread.join();
  done = true;
  purger.join();
  std::printf("scans %llu, writes %llu\n", static_cast<unsigned long long>(scans.load()),
              static_cast<unsigned long long>(writes.load()));
  EXPECT_TRUE(fixture_.manager()->locks()->Check().ok());
  EXPECT_EQ(fixture_.manager()->locks()->lock_count(), 0u);
}

}  // namespace
}  // namespace rowan
