// SPDX-License-Identifier: GPL-2.0-only
// Several threads insert, update, remove, read, scan both ways and merge at once. Each key carries
// its own value, so that a reader recognises a wrong one; a fixed set of keys is never removed, and
// every scan must see all of it, in order. At the end the tree is checked against what the writers
// did.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "tests/btree/tree_fixture.h"

namespace rowan::tree_stress_test {
namespace {

constexpr uint64_t kKeys = 6000;
constexpr uint64_t kFixedEvery = 20;  // every 20th key stays
constexpr uint32_t kWriters = 3;
constexpr uint64_t kRunMicros = 1500000;

std::string KeyOf(uint64_t number) {
  std::string key = "table/" + std::to_string(number % 7) + "/";
  key.resize(key.size() + 8);
  StoreBe64(reinterpret_cast<std::byte*>(key.data() + key.size() - 8), number);
  if (number % 11 == 0) key += std::string(number % 300, 'x');
  return key;
}

std::string ValueOf(const std::string& key, uint64_t round) {
  return key.substr(key.size() / 2) + std::string(round % 90, '#');
}

bool ValueBelongs(std::string_view key, std::string_view value) {
  const std::string_view start = key.substr(key.size() / 2);
  return value.substr(0, start.size()) == start;
}

class Stress {
 public:
  explicit Stress(TreeFixture* fixture) : fixture_(fixture) {
    for (uint64_t number = 0; number < kKeys; number += kFixedEvery) {
      const std::string key = KeyOf(number);
      fixed_[key] = ValueOf(key, 0);
      EXPECT_TRUE(fixture->Put(key, fixed_[key]).ok());
    }
    end_ = MonotonicMicros() + kRunMicros;
  }

  void Write(uint32_t writer) {
    Random random(TestSeed() + writer);
    std::map<std::string, std::string>& mine = written_[writer];
    for (uint64_t round = 0; !Over(); ++round) {
      // Each writer has its own numbers, so that it knows what must be there.
      const uint64_t number = random.Below(kKeys / kWriters) * kWriters + writer;
      if (number % kFixedEvery == 0) continue;
      const std::string key = KeyOf(number);
      const bool shrink = (round / 4000) % 2 == 1;
      if (random.Below(10) < (shrink ? 8u : 3u)) {
        const Status removed = fixture_->Remove(key);
        ASSERT_EQ(removed.ok(), mine.erase(key) == 1);
        if (removed.ok()) ASSERT_OK(fixture_->tree().MergeIfSmall(AsBytes(key)));
      } else {
        const std::string value = ValueOf(key, random.Next());
        ASSERT_OK(fixture_->Put(key, value));
        mine[key] = value;
      }
    }
  }

  void ScanForward() {
    Random random(TestSeed() + 100);
    Cursor cursor(&fixture_->tree());
    do {
      auto expected = fixed_.begin();
      std::string last;
      Status status = cursor.SeekFirst();
      for (; status.ok(); status = cursor.Next()) {
        const std::string key(AsText(cursor.key()));
        ASSERT_LT(last, key);
        ASSERT_TRUE(ValueBelongs(key, AsText(cursor.value())));
        if (expected != fixed_.end() && key == expected->first) ++expected;
        ASSERT_TRUE(expected == fixed_.end() || key < expected->first) << "a fixed key was missed";
        last = key;
        if (random.OneIn(5)) cursor.Unlatch();
      }
      ASSERT_TRUE(status.Is(Code::kEndOfRange)) << status.message();
      ASSERT_TRUE(expected == fixed_.end());
      ++scans;
    } while (!Over());
  }

  void ScanBackward() {
    Random random(TestSeed() + 200);
    Cursor cursor(&fixture_->tree());
    do {
      auto expected = fixed_.rbegin();
      std::string last;
      Status status = cursor.SeekLast();
      for (; status.ok(); status = cursor.Prev()) {
        const std::string key(AsText(cursor.key()));
        ASSERT_TRUE(last.empty() || key < last);
        ASSERT_TRUE(ValueBelongs(key, AsText(cursor.value())));
        if (expected != fixed_.rend() && key == expected->first) ++expected;
        ASSERT_TRUE(expected == fixed_.rend() || key > expected->first) << "a fixed key was missed";
        last = key;
        if (random.OneIn(5)) cursor.Unlatch();
      }
      ASSERT_TRUE(status.Is(Code::kEndOfRange)) << status.message();
      ASSERT_TRUE(expected == fixed_.rend());
      ++scans;
    } while (!Over());
  }

  void Read() {
    Random random(TestSeed() + 300);
    Cursor cursor(&fixture_->tree());
    while (!Over()) {
      const uint64_t number = random.Below(kKeys / kFixedEvery) * kFixedEvery;
      const std::string key = KeyOf(number);
      const Status status = cursor.SeekAtLeast(AsBytes(key));
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_EQ(AsText(cursor.key()), key);
      cursor.Unlatch();
      if (random.OneIn(50)) {
        ASSERT_TRUE(fixture_->tree().EstimateRange(AsBytes(key), {}).ok());
        ASSERT_TRUE(fixture_->tree().Statistics().ok());
      }
      if (random.OneIn(2000)) ASSERT_OK(fixture_->tree().Check({}));
    }
  }

  void Verify() {
    std::map<std::string, std::string> expected = fixed_;
    for (const auto& mine : written_) expected.insert(mine.begin(), mine.end());
    std::map<std::string, std::string> found;
    ASSERT_OK(fixture_->tree().Check([&found](Bytes key, Bytes value) {
      found[std::string(AsText(key))] = std::string(AsText(value));
      return Status::Ok();
    }));
    ASSERT_TRUE(found == expected);
  }

  std::atomic<uint64_t> scans{0};

 private:
  static void ASSERT_OK(Status status) { ASSERT_TRUE(status.ok()) << status.message(); }
  [[nodiscard]] bool Over() const {
    return MonotonicMicros() >= end_ || testing::Test::HasFailure();
  }

  TreeFixture* const fixture_;
  std::map<std::string, std::string> fixed_;
  std::map<std::string, std::string> written_[kWriters];
  uint64_t end_ = 0;
};

void RunStress(uint32_t pool_pages) {
  SpaceFixture::Options options;
  options.page_bytes = 4096;  // many splits and merges
  options.pool_pages = pool_pages;
  TreeFixture fixture(options);
  Stress stress(&fixture);
  std::vector<std::thread> threads;
  for (uint32_t writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&stress, writer] { stress.Write(writer); });
  }
  threads.emplace_back([&stress] { stress.ScanForward(); });
  threads.emplace_back([&stress] { stress.ScanBackward(); });
  threads.emplace_back([&stress] { stress.Read(); });
  for (std::thread& thread : threads) thread.join();
  stress.Verify();
  EXPECT_GT(stress.scans, 0u);
}

TEST(TreeStressTest, ManyThreadsInMemory) { RunStress(2048); }

TEST(TreeStressTest, ManyThreadsWithASmallPool) { RunStress(64); }

}  // namespace
}  // namespace rowan::tree_stress_test
