// SPDX-License-Identifier: GPL-2.0-only
// What deletes leave behind once purge was there: leaves that became sparse are merged, whatever
// was deleted in which order, by how many workers, and beside an old snapshot.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "tests/mvcc/row_fixture.h"

namespace rowan::sparse_leaves_test {
namespace {

constexpr uint32_t kRows = 8000;
constexpr uint32_t kPageBytes = 4096;

TestRow RowOf(uint32_t id) { return {id * 7919u % kRows, id, std::string(8, 'x')}; }

struct Leaves {
  uint32_t count = 0;
  double fill = 0;  ///< share of the pages that entries take
};

class SparseLeavesTest : public ::testing::Test {
 protected:
  SparseLeavesTest() : fixture_(kPageBytes, 4096) {}

  void SetUp() override {
    Actor actor(fixture_.manager());
    RowFixture::Begin(&actor);
    for (uint32_t id = 0; id < kRows; ++id) {
      ASSERT_TRUE(fixture_.Insert(&actor, id, RowOf(id)).ok());
    }
    ASSERT_TRUE(fixture_.Commit(&actor).ok());
  }

  void Delete(const std::vector<uint32_t>& ids) {
    Actor actor(fixture_.manager());
    RowFixture::Begin(&actor);
    for (const uint32_t id : ids) ASSERT_TRUE(fixture_.Delete(&actor, id, RowOf(id)).ok());
    ASSERT_TRUE(fixture_.Commit(&actor).ok());
  }

  Leaves Count(uint32_t index) {
    uint64_t bytes = 0;
    uint32_t pages = 0;
    const Status status = fixture_.index(index)->tree.Check(
        [&](Bytes key, Bytes value) {
          bytes += key.size() + value.size() + 8;
          return Status::Ok();
        },
        [&](PageNumber) { ++pages; });
    EXPECT_TRUE(status.ok()) << status.message();
    return {pages, static_cast<double>(bytes) / kPageBytes / pages};
  }

  /// Two neighbours that fit four fifths of a page together are merged.
  void ExpectDense(const char* what) {
    for (uint32_t index = 0; index < 3; ++index) {
      const Leaves leaves = Count(index);
      std::printf("%s, index %u: %u pages, fill %.2f\n", what, index, leaves.count, leaves.fill);
      EXPECT_GT(leaves.fill, 0.35) << what << ", index " << index;
    }
  }

  /// Nine tenths of the ids, in a random order.
  static std::vector<uint32_t> MostIds() {
    Random random(TestSeed());
    std::vector<uint32_t> ids(kRows);
    std::iota(ids.begin(), ids.end(), 0);
    for (uint32_t i = kRows - 1; i > 0; --i) std::swap(ids[i], ids[random.Below(i + 1)]);
    ids.resize(kRows / 10 * 9);
    return ids;
  }

  RowFixture fixture_;
};

TEST_F(SparseLeavesTest, RowsDeletedAtRandomInTheOrderOfTheirKeys) {
  std::vector<uint32_t> ids = MostIds();
  std::sort(ids.begin(), ids.end());
  Delete(ids);
  fixture_.Purge();
  ExpectDense("in order");
}

TEST_F(SparseLeavesTest, RowsDeletedAtRandomInAnyOrder) {
  Delete(MostIds());
  fixture_.Purge();
  ExpectDense("in any order");
}

TEST_F(SparseLeavesTest, Ranges) {
  std::vector<uint32_t> ids;
  for (uint32_t id = 0; id < kRows; ++id) {
    if (id / 37 % 5 != 0) ids.push_back(id);
  }
  Delete(ids);
  fixture_.Purge();
  ExpectDense("ranges");
}

TEST_F(SparseLeavesTest, Everything) {
  std::vector<uint32_t> ids(kRows);
  std::iota(ids.begin(), ids.end(), 0);
  Delete(ids);
  fixture_.Purge();
  for (uint32_t index = 0; index < 3; ++index) EXPECT_EQ(Count(index).count, 1u);
}

TEST_F(SparseLeavesTest, WhatAnOldSnapshotKeptGoesBehindIt) {
  Actor reader(fixture_.manager());
  RowFixture::Begin(&reader);
  fixture_.manager()->OpenSnapshot(&reader.txn);
  Delete(MostIds());
  fixture_.Purge();
  EXPECT_GT(Count(0).count, 60u) << "the old snapshot sees it";
  ASSERT_TRUE(fixture_.Commit(&reader).ok());
  fixture_.Purge();
  ExpectDense("behind an old snapshot");
}

TEST_F(SparseLeavesTest, SeveralPurgeWorkers) {
  Delete(MostIds());
  fixture_.manager()->RefreshHorizon();
  std::vector<std::thread> workers;
  for (uint32_t worker = 0; worker < 3; ++worker) {
    workers.emplace_back([this, worker] {
      while (fixture_.manager()->HistoryLength() != 0) {
        WorkBudget budget(500);
        ASSERT_TRUE(fixture_.manager()->PurgeSome(worker, 3, &budget).ok());
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  ExpectDense("three workers");
}

TEST_F(SparseLeavesTest, InsertsThatAreRolledBack) {
  Actor actor(fixture_.manager());
  RowFixture::Begin(&actor);
  for (uint32_t id = kRows; id < 2 * kRows; ++id) {
    ASSERT_TRUE(fixture_.Insert(&actor, id, RowOf(id)).ok());
  }
  ASSERT_TRUE(fixture_.Rollback(&actor).ok());
  ExpectDense("rolled back");
}

}  // namespace
}  // namespace rowan::sparse_leaves_test
