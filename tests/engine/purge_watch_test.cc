// SPDX-License-Identifier: GPL-2.0-only
// What the error log says of row versions that pile up.
#include "engine/report/purge_watch.h"

#include <gtest/gtest.h>

#include "tests/support/log_capture.h"

namespace rowan {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

PurgeFigures OldReport() {
  PurgeFigures figures;
  figures.history_length = 30;
  figures.versions_kept = 2'000'000;
  figures.oldest_snapshot = {.open = true, .age_ms = 90'000, .thread = 17};
  return figures;
}

std::string Statement(uint64_t thread) { return thread == 17 ? "SELECT SLEEP(1000)" : ""; }

TEST(PurgeWatchTest, NamesAnOldSnapshotOnceInTenMinutes) {
  LogCapture log;
  PurgeWatch watch(Statement);
  for (uint64_t second = 1; second < 500; ++second) watch.Look(OldReport(), second * kSecond);
  EXPECT_TRUE(log.Has("thread 17 opened 90 s ago keeps 2000000 old row versions"));
  EXPECT_TRUE(log.Has("SELECT SLEEP(1000)"));
  EXPECT_EQ(log.Text().find("thread 17"), log.Text().rfind("thread 17")) << "only once";
  log.Clear();
  watch.Look(OldReport(), 602 * kSecond);
  EXPECT_TRUE(log.Has("thread 17"));
}

TEST(PurgeWatchTest, IsSilentWhileItHurtsNobody) {
  LogCapture log;
  PurgeWatch watch(Statement);
  PurgeFigures young = OldReport();
  young.oldest_snapshot.age_ms = 1000;
  watch.Look(young, kSecond);
  PurgeFigures little = OldReport();
  little.versions_kept = 1000;
  watch.Look(little, 2 * kSecond);
  PurgeFigures closed = OldReport();
  closed.oldest_snapshot.open = false;
  watch.Look(closed, 3 * kSecond);
  EXPECT_EQ(log.Text(), "");
}

TEST(PurgeWatchTest, TellsThatWritersWait) {
  LogCapture log;
  PurgeWatch watch({});
  PurgeFigures figures;
  figures.lag = 3'000'000;
  figures.writer_delay_us = 2000;
  watch.Look(figures, kSecond);
  watch.Look(figures, 2 * kSecond);
  EXPECT_TRUE(log.Has("Purge is 3000000 row versions behind"));
  EXPECT_EQ(log.Text().find("behind"), log.Text().rfind("behind"));
}

}  // namespace
}  // namespace rowan
