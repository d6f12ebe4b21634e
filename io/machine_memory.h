// SPDX-License-Identifier: GPL-2.0-only
// MachineMemory: the memory available to the process: the machine's, limited by its control group
// and those above it (version 2: memory.max, version 1: memory.limit_in_bytes). Thread safety: all
// functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace rowan {

struct MachineMemory {
  uint64_t machine_bytes = 0;
  uint64_t group_bytes = UINT64_MAX;  ///< UINT64_MAX: the control groups set no limit

  /// The memory that can be used.
  [[nodiscard]] uint64_t bytes() const { return std::min(machine_bytes, group_bytes); }
};

/// Reads the current values: limits of control groups change while the process runs. A limit that
/// cannot be read is taken as none.
MachineMemory FindMachineMemory();
/// The least limit of the control group that `root`/proc/self/cgroup names and of those above it,
/// below `root`/sys/fs/cgroup. UINT64_MAX: there is none. For tests of another root than "".
uint64_t FindGroupMemoryBytes(const std::string& root);

}  // namespace rowan
