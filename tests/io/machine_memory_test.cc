// SPDX-License-Identifier: GPL-2.0-only
// Limits of control groups, in a folder that looks like the system's.
#include "io/machine_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.h"

namespace rowan {
namespace {

class MachineMemoryTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = root_.File(name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  [[nodiscard]] uint64_t Limit() const { return FindGroupMemoryBytes(root_.path()); }

  TempDir root_;
};

TEST_F(MachineMemoryTest, WithoutGroupsThereIsNoLimit) {
  EXPECT_EQ(Limit(), UINT64_MAX);
  Write("proc/self/cgroup", "0::/");
  EXPECT_EQ(Limit(), UINT64_MAX);
  Write("sys/fs/cgroup/memory.max", "max");
  EXPECT_EQ(Limit(), UINT64_MAX);
}

TEST_F(MachineMemoryTest, TheLeastOfAGroupAndThoseAboveItCounts) {
  Write("proc/self/cgroup", "0::/system.slice/mysql.service");
  Write("sys/fs/cgroup/system.slice/mysql.service/memory.max", "max");
  Write("sys/fs/cgroup/system.slice/memory.max", "3000");
  EXPECT_EQ(Limit(), 3000u);
  Write("sys/fs/cgroup/system.slice/mysql.service/memory.max", "2000");
  EXPECT_EQ(Limit(), 2000u);
  Write("sys/fs/cgroup/memory.max", "1000");
  EXPECT_EQ(Limit(), 1000u);
}

TEST_F(MachineMemoryTest, VersionOneHasAHierarchyForMemory) {
  Write("proc/self/cgroup", "9:name=systemd:/a\n4:cpu,memory:/docker/x\n3:cpuset:/y\n0::/docker/x");
  // In a container its own group is the root of the mount.
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "5000");
  EXPECT_EQ(Limit(), 5000u);
  Write("sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "4000");
  EXPECT_EQ(Limit(), 4000u);
}

TEST_F(MachineMemoryTest, WhatIsNoGroupFileSetsNoLimit) {
  Write("proc/self/cgroup", "nothing\n1:memory\n0::");
  EXPECT_EQ(Limit(), UINT64_MAX);
  Write("sys/fs/cgroup/memory.max", "many");
  EXPECT_EQ(Limit(), UINT64_MAX);
}

TEST_F(MachineMemoryTest, TheMachineHasSome) {
  const MachineMemory memory = FindMachineMemory();
  EXPECT_GT(memory.machine_bytes, uint64_t{64} << 20);
  EXPECT_GT(memory.bytes(), uint64_t{64} << 20);
}

}  // namespace
}  // namespace rowan
