// SPDX-License-Identifier: GPL-2.0-only
// Readers that hold the log, beside a list of what each may still expect.
#include "wal/log_holds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

constexpr Lsn kNone(UINT64_MAX);

TEST(LogHoldsTest, TheOldestHoldIsTheSmallestOfThoseThatAreNotLost) {
  struct Model {
    LogHolds::Id id;
    Lsn lsn;
    uint64_t bytes_max;
    bool lost;
  };
  const LogCapture quiet;
  Random random(TestSeed());
  LogHolds holds;
  std::vector<Model> model;
  Lsn tail(1000);
  for (int step = 0; step < 5000; ++step) {
    tail += random.Below(20);
    const uint64_t action = random.Below(8);
    if (action == 0 && model.size() < 10) {
      const Lsn lsn(random.Between(tail.value() - 100, tail.value()));
      const uint64_t bytes_max = random.Between(50, 800);
      model.push_back({holds.Add({"reader", lsn, bytes_max}), lsn, bytes_max, false});
    } else if (action == 1 && !model.empty()) {
      const size_t gone = random.Below(model.size());
      holds.Remove(model[gone].id);
      model.erase(model.begin() + static_cast<ptrdiff_t>(gone));
    } else if (action == 2 && random.OneIn(10)) {
      const Lsn below(random.Between(tail.value() - 100, tail.value()));
      bool any = false;
      for (Model& one : model) {
        any = any || (!one.lost && one.lsn < below);
        one.lost = one.lost || one.lsn < below;
      }
      ASSERT_EQ(holds.GiveUpBelow(below), any);
    } else if (!model.empty()) {
      Model& one = model[random.Below(model.size())];
      const Lsn lsn(random.Between(one.lsn.value() / 2, tail.value()));  // never goes back
      one.lsn = std::max(one.lsn, lsn);
      ASSERT_EQ(holds.Advance(one.id, lsn), !one.lost);
    }
    Lsn oldest = kNone;
    for (Model& one : model) {
      one.lost = one.lost || tail - one.lsn > one.bytes_max;
      if (!one.lost) oldest = std::min(oldest, one.lsn);
    }
    ASSERT_EQ(holds.Oldest(tail), oldest);
    ASSERT_EQ(holds.List().size(), model.size());
    for (const Model& one : model) ASSERT_EQ(holds.lost(one.id), one.lost);
  }
}

TEST(LogHoldsTest, AHoldBeyondTheEndIsNotBehindIt) {
  LogHolds holds;
  const LogHolds::Id id = holds.Add({"early", Lsn(500), 0});
  EXPECT_EQ(holds.Oldest(Lsn(500)), Lsn(500));
  EXPECT_EQ(holds.Oldest(Lsn(100)), Lsn(500));
  EXPECT_FALSE(holds.lost(id));
}

TEST(LogHoldsTest, WhoLosesItsHoldIsNamedOnce) {
  LogCapture log;
  LogHolds holds;
  holds.Add({"archive", Lsn(100), 50});
  EXPECT_EQ(holds.Oldest(Lsn(150)), Lsn(100)) << "just near enough";
  EXPECT_EQ(log.Text(), "");
  EXPECT_EQ(holds.Oldest(Lsn(151)), kNone);
  EXPECT_TRUE(log.Has("'archive'")) << log.Text();
  log.Clear();
  EXPECT_EQ(holds.Oldest(Lsn(152)), kNone);
  EXPECT_FALSE(holds.GiveUpBelow(Lsn(500)));
  EXPECT_EQ(log.Text(), "");
}

}  // namespace
}  // namespace rowan
