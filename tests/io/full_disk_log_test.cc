// SPDX-License-Identifier: GPL-2.0-only
// How often a full disk is told of.
#include "io/full_disk_log.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/support/log_capture.h"

namespace rowan {
namespace {

constexpr uint64_t kSecond = 1'000'000;

TEST(FullDiskLog, TellsOnceAMinuteForAFileAndCause) {
  FullDiskLog told;
  uint64_t now = 5 * kSecond;
  EXPECT_EQ(told.Note("a", ENOSPC, now), 0u);
  for (int i = 0; i < 18; ++i) EXPECT_EQ(told.Note("a", ENOSPC, now += kSecond), std::nullopt);
  EXPECT_EQ(told.Note("b", ENOSPC, now), 0u) << "another file";
  EXPECT_EQ(told.Note("a", ENOSPC, now += 60 * kSecond), 18u);
  EXPECT_EQ(told.Note("a", ENOSPC, now), std::nullopt);
  EXPECT_EQ(told.Note("a", EDQUOT, now), 0u) << "another cause";
  EXPECT_EQ(told.Note("a", ENOSPC, now), 0u) << "and back";
}

TEST(FullDiskLog, ForgetsWhenVeryManyFilesFail) {
  FullDiskLog told;
  for (int i = 0; i < 10'000; ++i) EXPECT_EQ(told.Note(std::to_string(i), ENOSPC, 1), 0u);
  EXPECT_EQ(told.Note("9999", ENOSPC, 2), std::nullopt);
}

TEST(FullDiskLog, OtherFailuresAreToldOfEachTime) {
  LogCapture log;
  errno = EBADF;
  for (int i = 0; i < 2; ++i) LogFailedCall("Write", "the file", 7, EIO);
  EXPECT_EQ(errno, EBADF);
  const std::string text = log.Text();
  const std::string line = "Write of file 'the file' at offset 7 failed: ";
  EXPECT_NE(text.find(line), text.rfind(line));
}

}  // namespace
}  // namespace rowan
