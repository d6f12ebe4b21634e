// SPDX-License-Identifier: GPL-2.0-only
// Changing how pages are written beside writers that never pause.
#include "buffer/write_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace rowan {
namespace {

TEST(WriteGate, ClosingStopsNewHolders) {
  WriteGate gate;
  gate.lock_shared();
  std::atomic<bool> changed{false};
  std::thread changer([&] {
    const std::unique_lock lock(gate);
    changed = true;
  });
  while (!gate.closed()) std::this_thread::yield();
  std::thread newcomer([&] {
    const std::shared_lock lock(gate);
    EXPECT_TRUE(changed) << "entered before the one that waited";
  });
  EXPECT_FALSE(changed);
  gate.unlock_shared();
  changer.join();
  newcomer.join();
}

TEST(WriteGate, IsClosedAgainAndAgainBesideHoldersThatOverlap) {
  WriteGate gate;
  std::atomic<bool> stop{false};
  std::atomic<int> inside{0};
  std::vector<std::thread> holders;
  for (int i = 0; i < 2; ++i) {
    holders.emplace_back([&] {
      while (!stop) {
        const std::shared_lock lock(gate);
        ++inside;
        // Leaves only when the other one is inside too, or cannot come.
        while (inside < 2 && !gate.closed() && !stop) std::this_thread::yield();
        --inside;
      }
    });
  }
  for (int round = 0; round < 200; ++round) {
    const std::unique_lock lock(gate);
    EXPECT_EQ(inside, 0);
  }
  stop = true;
  for (std::thread& holder : holders) holder.join();
}

}  // namespace
}  // namespace rowan
