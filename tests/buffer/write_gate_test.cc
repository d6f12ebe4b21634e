// SPDX-License-Identifier: GPL-2.0-only
// Changing how pages are written beside writers that never pause.
#include "buffer/write_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace rowan {
namespace {

TEST(WriteGate, ClosingStopsNewHolders) {
  WriteGate gate;
  gate.Enter();
  std::atomic<bool> changed{false};
  std::thread changer([&] {
    const ClosedWriteGate closed(&gate);
    changed = true;
  });
  while (!gate.closed()) std::this_thread::yield();
  std::thread newcomer([&] {
    WriteGatePass pass(&gate);
    pass.Enter();
    EXPECT_TRUE(changed) << "entered before the one that waited";
  });
  EXPECT_FALSE(changed);
  gate.Leave();
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
        WriteGatePass pass(&gate);
        pass.Enter();
        ++inside;
        // Leaves only when the other one is inside too, or cannot come.
        while (inside < 2 && !gate.closed() && !stop) std::this_thread::yield();
        --inside;
      }
    });
  }
  for (int round = 0; round < 200; ++round) {
    const ClosedWriteGate closed(&gate);
    EXPECT_EQ(inside, 0);
  }
  stop = true;
  for (std::thread& holder : holders) holder.join();
}

}  // namespace
}  // namespace rowan
