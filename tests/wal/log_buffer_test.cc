// SPDX-License-Identifier: GPL-2.0-only
// The ring: places, room, closing, and many threads that append while one reads what is in place.
#include "wal/log_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/random.h"
#include "tests/support/test_settings.h"
#include "tests/wal/log_fixture.h"

namespace rowan::log_buffer_test {
namespace {

constexpr uint64_t kRingBytes = uint64_t{64} << 10;
constexpr Lsn kStart{4096};
constexpr uint32_t kEpoch = 3;

class LogBufferTest : public ::testing::Test {
 protected:
  Lsn Append(uint64_t number, size_t body_bytes = 100) {
    FillGroup(&group_, number, body_bytes);
    group_.Finish();
    return buffer_.TryAppend(&group_, durable_);
  }
  LogBuffer buffer_{kRingBytes, kStart, kEpoch};
  std::atomic<Lsn> durable_{kStart};
  GroupBuilder group_;
};

TEST_F(LogBufferTest, AFullRingRefusesUntilMoreIsDurable) {
  Lsn end = kStart;
  uint64_t number = 0;
  for (;;) {
    const Lsn next = Append(++number, 1000);
    if (next == kNoLsn) break;
    end = next;
  }
  EXPECT_EQ(buffer_.tail(), end);
  EXPECT_EQ(buffer_.AwaitContent(), end);
  EXPECT_GT(end.value() + 1100, kStart.value() + kRingBytes);
  durable_ = end;
  EXPECT_NE(Append(number, 1000), kNoLsn);
}

TEST_F(LogBufferTest, AMarkIsTheNewestGroupUntilAnotherOneComes) {
  EXPECT_TRUE(buffer_.EndsWithMark());
  ASSERT_NE(Append(1), kNoLsn);
  EXPECT_FALSE(buffer_.EndsWithMark());
  group_.Clear();
  group_.Finish();
  ASSERT_NE(buffer_.TryAppend(&group_, durable_), kNoLsn);
  EXPECT_TRUE(buffer_.EndsWithMark());
}

TEST_F(LogBufferTest, BehindASkipTheTailGoesOnAndTheContentStays) {
  const Lsn end = Append(1);
  const Lsn skipped = buffer_.Skip(500);
  EXPECT_EQ(skipped.value(), end.value() + 500);
  EXPECT_EQ(buffer_.tail(), skipped);
  EXPECT_EQ(Append(2), kNoLsn);
  EXPECT_EQ(buffer_.Skip(10).value(), skipped.value() + 10);
  EXPECT_EQ(buffer_.AwaitContent(), end);
}

/// Reads whole groups as a log writer does and checks that each is good and each thread's numbers
/// come in order.
class Drain {
 public:
  Drain(LogBuffer* buffer, std::atomic<Lsn>* durable, size_t threads)
      : buffer_(buffer), durable_(durable), next_(threads, 0) {}

  void Step() {
    const Lsn end = buffer_->AwaitContent();
    ASSERT_GE(end, position_);
    std::vector<std::byte> bytes(end - position_);
    buffer_->CopyOut(position_, bytes);
    Bytes rest = bytes;
    while (!rest.empty()) {
      uint32_t length = 0;
      ASSERT_EQ(CheckGroup(rest, end - rest.size(), kEpoch, &length), GroupCheck::kGood);
      const uint64_t number = NumberOfGroup(rest.first(length));
      const size_t thread = number % next_.size();
      ASSERT_EQ(number / next_.size(), next_[thread]) << "thread " << thread;
      ++next_[thread];
      rest = rest.subspan(length);
    }
    position_ = end;
    durable_->store(end, std::memory_order_release);
  }
  [[nodiscard]] uint64_t groups() const {
    uint64_t sum = 0;
    for (const uint64_t count : next_) sum += count;
    return sum;
  }

 private:
  LogBuffer* const buffer_;
  std::atomic<Lsn>* const durable_;
  Lsn position_ = kStart;
  std::vector<uint64_t> next_;
};

TEST_F(LogBufferTest, ManyThreadsAppendWhileOneReadsWhatIsInPlace) {
  constexpr size_t kThreads = 8;
  constexpr uint64_t kGroups = 4000;
  std::atomic<uint64_t> waits{0};
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      Random random(TestSeed() + thread);
      GroupBuilder group;
      for (uint64_t i = 0; i < kGroups; ++i) {
        FillGroup(&group, i * kThreads + thread, random.Below(random.OneIn(50) ? 20000 : 300));
        group.Finish();
        Lsn end = buffer_.TryAppend(&group, durable_);
        for (; end == kNoLsn; end = buffer_.TryAppend(&group, durable_)) {
          waits.fetch_add(1, std::memory_order_relaxed);
          std::this_thread::yield();
        }
        // What a thread has appended is in place for a reader that begins now.
        if (random.OneIn(100)) {
          ASSERT_GE(buffer_.AwaitContent(), end);
        }
      }
    });
  }
  Drain drain(&buffer_, &durable_, kThreads);
  while (drain.groups() < kThreads * kGroups && !HasFatalFailure()) {
    drain.Step();
    std::this_thread::yield();
  }
  if (HasFatalFailure()) durable_ = Lsn(UINT64_MAX / 2);  // lets the appenders end
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(drain.groups(), kThreads * kGroups);
}

}  // namespace
}  // namespace rowan::log_buffer_test
