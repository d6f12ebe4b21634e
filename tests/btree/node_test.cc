// SPDX-License-Identifier: GPL-2.0-only
// One node against a std::map: random inserts, updates, removals, splits and merges with every
// shape of key; each change is also applied to a second page through its redo record, byte for
// byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "btree/node.h"
#include "btree/node_check.h"
#include "btree/node_edit.h"
#include "btree/node_search.h"
#include "btree/node_split.h"
#include "tests/btree/key_shapes.h"
#include "tests/support/test_settings.h"

namespace rowan::node_test {
namespace {

const PageId kId{SpaceId(16), PageNumber(7)};
const IndexId kIndex{42};

using Model = std::map<std::string, std::string>;

struct Page {
  explicit Page(size_t size_bytes) : bytes(size_bytes) { InitNode(bytes, kId, kIndex, 0); }
  [[nodiscard]] NodeView view() const { return NodeView(bytes); }
  std::vector<std::byte> bytes;
};

void ExpectEqual(const Page& page, const Model& model) {
  ASSERT_EQ(CheckNode(page.bytes), nullptr) << CheckNode(page.bytes);
  const NodeView node = page.view();
  ASSERT_EQ(node.count(), model.size());
  size_t slot = 0;
  KeyBuffer key;
  for (const auto& [expected_key, expected_value] : model) {
    AssembleKey(node, slot, &key);
    ASSERT_EQ(AsText(key), expected_key);
    ASSERT_EQ(AsText(node.Value(slot)), expected_value);
    const NodeView::Entry entry = node.EntryAt(slot);
    ASSERT_EQ(AsText(entry.bytes.first(entry.suffix_bytes)), AsText(node.Suffix(slot)));
    ASSERT_EQ(AsText(entry.bytes.subspan(entry.suffix_bytes)), expected_value);
    const SlotSearch found = SearchNode(page.bytes, AsBytes(expected_key));
    ASSERT_TRUE(found.exact);
    ASSERT_EQ(found.slot, slot);
    ++slot;
  }
}

/// One random change of page and model. False if the page had no room for it.
bool Step(Page* page, Model* model, const KeyShape& shape, Random* random) {
  const std::string key = shape.Make(random);
  const std::string value = shape.MakeValue(random);
  const SlotSearch found = SearchNode(page->bytes, AsBytes(key));
  const auto position = model->lower_bound(key);
  EXPECT_EQ(found.exact, position != model->end() && position->first == key);
  EXPECT_EQ(found.slot, std::distance(model->begin(), position));
  const NodeView node = page->view();
  const TxnId stamp(random->Below(1000));
  if (!found.exact) {
    if (!NodeHasRoom(node, key.size() - node.prefix_length(), value.size())) return false;
    EXPECT_TRUE(InsertEntry(page->bytes, found.slot, AsBytes(key).subspan(node.prefix_length()),
                            AsBytes(value), stamp));
    model->emplace(key, value);
  } else if (random->OneIn(3)) {
    RemoveEntry(page->bytes, found.slot);
    model->erase(key);
  } else {
    if (!NodeHasRoomToReplace(node, found.slot, value.size())) return false;
    EXPECT_TRUE(ReplaceValue(page->bytes, found.slot, AsBytes(value), stamp));
    (*model)[key] = value;
  }
  return true;
}

class NodeTest : public testing::TestWithParam<size_t> {
 protected:
  const KeyShape& shape() const { return AllKeyShapes(TestPageSizeBytes())[GetParam()]; }
};

TEST_P(NodeTest, BehavesLikeAMap) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed * 1000 + GetParam());
    Page page(TestPageSizeBytes());
    Model model;
    uint32_t full = 0;
    for (int i = 0; i < 3000 && full < 200; ++i) {
      if (!Step(&page, &model, shape(), &random)) {
        ++full;
        if (model.empty()) continue;
        auto victim = std::next(model.begin(), static_cast<ptrdiff_t>(random.Below(model.size())));
        RemoveEntry(page.bytes, SearchNode(page.bytes, AsBytes(victim->first)).slot);
        model.erase(victim);
      }
      if (i % 64 == 0) ExpectEqual(page, model);
      if (HasFatalFailure()) return;
    }
    ExpectEqual(page, model);
    CompactNode(page.bytes);
    EXPECT_EQ(page.view().garbage_bytes(), 0u);
    ExpectEqual(page, model);
  }
}

