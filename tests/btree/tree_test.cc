// SPDX-License-Identifier: GPL-2.0-only
// A tree against a std::map: random programs with every shape of key, splits, cleaning and merges,
// cursors in both directions, estimates, bulk builds, destruction; single-threaded.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "btree/bulk_builder.h"
#include "btree/cursor.h"
#include "btree/tree.h"
#include "tests/btree/key_shapes.h"
#include "tests/btree/tree_fixture.h"

namespace rowan {
namespace {

using Model = std::map<std::string, std::string>;

void ExpectTreeEquals(Tree* tree, const Model& model) {
  auto next = model.begin();
  const Status status = tree->Check([&](Bytes key, Bytes value) {
    if (next == model.end() || AsText(key) != next->first || AsText(value) != next->second) {
      return Status(Code::kCorrupt, "differs from the model");
    }
    ++next;
    return Status::Ok();
  });
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(next, model.end());
}

class TreeTest : public testing::TestWithParam<size_t> {
 protected:
  TreeTest() : fixture_({}), random_(TestSeed() + GetParam()) {}
  const KeyShape& shape() const { return AllKeyShapes(TestPageSizeBytes())[GetParam()]; }

  void Fill(int steps, Model* model, uint64_t remove_one_in) {
    for (int i = 0; i < steps; ++i) {
      const std::string key = shape().Make(&random_);
      if (remove_one_in != 0 && random_.OneIn(remove_one_in)) {
        const Status removed = fixture_.Remove(key);
        ASSERT_EQ(removed.ok(), model->erase(key) == 1) << removed.message();
        if (random_.OneIn(4)) {
          ASSERT_TRUE(fixture_.tree().MergeIfSmall(AsBytes(key)).ok());
        }
      } else {
        const std::string value = shape().MakeValue(&random_);
        const Status put = fixture_.Put(key, value);
        ASSERT_TRUE(put.ok()) << put.message();
        (*model)[key] = value;
      }
    }
  }

