// SPDX-License-Identifier: GPL-2.0-only
// What a status report tells first.
#include <gtest/gtest.h>

#include "engine/report/attention.h"

namespace rowan {
namespace {

Situation Quiet() {
  Situation now;
  now.figures.log_capacity_bytes = 1000;
  now.figures.checkpoint_age_bytes = 100;
  now.figures.pool_frames = 100;
  now.figures.open_files = 1;
  now.figures.open_files_max = 10;
  now.since.seconds = 2;
  return now;
}

void Count(Situation* now, Counter counter, uint64_t count) {
  now->since.counts[static_cast<size_t>(counter)] = count;
}

bool Tells(const Situation& now, const std::string& text) {
  return DescribeAttention(now).find(text) != std::string::npos;
}

TEST(AttentionTest, NothingIsSaidToBeNothing) {
  EXPECT_EQ(DescribeAttention(Quiet()), "nothing\n");
}

TEST(AttentionTest, WhatIsFullIsToldWithItsReason) {
  Situation now = Quiet();
  now.figures.checkpoint_age_bytes = 800;
  now.figures.pool_frames_dirty = 60;
  Count(&now, Counter::kPagesWritten, 40);
  EXPECT_TRUE(Tells(now, "full: the redo log, 80 % of 1000 bytes; 60 dirty pages"));
  EXPECT_TRUE(Tells(now, "20 pages are written a second")) << DescribeAttention(now);
  now = Quiet();
  now.figures.log_held_bytes = 900;
  now.oldest_reader = "backup";
  EXPECT_TRUE(Tells(now, "full: reader 'backup' holds 900 bytes"));
  now = Quiet();
  Count(&now, Counter::kFreeFrameWaits, 7);
  EXPECT_TRUE(Tells(now, "found no free frame 7 times"));
  now = Quiet();
  now.figures.pool_frames_dirty = 95;
  EXPECT_TRUE(Tells(now, "95 of 100 pages in the buffer pool are dirty"));
  now = Quiet();
  now.figures.open_files = 10;
  EXPECT_TRUE(Tells(now, "full: 10 tablespaces are open"));
}

TEST(AttentionTest, WhatIsStuckComesFirst) {
  Situation now = Quiet();
  Count(&now, Counter::kLogWaits, 3);
  now.sync_p99_micros = 200'000;
  now.figures.purge.history_length = 2'000'000;
  now.waiting_for_rows = 4;
  now.figures.failed_rollbacks = 2;
  now.figures.purge.damaged_streams = 3;
  now.figures.stopped = true;
  const std::string text = DescribeAttention(now);
  EXPECT_EQ(text.find("stuck: the engine is stopped"), 0U);
  EXPECT_LT(text.find("stuck: 4 transactions"), text.find("slow:"));
  EXPECT_TRUE(Tells(now, "stuck: rollbacks of 2 transactions failed"));
  EXPECT_TRUE(Tells(now, "stuck: 3 streams of undo are damaged"));
  EXPECT_TRUE(Tells(now, "waited 3 times for room in the log"));
  EXPECT_TRUE(Tells(now, "takes 200000 us or more"));
  EXPECT_TRUE(Tells(now, "of 2000000 transactions wait for purge"));
}

TEST(AttentionTest, RatesAreThoseSinceTheCallBefore) {
  CounterRates rates;
  rates.Take();
  AddCounter(Counter::kCheckpoints, 5);
  const CounterDeltas deltas = rates.Take();
  EXPECT_EQ(deltas.of(Counter::kCheckpoints), 5U);
  EXPECT_GT(deltas.seconds, 0);
  EXPECT_EQ(rates.Take().of(Counter::kCheckpoints), 0U);
  EXPECT_NE(DescribeRates(deltas).find("commits\n"), std::string::npos);
}

}  // namespace
}  // namespace rowan
