// SPDX-License-Identifier: GPL-2.0-only
#include "base/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace rowan {
namespace {

TEST(WorkersTest, EachHasItsNumberAndTheCallerIsOneOfThem) {
  std::vector<std::thread::id> threads(5);
  Workers workers("test-", 5);
  const Status status = workers.Run([&](uint32_t worker) {
    threads[worker] = std::this_thread::get_id();
    return Status::Ok();
  });
  EXPECT_TRUE(status.ok());
  EXPECT_FALSE(workers.failed());
  EXPECT_EQ(threads[0], std::this_thread::get_id());
  EXPECT_EQ(std::set(threads.begin(), threads.end()).size(), threads.size());
}

TEST(WorkersTest, OneWorkerTakesNoThread) {
  std::thread::id thread;
  Workers workers("test-", 1);
  const Status status = workers.Run([&](uint32_t) {
    thread = std::this_thread::get_id();
    return Status(Code::kNotFound);
  });
  EXPECT_EQ(thread, std::this_thread::get_id());
  EXPECT_TRUE(status.Is(Code::kNotFound));
}

TEST(WorkersTest, TheFirstFailureIsToldToTheOthersAndReturned) {
  for (uint32_t first = 0; first < 4; ++first) {
    std::atomic<uint32_t> waiting{0};
    Workers workers("test-", 4);
    const Status status = workers.Run([&](uint32_t worker) {
      if (worker == first) {
        while (waiting.load() < 3) std::this_thread::yield();
        return Status(Code::kNoSpace, "the first", worker);
      }
      ++waiting;
      while (!workers.failed()) std::this_thread::yield();
      return Status(Code::kInterrupted, "because of it");
    });
    EXPECT_TRUE(status.Is(Code::kNoSpace));
    EXPECT_EQ(status.detail(), first);
  }
}

}  // namespace
}  // namespace rowan
