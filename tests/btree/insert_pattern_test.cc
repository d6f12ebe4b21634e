// SPDX-License-Identifier: GPL-2.0-only
// How full inserts leave the leaves: streams of ascending and descending keys, alone, many at once,
// and of sessions that overtake each other; and random keys. What the tree counted of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "btree/node.h"
#include "tests/btree/tree_fixture.h"

namespace rowan {
namespace {

struct Entry {
  uint32_t stream;
  uint32_t number;
};

/// Keys of `streams` streams of `length` entries, one of each in turn. The odd ones descend if
/// `mixed`, all if `descending`.
struct Streams {
  uint32_t streams = 1;
  uint32_t length = 0;
  bool descending = false;
  bool mixed = false;

  [[nodiscard]] std::vector<Entry> InTurns() const {
    std::vector<Entry> entries;
    for (uint32_t i = 0; i < length; ++i) {
      for (uint32_t stream = 0; stream < streams; ++stream) {
        const bool down = descending || (mixed && stream % 2 == 1);
        entries.push_back({stream, down ? length - i : i});
      }
    }
    return entries;
  }
};

class Fill {
 public:
  void Insert(const std::vector<Entry>& entries) {
    for (const Entry& entry : entries) {
      std::string key(8, '\0');
      StoreBe32(reinterpret_cast<std::byte*>(key.data()), entry.stream);
      StoreBe32(reinterpret_cast<std::byte*>(key.data() + 4), entry.number);
      ASSERT_TRUE(fixture_.Put(key, std::string(100, 'v')).ok());
    }
  }
  /// Used part of all leaves.
  double Share() {
    BufferPool* pool = fixture_.tree().pool();
    double used = 0;
    double leaves = 0;
    const auto visit = [&](PageNumber page) {
      Result<PageGuard> guard = pool->Fix({fixture_.tree().space(), page}, LatchMode::kShared);
      ASSERT_TRUE(guard.ok());
      const NodeView node({guard->page(), pool->page_size_bytes()});
      if (!node.is_leaf()) return;
      ++leaves;
      used += 1.0 - static_cast<double>(node.TotalFree()) / pool->page_size_bytes();
    };
    EXPECT_TRUE(fixture_.tree().Check({}, visit).ok());
    return used / leaves;
  }
  InsertCounts counts() { return fixture_.tree().insert_counts(); }

 private:
  static SpaceFixture::Options Options() {
    SpaceFixture::Options options;
    options.page_bytes = 16384;
    options.pool_pages = 2048;
    return options;
  }
  TreeFixture fixture_{Options()};
};

double ShareAfter(const std::vector<Entry>& entries) {
  Fill fill;
  fill.Insert(entries);
  return fill.Share();
}

void Shuffle(std::vector<Entry>* entries, size_t window, uint64_t seed) {
  Random random(seed);
  for (size_t first = 0; first < entries->size(); first += window) {
    const size_t last = std::min(entries->size(), first + window);
    for (size_t i = last - 1; i > first; --i) {
      std::swap((*entries)[i], (*entries)[first + random.Below(i - first + 1)]);
    }
  }
}

TEST(InsertPatternTest, OneStreamFillsItsLeavesInBothDirections) {
  EXPECT_GE(ShareAfter(Streams{.streams = 1, .length = 20000}.InTurns()), 0.92);
  EXPECT_GE(ShareAfter(Streams{.streams = 1, .length = 20000, .descending = true}.InTurns()), 0.92);
}

TEST(InsertPatternTest, StreamsInTurnsFillTheirLeaves) {
  for (const uint32_t streams : {2u, 5u, 16u}) {
    const uint32_t length = 48000 / streams;
    for (const bool descending : {false, true}) {
      Streams shape{.streams = streams, .length = length, .descending = descending};
      EXPECT_GE(ShareAfter(shape.InTurns()), 0.90) << streams << " " << descending;
    }
    Streams mixed{.streams = streams, .length = length, .mixed = true};
    EXPECT_GE(ShareAfter(mixed.InTurns()), 0.90) << streams;
  }
}

TEST(InsertPatternTest, StreamsOfSessionsThatOvertakeEachOtherFillTheirLeaves) {
  for (const bool descending : {false, true}) {
    std::vector<Entry> entries =
        Streams{.streams = 8, .length = 4000, .descending = descending}.InTurns();
    Shuffle(&entries, 24, TestSeed());  // three neighbours of each stream
    EXPECT_GE(ShareAfter(entries), 0.85) << descending;
  }
}

TEST(InsertPatternTest, RandomInsertsLeaveTwoThirds) {
  std::vector<Entry> entries = Streams{.streams = 1, .length = 40000}.InTurns();
  Shuffle(&entries, entries.size(), TestSeed());
  // The share swings while leaves that were split together fill together, so it is taken at sizes
  // spread evenly over one doubling.
  Fill fill;
  constexpr size_t kSizes = 8;
  double sum = 0;
  size_t inserted = 0;
  for (size_t i = 1; i <= kSizes; ++i) {
    const size_t size = entries.size() * (kSizes + i) / (2 * kSizes);
    fill.Insert({entries.begin() + inserted, entries.begin() + size});
    inserted = size;
    sum += fill.Share();
  }
  EXPECT_GE(sum / kSizes, 0.68);
  // Short bursts at random places are no streams.
  std::vector<Entry> bursts;
  for (const Entry& entry : entries) {
    if (entry.number >= 2000) continue;
    for (uint32_t i = 0; i < 20; ++i) bursts.push_back({entry.number, i});
  }
  EXPECT_GE(ShareAfter(bursts), 0.62);
}

TEST(InsertPatternTest, TheTreeCountsWhatItSaw) {
  Fill fill;
  fill.Insert(Streams{.streams = 1, .length = 1000}.InTurns());
  EXPECT_GE(fill.counts().Of(InsertPlace::kAscending), 900u);
  fill.Insert(Streams{.streams = 1, .length = 1}.InTurns());  // there already: no insert
  std::vector<Entry> down = Streams{.streams = 1, .length = 1000, .descending = true}.InTurns();
  for (Entry& entry : down) entry.stream = 7;
  fill.Insert(down);
  EXPECT_GE(fill.counts().Of(InsertPlace::kDescending), 900u);
  std::vector<Entry> random = Streams{.streams = 1, .length = 1000}.InTurns();
  for (Entry& entry : random) entry.stream = 9;
  Shuffle(&random, random.size(), TestSeed());
  fill.Insert(random);
  const InsertCounts counts = fill.counts();
  EXPECT_GE(counts.Of(InsertPlace::kElsewhere), 800u);
  EXPECT_GE(counts.Of(InsertPlace::kLeft), 1u);
  EXPECT_GE(counts.Of(InsertPlace::kRight), 1u);
  EXPECT_GE(counts.Of(InsertPlace::kUnknown), 1u);
  uint64_t sum = 0;
  for (const uint64_t count : counts.counts) sum += count;
  EXPECT_EQ(sum, 3000u);
}

}  // namespace
}  // namespace rowan
