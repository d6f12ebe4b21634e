// SPDX-License-Identifier: GPL-2.0-only
#include "io/machine_memory.h"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <string_view>
#include <system_error>

namespace rowan {
namespace {

/// UINT64_MAX: no such file, or no number in it ("max").
uint64_t ReadLimit(const std::string& path) {
  std::ifstream stream(path);
  std::string text;
  if (!std::getline(stream, text)) return UINT64_MAX;
  uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  return error == std::errc() && end != text.data() ? bytes : UINT64_MAX;
}

/// The least of the files called `name` in the folder `mount` + `group` and those above it. In a
/// container the mount often shows its own group as the root: then only that one is found.
uint64_t LeastLimit(const std::string& mount, std::string_view group, const char* name) {
  uint64_t least = UINT64_MAX;
  for (;;) {
    while (group.ends_with('/')) group.remove_suffix(1);
    least = std::min(least, ReadLimit(mount + std::string(group) + "/" + name));
    if (group.empty()) return least;
    group = group.substr(0, group.find_last_of('/') + 1);
  }
}

bool HasController(std::string_view controllers, std::string_view wanted) {
  while (!controllers.empty()) {
    const size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == wanted) return true;
    if (comma == std::string_view::npos) return false;
    controllers.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

uint64_t FindGroupMemoryBytes(const std::string& root) {
  const std::string mount = root + "/sys/fs/cgroup";
  std::ifstream groups(root + "/proc/self/cgroup");
  uint64_t least = UINT64_MAX;
  // Lines "number:controllers:path"; version 2 has the number 0 and no controllers.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view text = line;
    const std::string_view controllers = text.substr(first + 1, second - first - 1);
    const std::string_view group = text.substr(second + 1);
    if (controllers.empty()) {
      least = std::min(least, LeastLimit(mount, group, "memory.max"));
    } else if (HasController(controllers, "memory")) {
      least = std::min(least, LeastLimit(mount + "/memory", group, "memory.limit_in_bytes"));
    }
  }
  return least;
}

MachineMemory FindMachineMemory() {
  const auto pages = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES));
  return {.machine_bytes = pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)),
          .group_bytes = FindGroupMemoryBytes("")};
}

}  // namespace rowan
