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

}  // namespace
}  // namespace rowan