  TreeFixture fixture_;
  Random random_;
};

TEST_P(TreeTest, BehavesLikeAMapWhileItGrowsAndShrinks) {
  Model model;
  Fill(4000, &model, 4);
  ExpectTreeEquals(&fixture_.tree(), model);
  // Remove everything in random order; merges bring the tree back to few pages.
  std::vector<std::string> keys;
  for (const auto& [key, value] : model) keys.push_back(key);
  std::shuffle(keys.begin(), keys.end(), random_);
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_TRUE(fixture_.Remove(keys[i]).ok());
    ASSERT_TRUE(fixture_.tree().MergeIfSmall(AsBytes(keys[i])).ok());
    model.erase(keys[i]);
    if (i % 1024 == 0) ExpectTreeEquals(&fixture_.tree(), model);
  }
  ExpectTreeEquals(&fixture_.tree(), model);
  // Merging is a best effort, and the cleaner may have been in the way here and there.
  for (const std::string& key : keys) {
    ASSERT_TRUE(fixture_.tree().MergeIfSmall(AsBytes(key)).ok());
  }
  Result<uint32_t> used = fixture_.space().allocator().CheckSpace(SpaceFixture::kSpace);
  ASSERT_TRUE(used.ok());
  EXPECT_LE(*used, 12u) << "pages were not given back";
}

TEST_P(TreeTest, CursorsSeeTheSameAsTheModel) {
  Model model;
  Fill(3000, &model, 10);
  Cursor cursor(&fixture_.tree());
  for (int round = 0; round < 300; ++round) {
    const std::string key = shape().Make(&random_);
    if (random_.OneIn(2)) {
      auto expected = model.lower_bound(key);
      Status status = cursor.SeekAtLeast(AsBytes(key));
      for (int i = 0; i < 40; ++i) {
        ASSERT_EQ(status.ok(), expected != model.end()) << status.message();
        if (!status.ok()) break;
        ASSERT_EQ(AsText(cursor.key()), expected->first);
        ASSERT_EQ(AsText(cursor.value()), expected->second);
        if (random_.OneIn(3)) cursor.Unlatch();
        status = cursor.Next();
        ++expected;
      }
    } else {
      auto expected = model.lower_bound(key);
      Status status = cursor.SeekBefore(AsBytes(key));
      for (int i = 0; i < 40; ++i) {
        ASSERT_EQ(status.ok(), expected != model.begin()) << status.message();
        if (!status.ok()) break;
        --expected;
        ASSERT_EQ(AsText(cursor.key()), expected->first);
        if (random_.OneIn(3)) cursor.Unlatch();
        status = cursor.Prev();
      }
    }
    if (random_.OneIn(2)) cursor.Unlatch();
  }
  size_t forward = 0;
  for (Status s = cursor.SeekFirst(); s.ok(); s = cursor.Next()) ++forward;
  size_t backward = 0;
  for (Status s = cursor.SeekLast(); s.ok(); s = cursor.Prev()) ++backward;
  EXPECT_EQ(forward, model.size());
  EXPECT_EQ(backward, model.size());
}

TEST_P(TreeTest, AnUnlatchedCursorGoesOnAfterChanges) {
  Model model;
  Fill(1500, &model, 0);
  Cursor cursor(&fixture_.tree());
  for (int round = 0; round < 200; ++round) {
    const std::string start = shape().Make(&random_);
    if (!cursor.SeekAtLeast(AsBytes(start)).ok()) continue;
    const std::string at(AsText(cursor.key()));
    cursor.Unlatch();
    Fill(5, &model, 2);
    if (random_.OneIn(2)) {
      ASSERT_EQ(fixture_.Remove(at).ok(), model.erase(at) == 1);
    }
    if (random_.OneIn(2)) {
      const auto expected = model.upper_bound(at);
      const Status status = cursor.Next();
      ASSERT_EQ(status.ok(), expected != model.end());
      if (status.ok()) {
        ASSERT_EQ(AsText(cursor.key()), expected->first);
      }
    } else {
      auto expected = model.lower_bound(at);
      const Status status = cursor.Prev();
      ASSERT_EQ(status.ok(), expected != model.begin());
      if (status.ok()) {
        ASSERT_EQ(AsText(cursor.key()), (--expected)->first);
      }
    }
    cursor.Unlatch();
  }
}

TEST_P(TreeTest, BulkBuildGivesASoundTreeThatTakesInserts) {
  Model model;
  for (int i = 0; i < 3000; ++i) model[shape().Make(&random_)] = shape().MakeValue(&random_);
  {
    BulkBuilder builder(&fixture_.tree());
    for (const auto& [key, value] : model) {
      ASSERT_TRUE(builder.Add(AsBytes(key), AsBytes(value), TxnId(3)).ok());
    }
    EXPECT_TRUE(builder.Add(AsBytes(model.begin()->first), {}, kNoTxn).Is(Code::kInvalidArgument));
    ASSERT_TRUE(builder.Finish().ok());
  }
  ExpectTreeEquals(&fixture_.tree(), model);
  Fill(1000, &model, 3);
  ExpectTreeEquals(&fixture_.tree(), model);
}

TEST_P(TreeTest, DestroyGivesAllPagesBack) {
  Model model;
  Fill(2000, &model, 0);
  WorkBudget budget(UINT64_MAX);
  ASSERT_TRUE(fixture_.tree().Destroy(&budget).ok());
  ASSERT_TRUE(fixture_.tree().Destroy(&budget).ok()) << "repeating it does no harm";
  Result<uint32_t> used = fixture_.space().allocator().CheckSpace(SpaceFixture::kSpace);
  ASSERT_TRUE(used.ok());
  EXPECT_EQ(*used, 2u);
}

INSTANTIATE_TEST_SUITE_P(Shapes, TreeTest, testing::Range<size_t>(0, kKeyShapes));

std::string Key(uint64_t number) {
  std::string key(8, '\0');
  StoreBe64(reinterpret_cast<std::byte*>(key.data()), number);
  return key;
}

TEST(TreeSizeTest, TheLargestKeyIsTakenAndALargerOneRefused) {
  TreeFixture fixture({});
  const uint32_t page_bytes = TestPageSizeBytes();
  const std::string key(Tree::MaxKeyBytes(page_bytes), 'k');
  const std::string value(Tree::MaxEntryBytes(page_bytes) - key.size(), 'v');
  EXPECT_TRUE(fixture.Put(key, value).ok());
  EXPECT_TRUE(fixture.Put(key + "k", "").Is(Code::kTooBig));
  EXPECT_TRUE(fixture.Put(key, value + "v").Is(Code::kTooBig));
  const std::string too_big(Tree::MaxEntryBytes(page_bytes), 'v');
  EXPECT_TRUE(fixture.Put("k", too_big).Is(Code::kTooBig));
}

TEST(TreeSizeTest, TwoOfTheLargestRowsShareALeaf) {
  const uint32_t page_bytes = TestPageSizeBytes();
  constexpr uint64_t kRows = 400;
  const std::string row(Tree::MaxEntryBytes(page_bytes) - 8, 'r');
  // Ascending, built in order, and in the middle of other leaves.
  for (const int way : {0, 1, 2}) {
    SCOPED_TRACE(way);
    TreeFixture fixture({});
    BulkBuilder builder(&fixture.tree());
    for (uint64_t i = 0; i < kRows; ++i) {
      const uint64_t number = way == 2 ? i * 173 % kRows : i;
      ASSERT_TRUE(way == 1 ? builder.Add(AsBytes(Key(number)), AsBytes(row), kNoTxn).ok()
                           : fixture.Put(Key(number), row).ok());
    }
    if (way == 1) {
      ASSERT_TRUE(builder.Finish().ok());
    }
    uint64_t rows = 0;
    ASSERT_TRUE(fixture.tree().Check([&rows](Bytes, Bytes) { return ++rows, Status::Ok(); }).ok());
    EXPECT_EQ(rows, kRows);
    Result<SpaceStatistics> space = fixture.space().allocator().Statistics(SpaceFixture::kSpace);
    ASSERT_TRUE(space.ok());
    EXPECT_LT(space->used_pages, kRows * (way == 2 ? 8 : 5) / 8 + 8);
  }
}

TEST(TreeSizeTest, RowsGrowToTheLimitInPlaceAndShrinkAgain) {
  const uint32_t page_bytes = TestPageSizeBytes();
  constexpr uint64_t kRows = 200;
  TreeFixture fixture({});
  // Leaves with stored high keys, which must give way.
  const std::string head(400, 'k');
  const size_t largest = Tree::MaxEntryBytes(page_bytes) - head.size() - 8;
  for (uint64_t i = 0; i < kRows; ++i) ASSERT_TRUE(fixture.Put(head + Key(i * 7919), "v").ok());
  for (uint64_t i = 0; i < kRows; ++i) {
    ASSERT_TRUE(fixture.Put(head + Key(i * 31 % kRows * 7919), std::string(largest, 'r')).ok());
  }
  ASSERT_TRUE(fixture.tree().Check({}).ok());
  for (uint64_t i = 0; i < kRows; ++i) {
    const std::string key = head + Key(i * 7919);
    ASSERT_TRUE(fixture.Put(key, "v").ok());
    ASSERT_TRUE(fixture.tree().MergeIfSmall(AsBytes(key)).ok());
  }
  ASSERT_TRUE(fixture.tree().Check({}).ok());
  Result<uint32_t> used = fixture.space().allocator().CheckSpace(SpaceFixture::kSpace);
  ASSERT_TRUE(used.ok());
  EXPECT_LT(*used, kRows * 500 * 3 / page_bytes + 10);
}

TEST(TreeEstimateTest, IsExactOnShortRangesAndNearElsewhere) {
  TreeFixture fixture({});
  constexpr uint64_t kEntries = 20000;
  Random random(1);
  std::vector<uint64_t> numbers(kEntries);
  for (uint64_t i = 0; i < kEntries; ++i) numbers[i] = i;
  std::shuffle(numbers.begin(), numbers.end(), random);
  for (const uint64_t number : numbers) {
    ASSERT_TRUE(fixture.Put(Key(number), std::string(40, 'v')).ok());
  }
  const auto estimate = [&fixture](const std::string& low, const std::string& high) {
    Result<uint64_t> result = fixture.tree().EstimateRange(AsBytes(low), AsBytes(high));
    EXPECT_TRUE(result.ok());
    return static_cast<double>(*result);
  };
  EXPECT_EQ(estimate(Key(100), Key(110)), 10);
  EXPECT_EQ(estimate(Key(10), Key(10)), 0);
  EXPECT_EQ(estimate(Key(20), Key(10)), 0);
  const uint64_t short_range = fixture.space().pool().page_size_bytes() / 20;  // on ten leaves
  for (int i = 0; i < 50; ++i) {
    const uint64_t low = random.Below(kEntries / 2);
    EXPECT_EQ(estimate(Key(low), Key(low + short_range)), short_range);
  }
  for (int i = 0; i < 200; ++i) {
    const uint64_t low = random.Below(kEntries / 2);
    const uint64_t size = 1000 + random.Below(kEntries / 2 - 1000);
    EXPECT_NEAR(estimate(Key(low), Key(low + size)), static_cast<double>(size),
                static_cast<double>(size) * 0.5 + 300);
  }
  EXPECT_NEAR(estimate("", ""), kEntries, kEntries * 0.3);
  Result<TreeStatistics> statistics = fixture.tree().Statistics();
  ASSERT_TRUE(statistics.ok());
  EXPECT_NEAR(static_cast<double>(statistics->entries), kEntries, kEntries * 0.35);
  EXPECT_GE(statistics->levels, 2u);
}

TEST(TreeCleanTest, GarbageIsRemovedBeforeALeafIsSplit) {
  TreeFixture fixture({});
  const LeafCleaner cleaner{
      [](void*, Bytes, Bytes value) { return !value.empty() && AsText(value)[0] == 'g'; }, nullptr};
  fixture.SetCleaner(cleaner);
  for (uint64_t i = 0; i < 20000; ++i) {
    ASSERT_TRUE(fixture.Put(Key(i * 7919 % 20000), std::string(30, i < 10 ? 'v' : 'g')).ok());
  }
  Result<TreeStatistics> statistics = fixture.tree().Statistics();
  ASSERT_TRUE(statistics.ok());
  EXPECT_EQ(statistics->levels, 1u);
}

TEST(TreeCleanTest, EntriesWithoutTheMarkAreNotAskedAbout) {
  TreeFixture fixture({});
  uint64_t asked = 0;
  const LeafCleaner cleaner{[](void* context, Bytes, Bytes) {
                              ++*static_cast<uint64_t*>(context);
                              return false;
                            },
                            &asked};
  fixture.SetCleaner(cleaner);
  for (uint64_t i = 0; i < 20000; ++i) {
    ASSERT_TRUE(fixture.Put(Key(i * 7919 % 20000), std::string(30, 'v')).ok());
  }
  EXPECT_EQ(asked, 0U);
}

TEST(TreeAscendingTest, AscendingInsertsFillLeaves) {
  TreeFixture fixture({});
  constexpr uint64_t kEntries = 20000;
  for (uint64_t i = 0; i < kEntries; ++i) {
    ASSERT_TRUE(fixture.Put(Key(i), std::string(50, 'v')).ok());
  }
  ASSERT_TRUE(fixture.tree().Check({}).ok());
  Result<SpaceStatistics> space = fixture.space().allocator().Statistics(SpaceFixture::kSpace);
  ASSERT_TRUE(space.ok());
  const double bytes = static_cast<double>(space->used_pages) * TestPageSizeBytes();
  EXPECT_LT(bytes, kEntries * (50 + 8 + 10) * 1.1) << "leaves are not full";
}

TEST(TreeQueueTest, RemovingFromTheFrontFreesPages) {
  TreeFixture fixture({});
  for (uint64_t i = 0; i < 30000; ++i) {
    ASSERT_TRUE(fixture.Put(Key(i), std::string(50, 'v')).ok());
    if (i < 500) continue;
    ASSERT_TRUE(fixture.Remove(Key(i - 500)).ok());
    ASSERT_TRUE(fixture.tree().MergeIfSmall(AsBytes(Key(i - 500))).ok());
  }
  ASSERT_TRUE(fixture.tree().Check({}).ok());
  Result<uint32_t> used = fixture.space().allocator().CheckSpace(SpaceFixture::kSpace);
  ASSERT_TRUE(used.ok());
  EXPECT_LT(*used, 2u + 500 * 70 / (TestPageSizeBytes() / 3) + 10);
}

}  // namespace
}  // namespace rowan
