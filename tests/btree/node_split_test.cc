// SPDX-License-Identifier: GPL-2.0-only
// Where nodes are split, with which separator, and what the halves are then, as node_splits.txt has
// it.
#include "btree/node_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "btree/node_check.h"
#include "btree/node_search.h"

namespace rowan::node_split_test {
namespace {

constexpr uint32_t kPageBytes = 4096;
const PageId kLeft{SpaceId(16), PageNumber(7)};
const PageId kRight{SpaceId(16), PageNumber(8)};
const PageNumber kBehind{9};
const IndexId kIndex{42};

using Keys = std::vector<std::string>;

Keys Words(const std::string& text) {
  std::istringstream stream(text);
  Keys words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string OneOrNone(const std::string& word) { return word == "-" ? "" : word; }

/// "k07..k15/2": the keys k07, k09 and so on; every one without "/2", descending if the second
/// number is smaller.
Keys Expand(const std::string& word) {
  const size_t dots = word.find("..");
  if (dots == std::string::npos) return {word};
  const size_t slash = std::min(word.find('/'), word.size());
  const int step = slash < word.size() ? std::stoi(word.substr(slash + 1)) : 1;
  const size_t name = word.find_first_of("0123456789");
  const size_t digits = dots - name;
  const int first = std::stoi(word.substr(name, digits));
  const int last = std::stoi(word.substr(dots + 2 + name, digits));
  Keys keys;
  const int way = first <= last ? step : -step;
  for (int number = first; way > 0 ? number <= last : number >= last; number += way) {
    const std::string text = std::to_string(number);
    keys.push_back(word.substr(0, name) + std::string(digits - text.size(), '0') + text);
  }
  return keys;
}

Keys KeysOf(const std::string& text) {
  Keys keys;
  for (const std::string& word : Words(text)) {
    for (std::string& key : Expand(word)) keys.push_back(std::move(key));
  }
  return keys;
}

struct Case {
  std::string line;
  bool leaf = false;
  std::string lower;
  std::string high;
  Keys keys;
  std::string added;
  Keys left;
  Keys right;
  std::string separator;
  std::string left_prefix;
  std::string right_prefix;
};

std::vector<std::string> Columns(const std::string& text) {
  std::vector<std::string> columns;
  std::istringstream stream(text);
  for (std::string column; std::getline(stream, column, '|');) columns.push_back(column);
  return columns;
}

std::vector<Case> Cases() {
  std::ifstream stream(ROWAN_TEST_DATA "/node_splits.txt");
  std::vector<Case> cases;
  for (std::string line; std::getline(stream, line);) {
    const size_t arrow = line.find("=>");
    if (line.starts_with("#") || arrow == std::string::npos) continue;
    const std::vector<std::string> node = Columns(line.substr(0, arrow));
    const std::vector<std::string> halves = Columns(line.substr(arrow + 2));
    EXPECT_EQ(node.size(), 3u) << line;
    EXPECT_EQ(halves.size(), 4u) << line;
    const Keys what = Words(node[0]);
    const Keys prefixes = Words(halves[3]);
    cases.push_back({line, what[0] == "leaf", OneOrNone(what[1]), OneOrNone(what[2]),
                     KeysOf(node[1]), Words(node[2])[0], KeysOf(halves[0]), KeysOf(halves[1]),
                     Words(halves[2])[0], OneOrNone(prefixes[0]), OneOrNone(prefixes[1])});
  }
  return cases;
}

class Split {
 public:
  explicit Split(const Case& one) : case_(one), left_(kPageBytes), right_(kPageBytes) {
    NodeBounds bounds;
    bounds.high = AsBytes(one.high);
    bounds.rightmost = one.high.empty();
    bounds.prefix = bounds.high.first(CommonPrefix(AsBytes(one.lower), bounds.high));
    if (one.leaf && !bounds.rightmost) bounds.right = kBehind;
    const PageNumber first_child = one.leaf ? kNoPage : PageNumber(100);
    NodeBuilder builder(left_, {kLeft, kIndex, LevelOf(one), first_child, TxnId(3)}, bounds);
    for (const std::string& key : one.keys) Insert(key);
  }

  void Run() {
    const NodeView node(left_);
    ASSERT_EQ(CheckNode(left_), nullptr) << CheckNode(left_);
    const SplitPlan plan = PlanSplit(node, AsBytes(case_.added), value_bytes_);
    const SplitBounds bounds =
        BoundsAfterSplit(node, AsBytes(case_.lower), plan.separator, kRight.page);
    ASSERT_TRUE(FitsAfterSplit(node, plan.slot, bounds.left));
    const size_t first = case_.leaf ? plan.slot : plan.slot + 1;
    const PageNumber first_child = case_.leaf ? kNoPage : node.Child(plan.slot + 1);
    NodeBuilder builder(right_, {kRight, kIndex, node.level(), first_child, TxnId(3)},
                        bounds.right);
    ASSERT_TRUE(builder.AppendFrom(node, first, node.count()));
    NodeBounds left = bounds.left;
    if (!case_.leaf) left.right = kNoPage;
    ASSERT_TRUE(ReboundNode(left_, plan.slot, left));
    EXPECT_EQ(AsText(plan.separator), case_.separator);
  }

  void ExpectHalves() {
    ExpectHalf(left_, case_.left, case_.left_prefix);
    ExpectHalf(right_, case_.right, case_.right_prefix);
    const NodeView left(left_);
    const NodeView right(right_);
    EXPECT_FALSE(left.rightmost());
    EXPECT_EQ(AsText(left.high_key()), case_.separator);
    EXPECT_EQ(right.rightmost(), case_.high.empty());
    if (!right.rightmost()) {
      EXPECT_EQ(AsText(right.high_key()), case_.high);
    }
    if (case_.leaf) {
      EXPECT_EQ(left.right(), kRight.page);
      EXPECT_EQ(right.right(), case_.high.empty() ? kNoPage : kBehind);
    } else {
      // Each separator still stands before its child, that which goes up before the right node's.
      EXPECT_EQ(left.first_child(), PageNumber(100));
      EXPECT_EQ(right.first_child(), ChildOf(case_.separator));
    }
    const NodeView& owner = case_.added < case_.separator ? left : right;
    EXPECT_TRUE(NodeHasRoom(owner, case_.added.size() - owner.prefix_length(), value_bytes_));
  }

 private:
  static uint8_t LevelOf(const Case& one) { return one.leaf ? 0 : 1; }
  /// Inner nodes: by the place of the separator when the node was whole.
  [[nodiscard]] PageNumber ChildOf(const std::string& key) const {
    const auto place = std::find(case_.keys.begin(), case_.keys.end(), key) - case_.keys.begin();
    return PageNumber(static_cast<uint32_t>(101 + place));
  }

  void Insert(const std::string& key) {
    const NodeView node(left_);
    const size_t prefix = node.prefix_length();
    size_t key_bytes = 0;
    for (const std::string& one : case_.keys) key_bytes += one.size() - prefix;
    const size_t room = kPageBytes - node_layout::kSlots - node.fence_bytes() - key_bytes;
    value_bytes_ = room / case_.keys.size() - node.EntryBytes(0, 0);
    std::string value(value_bytes_, 'v');
    if (!case_.leaf) {
      value.resize(4);
      StoreLe<uint32_t>(reinterpret_cast<std::byte*>(value.data()), ChildOf(key).value());
    }
    const SlotSearch found = SearchNode(left_, AsBytes(key));
    ASSERT_FALSE(found.exact);
    ASSERT_TRUE(
        InsertEntry(left_, found.slot, AsBytes(key).subspan(prefix), AsBytes(value), TxnId(3)));
  }

  void ExpectHalf(const std::vector<std::byte>& page, const Keys& expected,
                  const std::string& prefix) const {
    EXPECT_EQ(CheckNode(page), nullptr) << CheckNode(page);
    const NodeView node(page);
    EXPECT_EQ(AsText(node.prefix()), prefix);
    EXPECT_EQ(node.newest_change(), TxnId(3));
    Keys keys;
    KeyBuffer key;
    for (size_t slot = 0; slot < node.count(); ++slot) {
      AssembleKey(node, slot, &key);
      keys.emplace_back(AsText(key));
      if (!case_.leaf) {
        EXPECT_EQ(node.Child(slot + 1), ChildOf(keys.back()));
      }
    }
    EXPECT_EQ(keys, expected);
  }

  const Case& case_;
  size_t value_bytes_ = 0;
  std::vector<std::byte> left_;
  std::vector<std::byte> right_;
};

TEST(NodeSplitTest, GoesAsTheTableSays) {
  const std::vector<Case> cases = Cases();
  ASSERT_GE(cases.size(), 19u) << "the table is not found";
  for (const Case& one : cases) {
    SCOPED_TRACE(one.line);
    Split split(one);
    ASSERT_NO_FATAL_FAILURE(split.Run());
    split.ExpectHalves();
  }
}

// A leaf whose separator is too long for it has no high key; its bounds are what they were.
TEST(NodeSplitTest, ALeafOfTwoGivesUpItsHighKeyWhereItDoesNotFit) {
  std::vector<std::byte> page(kPageBytes);
  InitNode(page, kLeft, kIndex, 0);
  const std::string value(1500, 'v');
  for (size_t slot = 0; slot < 2; ++slot) {
    const std::string key(500, static_cast<char>('a' + slot));
    ASSERT_TRUE(InsertEntry(page, slot, AsBytes(key), AsBytes(value), kNoTxn));
  }
  const NodeView node(page);
  const std::string high(480, 'c');
  NodeBounds bounds;
  bounds.high = AsBytes(high);
  EXPECT_FALSE(FitsAfterSplit(node, 2, bounds));
  EXPECT_TRUE(FitsAfterSplit(node, 1, bounds));
  EXPECT_TRUE(FitsAfterSplitOrWithoutHighKey(node, 1, &bounds));
  EXPECT_EQ(bounds.high.size(), high.size()) << "it fits with it";
  EXPECT_TRUE(FitsAfterSplitOrWithoutHighKey(node, 2, &bounds));
  EXPECT_TRUE(bounds.high.empty());
}

TEST(NodeSplitTest, ALeafOfThreeKeepsItsHighKeyOrDoesNotFit) {
  std::vector<std::byte> page(kPageBytes);
  InitNode(page, kLeft, kIndex, 0);
  const std::string value(1280, 'v');
  for (size_t slot = 0; slot < 3; ++slot) {
    const std::string key(1, static_cast<char>('a' + slot));
    ASSERT_TRUE(InsertEntry(page, slot, AsBytes(key), AsBytes(value), kNoTxn));
  }
  const std::string high(300, 'd');
  NodeBounds bounds;
  bounds.high = AsBytes(high);
  EXPECT_FALSE(FitsAfterSplitOrWithoutHighKey(NodeView(page), 3, &bounds));
  EXPECT_EQ(bounds.high.size(), high.size());
  EXPECT_TRUE(FitsAfterSplitOrWithoutHighKey(NodeView(page), 2, &bounds));
}

}  // namespace
}  // namespace rowan::node_split_test