TEST_P(NodeTest, CompactionIsAsANewNodeOfTheSameEntries) {
  Random random(7 + GetParam());
  Page page(TestPageSizeBytes());
  Model model;
  while (Step(&page, &model, shape(), &random)) {
  }
  const NodeView node = page.view();
  Page built(TestPageSizeBytes());
  NodeBuilder builder(built.bytes, {kId, kIndex, 0, kNoPage, node.newest_change()}, BoundsOf(node));
  ASSERT_TRUE(builder.AppendFrom(node, 0, node.count()));
  CompactNode(page.bytes);
  const auto content = [](const Page& of) { return Bytes(of.bytes).subspan(node_layout::kSlots); };
  EXPECT_TRUE(EqualBytes(content(page), content(built)));
}

TEST_P(NodeTest, ValuesLoseAPiece) {
  constexpr ValueCut kCut{0x40, 2, 5};
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed * 31 + GetParam());
    Page page(TestPageSizeBytes());
    Model model;
    while (Step(&page, &model, shape(), &random)) {
    }
    SlotRuns runs;
    size_t slot = 0;
    for (auto& [key, value] : model) {
      if (value.size() >= 7 && !random.OneIn(4)) {
        value[0] = static_cast<char>(value[0] & ~kCut.flags);
        value.erase(kCut.offset, kCut.bytes);
        runs.push_back({static_cast<uint16_t>(slot), 1});
        if (runs.size() > 1 && runs[runs.size() - 2].first + 1U == slot && random.OneIn(2)) {
          runs.pop_back();
          ++runs.back().count;
        }
      }
      ++slot;
    }
    ASSERT_TRUE(ShortenValues(page.bytes, runs, kCut));
    EXPECT_EQ(page.view().garbage_bytes(), 0U);
    ExpectEqual(page, model);
    // One that is too short for it: nothing happens.
    if (page.view().Value(0).size() >= 256) continue;
    const std::vector<std::byte> before = page.bytes;
    const auto all = static_cast<uint16_t>(model.size());
    EXPECT_FALSE(ShortenValues(page.bytes, std::vector<SlotRun>{{0, all}}, {0x40, 1, 255}));
    EXPECT_TRUE(page.bytes == before);
  }
}

TEST_P(NodeTest, SplitsIntoTwoSoundHalves) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed * 77 + GetParam());
    Page page(TestPageSizeBytes());
    Model model;
    while (Step(&page, &model, shape(), &random)) {
    }
    std::string key = shape().Make(&random);
    while (model.contains(key)) key = shape().Make(&random);
    if (model.size() < 2) continue;
    // A chain of splits, always of the half that owns the key: prefixes grow on the way.
    std::string lower;
    for (int depth = 0; depth < 6 && page.view().count() >= 2; ++depth) {
      const NodeView node = page.view();
      SplitPlan plan = PlanSplit(node, AsBytes(key), 10);
      SplitBounds bounds = BoundsAfterSplit(node, AsBytes(lower), plan.separator, PageNumber(8));
      if (!FitsAfterSplit(node, plan.slot, bounds.left)) {
        plan = PlanMiddleSplit(node);
        bounds = BoundsAfterSplit(node, AsBytes(lower), plan.separator, PageNumber(8));
        ASSERT_TRUE(FitsAfterSplit(node, plan.slot, bounds.left));
      }
      Page right(TestPageSizeBytes());
      NodeBuilder builder(right.bytes, {kId, kIndex, 0, kNoPage, kNoTxn}, bounds.right);
      ASSERT_TRUE(builder.AppendFrom(node, plan.slot, node.count()));
      ASSERT_TRUE(ReboundNode(page.bytes, plan.slot, bounds.left));
      const std::string separator(AsText(plan.separator));
      Model left_model(model.begin(), model.lower_bound(separator));
      Model right_model(model.lower_bound(separator), model.end());
      ExpectEqual(page, left_model);
      ExpectEqual(right, right_model);
      if (HasFatalFailure()) return;
      if (key < separator) {
        model = left_model;
      } else {
        model = right_model;
        page = right;
        lower = separator;
      }
      ASSERT_EQ(AsText(page.view().prefix()), key.substr(0, page.view().prefix_length()));
    }
  }
}

