// SPDX-License-Identifier: GPL-2.0-only
// Status, Result, strong ids, the generator, the clock and the log facade.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/logging.h"
#include "base/random.h"
#include "base/status.h"

namespace rowan {
namespace {

TEST(StatusTest, SpeaksByItsMessageOrItsCode) {
  EXPECT_TRUE(Status::Ok().ok());
  const Status plain(Code::kDeadlock);
  EXPECT_STREQ(plain.message(), "deadlock");
  const Status full(Code::kIoError, "cannot read file", 5);
  EXPECT_STREQ(full.message(), "cannot read file");
  EXPECT_EQ(full.detail(), 5u);
  EXPECT_TRUE(full.Is(Code::kIoError));
}

TEST(StatusTest, EveryCodeHasAName) {
  std::set<std::string> names;
  for (uint32_t code = 0; code <= static_cast<uint32_t>(Code::kReadOnly); ++code) {
    EXPECT_TRUE(names.insert(CodeName(static_cast<Code>(code))).second) << code;
  }
  EXPECT_FALSE(names.contains("unknown code"));
}

TEST(ResultTest, HoldsMoveOnlyValuesOrAStatus) {
  Result<std::unique_ptr<int>> good(std::make_unique<int>(7));
  ASSERT_TRUE(good.ok());
  const std::unique_ptr<int> taken = std::move(good).value();
  EXPECT_EQ(*taken, 7);
  const Result<std::unique_ptr<int>> bad(Status(Code::kNotFound));
  EXPECT_TRUE(bad.status().Is(Code::kNotFound));
}

TEST(ResultDeathTest, ValueOfAFailureBreaksAnInvariant) {
  const Result<int> bad(Status(Code::kNotFound));
  EXPECT_DEATH(static_cast<void>(bad.value()), "invariant broken");
}

TEST(IdsTest, PageIdsPackAndOrder) {
  const PageId id{SpaceId(17), PageNumber(0xFFFFFFFF)};
  EXPECT_EQ(PageId::Unpack(id.Packed()), id);
  EXPECT_LT(id, (PageId{SpaceId(18), PageNumber(0)}));
}

TEST(RandomTest, SameSeedSameNumbersAndLimitsHold) {
  Random first(42);
  Random second(42);
  bool seen[7] = {};
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(first.Next(), second.Next());
    const uint64_t small = first.Below(7);
    EXPECT_EQ(small, second.Below(7));
    ASSERT_LT(small, 7u);
    seen[small] = true;
    const double fraction = first.Fraction();
    EXPECT_TRUE(fraction >= 0 && fraction < 1);
    static_cast<void>(second.Fraction());
  }
  for (const bool value : seen) EXPECT_TRUE(value);
}

TEST(ClockTest, NeverGoesBack) {
  uint64_t last = MonotonicMicros();
  for (int i = 0; i < 1000; ++i) {
    const uint64_t now = MonotonicMicros();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(LoggingTest, TheSinkReceivesFinishedMessagesAboveTheLevel) {
  std::vector<std::string> messages;
  SetLogSink([&](LogLevel level, std::string_view message) {
    messages.push_back(std::to_string(static_cast<int>(level)) + std::string(message));
  });
  LogInfo("{} pages", 3);
  LogWarning("braces {{}} survive");
  LogMessage(LogLevel::kDebug, "not shown at the standard level");
  SetLogLevel(LogLevel::kError);
  LogInfo("dropped");
  LogError("kept {}", "{}");
  SetLogLevel(LogLevel::kInfo);
  SetLogSink({});
  EXPECT_EQ(messages, (std::vector<std::string>{"13 pages", "2braces {} survive", "3kept {}"}));
}

}  // namespace
}  // namespace rowan
