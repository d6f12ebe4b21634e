// SPDX-License-Identifier: GPL-2.0-only
// Searches among keys that differ by little: most have the same head as others, because they end
// within it, or go on after it.
#include "btree/node_search.h"

#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "btree/node.h"
#include "btree/node_edit.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

/// All keys of at most five bytes that are 0 or 1.
std::vector<std::string> NearKeys() {
  std::vector<std::string> keys{""};
  for (size_t i = 0; keys[i].size() < 5; ++i) {
    for (const char byte : {'\0', '\1'}) keys.push_back(keys[i] + byte);
  }
  return keys;
}

TEST(NodeSearchTest, FindsKeysThatDifferInLengthAlone) {
  Random random(TestSeed());
  const std::vector<std::string> all = NearKeys();
  for (int round = 0; round < 200; ++round) {
    std::set<std::string> keys;
    for (const std::string& key : all) {
      if (random.Below(8) <= static_cast<uint32_t>(round % 8)) keys.insert(key);
    }
    std::vector<std::byte> page(4096);
    InitNode(page, {SpaceId(16), PageNumber(7)}, IndexId(42), 0);
    uint16_t slot = 0;
    for (const std::string& key : keys) {
      ASSERT_TRUE(InsertEntry(page, slot++, AsBytes(key), AsBytes(std::string("v")), kNoTxn));
    }
    for (const std::string& key : all) {
      const SlotSearch found = SearchNode(page, AsBytes(key));
      const auto place = keys.lower_bound(key);
      EXPECT_EQ(found.slot, std::distance(keys.begin(), place));
      EXPECT_EQ(found.exact, place != keys.end() && *place == key);
      for (uint16_t from = 0; from <= found.slot; ++from) {
        const SlotSearch again = SearchNodeFrom(page, from, AsBytes(key));
        EXPECT_EQ(again.slot, found.slot);
        EXPECT_EQ(again.exact, found.exact);
      }
    }
  }
}

std::string FourBytes(uint32_t number) {
  std::string key(4, '\0');
  StoreBe32(reinterpret_cast<std::byte*>(key.data()), number);
  return key;
}

/// Numbers of one kind: counted up, random, in a few heaps, or each far from the one before.
uint32_t NumberOfKind(int kind, uint32_t i, Random* random) {
  switch (kind) {
    case 0: return i;
    case 1: return static_cast<uint32_t>(random->Next());
    case 2: return random->Below(4) * 0x40000000u + random->Below(50);
    case 3: return UINT32_MAX - (uint32_t{1} << random->Below(32));
    default: return i % 7 == 0 ? static_cast<uint32_t>(random->Next()) : 1000 + i;
  }
}

TEST(NodeSearchTest, FindsTheSameHoweverKeysAreSpread) {
  Random random(TestSeed());
  for (int round = 0; round < 300; ++round) {
    std::set<std::string> keys;
    const uint32_t size = 1 + random.Below(220);
    for (uint32_t i = 0; i < size; ++i) keys.insert(FourBytes(NumberOfKind(round % 5, i, &random)));
    std::vector<std::byte> page(4096);
    InitNode(page, {SpaceId(16), PageNumber(7)}, IndexId(42), 0);
    uint16_t slot = 0;
    for (const std::string& key : keys) {
      ASSERT_TRUE(InsertEntry(page, slot++, AsBytes(key), AsBytes(key), kNoTxn));
    }
    std::set<std::string> probes(keys.begin(), keys.end());
    for (const std::string& key : keys) {
      const uint32_t number = LoadBe32(AsBytes(key).data());
      probes.insert({FourBytes(number - 1), FourBytes(number + 1), key + "x"});
    }
    for (const std::string& probe : probes) {
      const auto place = keys.lower_bound(probe);
      const bool exists = place != keys.end() && *place == probe;
      const SlotSearch found = SearchNode(page, AsBytes(probe));
      ASSERT_EQ(found.slot, std::distance(keys.begin(), place)) << round;
      ASSERT_EQ(found.exact, exists);
      const LeafEntry entry = UnlatchedFind(page, IndexId(42), AsBytes(probe));
      ASSERT_TRUE(entry.is_leaf);
      ASSERT_EQ(entry.exists, exists);
      ASSERT_EQ(AsText(entry.value), exists ? probe : "");
      ASSERT_EQ(entry.within, exists || (found.slot != 0 && found.slot != keys.size()));
    }
    EXPECT_FALSE(UnlatchedFind(page, IndexId(43), AsBytes(*keys.begin())).is_leaf);
  }
}

/// What differs is one byte of a shared prefix, at each place of prefixes of all usual lengths.
TEST(NodeSearchTest, ComparesPrefixesOfAllLengths) {
  for (size_t length = 1; length <= 20; ++length) {
    const std::string prefix(length, 'm');
    std::vector<std::byte> page(4096);
    InitNode(page, {SpaceId(16), PageNumber(7)}, IndexId(42), 0);
    const std::string high = prefix + "z";
    NodeBounds bounds;
    bounds.high = AsBytes(high);
    bounds.prefix = AsBytes(prefix);
    ASSERT_TRUE(ReboundNode(page, 0, bounds));
    ASSERT_TRUE(InsertEntry(page, 0, AsBytes(std::string("n")), AsBytes(std::string("v")), kNoTxn));
    for (size_t at = 0; at < length; ++at) {
      std::string key = prefix + "n";
      key[at] = 'l';
      EXPECT_EQ(SearchNode(page, AsBytes(key)).slot, 0) << length << " " << at;
      key[at] = '\xF0';
      EXPECT_EQ(SearchNode(page, AsBytes(key)).slot, 1) << length << " " << at;
    }
    EXPECT_TRUE(SearchNode(page, AsBytes(prefix + "n")).exact);
  }
}

}  // namespace
}  // namespace rowan