TEST_P(NodeTest, AnyTwoLargestEntriesFit) {
  const uint32_t page_bytes = TestPageSizeBytes();
  const size_t key_bytes = NodeMaxKeyBytes(page_bytes);
  const size_t value_bytes = NodeMaxEntryBytes(page_bytes) - key_bytes;
  Page page(page_bytes);
  NodeBuilder builder(page.bytes, {kId, kIndex, 0, kNoPage, kNoTxn}, {});
  for (const char first : {'a', 'b'}) {
    const std::string key(key_bytes, first);
    const std::string value(value_bytes, 'v');
    ASSERT_TRUE(NodeHasRoom(page.view(), key.size(), value.size()));
    ASSERT_TRUE(InsertEntry(page.bytes, page.view().count(), AsBytes(key), AsBytes(value), kNoTxn));
  }
  EXPECT_EQ(CheckNode(page.bytes), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Shapes, NodeTest, testing::Range<size_t>(0, kKeyShapes));

TEST(NodeFuzzTest, AnyBytesAreSearchedAndCheckedWithoutACrash) {
  const uint32_t page_bytes = TestPageSizeBytes();
  Random random(5);
  const KeyShape& shape = AllKeyShapes(page_bytes)[0];
  Page good(page_bytes);
  Model model;
  while (Step(&good, &model, shape, &random)) {
  }
  for (int round = 0; round < 3000; ++round) {
    Page page = good;
    const uint64_t flips = 1 + random.Below(40);
    for (uint64_t i = 0; i < flips; ++i) {
      const uint64_t limit = random.OneIn(2) ? 128 : page_bytes;
      page.bytes[random.Below(limit)] = static_cast<std::byte>(random.Next());
    }
    static_cast<void>(CheckNode(page.bytes));
    const std::string key = shape.Make(&random);
    static_cast<void>(SearchNode(page.bytes, AsBytes(key)));
    KeyBuffer copy;
    UnlatchedCopyKey(page.bytes, static_cast<uint16_t>(random.Below(500)), &copy);
    static_cast<void>(UnlatchedCovers(page.bytes, AsBytes(key)));
    static_cast<void>(UnlatchedChooseChild(page.bytes, kIndex, Aim::kOwner, AsBytes(key)));
    const NodeView node = page.view();
    for (size_t slot = 0; slot < node.count(); ++slot) {
      AssembleKey(node, slot, &copy);
      const NodeView::Entry entry = node.EntryAt(slot);
      if (entry.bytes.empty()) continue;
      ASSERT_LE(entry.suffix_bytes, entry.bytes.size());
      ASSERT_LE(entry.bytes.data() + entry.bytes.size(), page.bytes.data() + page.bytes.size());
    }
  }
}

TEST(NodeSearchTest, KeysThatOnlyDifferInLengthOrZerosAreToldApart) {
  Page page(TestPageSizeBytes());
  const std::vector<std::string> keys = {"",
                                         std::string("\0", 1),
                                         std::string("\0\0", 2),
                                         "a",
                                         std::string("a\0", 2),
                                         std::string("a\0\0\0\0", 5),
                                         "ab",
                                         "abcd",
                                         "abcde",
                                         "abcdf",
                                         "\xff\xff\xff\xff",
                                         "\xff\xff\xff\xff\xff"};
  Model model;
  for (const std::string& key : keys) {
    const SlotSearch found = SearchNode(page.bytes, AsBytes(key));
    ASSERT_FALSE(found.exact);
    ASSERT_TRUE(InsertEntry(page.bytes, found.slot, AsBytes(key), {}, kNoTxn));
    model.emplace(key, "");
    ExpectEqual(page, model);
  }
}

TEST(SeparatorTest, IsTheShortestKeyBetweenTwoNeighbours) {
  KeyBuffer separator;
  ShortestSeparator(AsBytes("abcxyz"), AsBytes("abdaaa"), &separator);
  EXPECT_EQ(AsText(separator), "abd");
  ShortestSeparator(AsBytes("abc"), AsBytes("abcd"), &separator);
  EXPECT_EQ(AsText(separator), "abcd");
  ShortestSeparator(AsBytes(""), AsBytes("q"), &separator);
  EXPECT_EQ(AsText(separator), "q");
}

TEST(SplitTest, AscendingInsertsLeaveTheLeftLeafFull) {
  Page page(TestPageSizeBytes());
  for (uint32_t i = 0;; ++i) {
    std::byte key[4];
    StoreBe32(key, i);
    if (!NodeHasRoom(page.view(), 4, 20)) {
      const SplitPlan plan = PlanSplit(page.view(), key, 20);
      EXPECT_EQ(plan.slot, page.view().count());
      break;
    }
    ASSERT_TRUE(InsertEntry(page.bytes, i, key, AsBytes(std::string(20, 'v')), kNoTxn));
  }
}

}  // namespace
}  // namespace rowan::node_test
