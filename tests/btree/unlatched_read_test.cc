// SPDX-License-Identifier: GPL-2.0-only
// Entries read without a latch: they are what a map has while the tree changes in between, a leaf
// that changed after the entry was found does not validate, and readers beside writers never trust
// a value that is a mixture of two.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/counters.h"
#include "base/random.h"
#include "btree/node_search.h"
#include "tests/btree/tree_fixture.h"

namespace rowan::unlatched_read_test {
namespace {

std::string KeyOf(uint32_t number) {
  std::string key(4, '\0');
  StoreBe32(reinterpret_cast<std::byte*>(key.data()), number);
  return key;
}

/// The value, "" if there is none; nothing if it takes a latch to say.
std::optional<std::string> TryRead(Cursor* cursor, const std::string& key) {
  UnlatchedEntry entry;
  if (!cursor->TryFindUnlatched(AsBytes(key), &entry)) return {};
  std::string value(entry.value.size(), '\0');
  if (entry.exists) UnlatchedCopy(entry.value, reinterpret_cast<std::byte*>(value.data()));
  return entry.leaf.Validate() ? std::optional(value) : std::nullopt;
}

TEST(UnlatchedReadTest, FindsWhatAMapHasWhileTheTreeChanges) {
  TreeFixture fixture(TreeFixture::SmallPages());
  std::map<std::string, std::string> model;
  Random random(TestSeed());
  Cursor cursor(&fixture.tree());
  uint32_t number = 0;
  int unsaid = 0;
  uint32_t levels_most = 0;
  for (int i = 0; i < 60000; ++i) {
    if (i % 1000 == 0) levels_most = std::max(levels_most, fixture.tree().Statistics()->levels);
    // Keys of the same leaf, of a neighbour, and from anywhere.
    number = random.OneIn(3) ? random.Below(6000) : (number + random.Below(40)) % 6000;
    const std::string key = KeyOf(number);
    if (random.OneIn(3)) {
      if (random.Below(10) < ((i / 10000) % 2 == 0 ? 8u : 2u)) {
        const std::string value(1 + random.Below(1800), static_cast<char>('a' + random.Below(26)));
        ASSERT_TRUE(fixture.Put(key, model[key] = value).ok());
      } else if (model.erase(key) == 1) {
        ASSERT_TRUE(fixture.Remove(key).ok());
        ASSERT_TRUE(fixture.tree().MergeIfSmall(AsBytes(key)).ok());
      }
      continue;
    }
    const std::optional<std::string> value = TryRead(&cursor, key);
    if (!value.has_value()) ++unsaid;
    const auto expected = model.find(key);
    if (value.has_value()) {
      ASSERT_EQ(*value, expected == model.end() ? "" : expected->second);
    }
    // Seeks with a latch and without share what the cursor remembers.
    if (!value.has_value() || random.OneIn(4)) {
      ASSERT_EQ(cursor.SeekExactly(AsBytes(key)).ok(), expected != model.end());
      cursor.Unlatch();
    }
  }
  EXPECT_GE(levels_most, 3u) << "a leaf has a parent that is not the root";
  EXPECT_EQ(unsaid, 0) << "nobody else uses the tree, and all of it is in the pool";
}

TEST(UnlatchedReadTest, ALeafThatChangedSinceDoesNotValidate) {
  TreeFixture fixture(TreeFixture::SmallPages());
  for (uint32_t i = 0; i < 1000; ++i) ASSERT_TRUE(fixture.Put(KeyOf(i), "value").ok());
  Cursor cursor(&fixture.tree());
  UnlatchedEntry entry;
  for (const uint32_t changed : {500u, 501u}) {
    ASSERT_TRUE(cursor.TryFindUnlatched(AsBytes(KeyOf(500)), &entry));
    ASSERT_TRUE(entry.exists && entry.leaf.Validate());
    ASSERT_TRUE(fixture.Put(KeyOf(changed), "other").ok());
    EXPECT_FALSE(entry.leaf.Validate());
  }
  ASSERT_TRUE(cursor.TryFindUnlatched(AsBytes(KeyOf(2000)), &entry));
  EXPECT_FALSE(entry.exists);
  ASSERT_TRUE(fixture.Put(KeyOf(2000), "value").ok());
  EXPECT_FALSE(entry.leaf.Validate()) << "that the key is absent is no longer known";
}

TEST(UnlatchedReadTest, KeysOfOneLeafNeedNoDescent) {
  TreeFixture fixture(TreeFixture::SmallPages());
  for (uint32_t i = 0; i < 6000; ++i) ASSERT_TRUE(fixture.Put(KeyOf(i), "value").ok());
  Cursor cursor(&fixture.tree());
  const uint64_t local = ReadCounter(Counter::kLeafSeeksLocal);
  const uint64_t descended = ReadCounter(Counter::kLeafSeeksDescend);
  for (uint32_t i = 0; i < 6000; ++i) ASSERT_EQ(TryRead(&cursor, KeyOf(i)), "value");
  EXPECT_GE(ReadCounter(Counter::kLeafSeeksLocal) - local, 5000u);
  EXPECT_LE(ReadCounter(Counter::kLeafSeeksDescend) - descended, 10u);
}

/// Each value says which key it is of and is of one letter throughout.
std::string ValueOf(uint32_t number, Random* random) {
  return KeyOf(number) +
         std::string(random->Below(120), static_cast<char>('a' + random->Below(26)));
}
bool IsWhole(const std::string& value, uint32_t number) {
  if (value.substr(0, 4) != KeyOf(number)) return false;
  return value.size() == 4 || value.find_first_not_of(value[4], 4) == std::string::npos;
}

TEST(UnlatchedReadTest, ReadersBesideWritersTrustNoMixture) {
  constexpr uint32_t kKeys = 3000;
  TreeFixture fixture(TreeFixture::SmallPages());
  Random first(TestSeed());
  for (uint32_t i = 0; i < kKeys; i += 3) {
    ASSERT_TRUE(fixture.Put(KeyOf(i), ValueOf(i, &first)).ok());  // changed, but never removed
  }
  std::atomic<int> readers{2};  // counted down by readers, read by writers
  std::atomic<uint64_t> trusted{0};
  const auto write = [&](uint64_t seed) {
    Random random(seed);
    constexpr int kChangesMin = 20000;
    for (int i = 0; (readers > 0 || i < kChangesMin) && !testing::Test::HasFailure(); ++i) {
      const uint32_t number = random.Below(kKeys);
      if (number % 3 == 0 || random.OneIn(2)) {
        ASSERT_TRUE(fixture.Put(KeyOf(number), ValueOf(number, &random)).ok());
        continue;
      }
      const Status removed = fixture.Remove(KeyOf(number));
      ASSERT_TRUE(removed.ok() || removed.Is(Code::kNotFound));
      if (removed.ok()) {
        ASSERT_TRUE(fixture.tree().MergeIfSmall(AsBytes(KeyOf(number))).ok());
      }
    }
  };
  const auto read = [&](uint64_t seed) {
    Random random(seed);
    Cursor cursor(&fixture.tree());
    for (int i = 0; i < 100000 && !testing::Test::HasFailure(); ++i) {
      const uint32_t number = random.Below(kKeys);
      const std::optional<std::string> value = TryRead(&cursor, KeyOf(number));
      if (!value.has_value()) continue;
      ++trusted;
      if (number % 3 == 0 || !value->empty()) {
        ASSERT_TRUE(IsWhole(*value, number)) << number;
      }
    }
    --readers;
  };
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] { write(TestSeed() + i); });
    threads.emplace_back([&, i] { read(TestSeed() + 10 + i); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(trusted.load(), 0u);
  EXPECT_TRUE(fixture.tree().Check({}).ok());
}

}  // namespace
}  // namespace rowan::unlatched_read_test
