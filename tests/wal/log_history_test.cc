// SPDX-License-Identifier: GPL-2.0-only
// Instances that run, lose the end of their logs and are copied, beside what is in the logs.
#include "wal/log_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

/// A state of an instance: a number for each byte of its log, never drawn twice.
struct State {
  LogHistory history;
  std::vector<uint64_t> log;
  [[nodiscard]] Lsn tail() const { return Lsn(log.size()); }
};

bool IsPrefix(const State& past, const State& state) {
  return past.log.size() <= state.log.size() &&
         std::equal(past.log.begin(), past.log.end(), state.log.begin());
}

TEST(LogHistoryTest, TellsWhetherALogIsTheBeginningOfAnother) {
  Random random(TestSeed());
  std::vector<State> states{{}};
  uint64_t drawn = 0;
  size_t told = 0;
  for (int step = 0; step < 300; ++step) {
    // Any earlier state may be restored, or goes on; a run may first find the end of the log lost,
    // but nothing from before the last run, which made that durable when it began.
    State state = states[random.OneIn(4) ? random.Below(states.size()) : states.size() - 1];
    const Lsn kept = state.history.empty() ? kNoLsn : state.history.back().begin;
    if (random.OneIn(5)) state.log.resize(random.Between(kept.value(), state.log.size()));
    AddRun(&state.history, state.tail());
    for (uint64_t bytes = random.Between(1, 20); bytes > 0; --bytes) state.log.push_back(++drawn);
    for (const State& past : states) {
      const bool is_past = IsPast(past.history, past.tail(), state.history, state.tail());
      const bool forgotten = past.history.empty() || state.history.size() == kLogRunsMax;
      EXPECT_TRUE(!is_past || IsPrefix(past, state));
      EXPECT_TRUE(is_past || !IsPrefix(past, state) || forgotten);
      told += is_past ? 1 : 0;
    }
    states.push_back(std::move(state));
  }
  EXPECT_GT(told, 100u);
}

TEST(LogHistoryTest, ARunOfWhichAPartWasLostIsNoPast) {
  LogHistory history;
  AddRun(&history, Lsn(100));
  const LogHistory past = history;
  EXPECT_TRUE(IsPast(past, Lsn(500), history, Lsn(500)));
  EXPECT_FALSE(IsPast(past, Lsn(501), history, Lsn(500)));
  AddRun(&history, Lsn(400));  // found the log shorter
  EXPECT_TRUE(IsPast(past, Lsn(400), history, Lsn(900)));
  EXPECT_FALSE(IsPast(past, Lsn(401), history, Lsn(900)));
  EXPECT_FALSE(IsPast({}, Lsn(0), history, Lsn(900)));
}

TEST(LogHistoryTest, TheOldestRunsAreForgotten) {
  LogHistory history;
  for (uint64_t i = 0; i < kLogRunsMax + 3; ++i) AddRun(&history, Lsn(i));
  ASSERT_EQ(history.size(), kLogRunsMax);
  EXPECT_EQ(history.front().begin, Lsn(3));
  EXPECT_EQ(history.back().begin, Lsn(kLogRunsMax + 2));
}

TEST(LogHistoryTest, AnyLengthComesBackFromItsBytes) {
  Random random(TestSeed());
  LogHistory history;
  for (size_t runs = 0; runs <= kLogRunsMax; ++runs) {
    std::array<std::byte, kLogRunsMax * kLogRunBytes> bytes;
    bytes.fill(std::byte{0xFF});
    StoreHistory(bytes.data(), history);
    EXPECT_EQ(LoadHistory(bytes.data()), history) << runs;
    AddRun(&history, Lsn(random.Next()));
  }
}

}  // namespace
}  // namespace rowan
