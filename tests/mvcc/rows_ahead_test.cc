// SPDX-License-Identifier: GPL-2.0-only
// Rows that a transaction wrote over although its snapshot lacks their newest version: how many
// bytes it takes to remember them, and how long. What is seen of them: row_test.cc, model_test.cc.
#include <unordered_set>

#include "base/random.h"
#include "mvcc/txn/row_hash_set.h"
#include "tests/mvcc/row_fixture.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

TEST(RowHashSetTest, BehavesLikeASet) {
  Random random(TestSeed());
  RowHashSet set;
  std::unordered_set<uint64_t> model;
  // Few different ones with equal low bits: they meet, and leave holes.
  const auto some = [&random] { return random.Below(300) << 8U | random.Between(1, 3); };
  for (int step = 0; step < 20'000; ++step) {
    const uint64_t hash = some();
    if (random.OneIn(3)) {
      set.Remove(hash);
      model.erase(hash);
    } else if (step % 4000 < 2000 || random.OneIn(4)) {
      set.Add(hash);
      model.insert(hash);
    }
    const uint64_t asked = some();
    const bool there = model.count(asked) != 0;
    ASSERT_EQ(set.Contains(asked), there) << step;
  }
}

TEST(RowHashSetTest, TakesFewBytesARow) {
  constexpr size_t kRows = 1'000'000;
  Random random(TestSeed());
  RowHashSet set;
  EXPECT_EQ(set.memory_bytes(), 0u);
  for (size_t row = 1; row <= kRows; ++row) {
    set.Add(random.Next());
    ASSERT_LE(set.memory_bytes(), std::max<size_t>(row, 6) * 22) << row;
  }
  EXPECT_EQ(set.size(), kRows);
}

TEST(RowsAheadTest, MemoryGoesWithTheTransaction) {
  constexpr uint32_t kRows = 1000;
  RowFixture fixture(TestPageSizeBytes(), std::max(TestPoolPages(), 512U));
  Actor first(fixture.manager());
  Actor late(fixture.manager());
  for (uint32_t id = 0; id < kRows; ++id) {
    ASSERT_TRUE(fixture.Insert(&first, id, {1, id, "t"}).ok());
  }
  ASSERT_TRUE(fixture.Commit(&first).ok());
  for (uint32_t round = 0; round < 2; ++round) {
    fixture.manager()->OpenSnapshot(&late.txn);
    for (const auto& [actor, step] : {std::pair(&first, 1U), std::pair(&late, 2U)}) {
      RowFixture::Begin(actor);
      for (uint32_t id = 0; id < kRows; ++id) {
        const uint32_t a = 1 + round * 2 + step;
        ASSERT_TRUE(fixture.Update(actor, id, {a - 1, id, "t"}, {a, id, "t"}).ok());
      }
      if (actor == &first) RowFixture::Expect(fixture.Commit(actor));
    }
    EXPECT_GT(late.txn.rows_ahead.memory_bytes(), kRows * 8);
    EXPECT_LE(late.txn.rows_ahead.memory_bytes(), kRows * 22);
    ASSERT_TRUE((round == 0 ? fixture.Commit(&late) : fixture.Rollback(&late)).ok());
    EXPECT_EQ(late.txn.rows_ahead.memory_bytes(), 0u);
  }
}

}  // namespace
}  // namespace rowan
