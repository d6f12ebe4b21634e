// SPDX-License-Identifier: GPL-2.0-only
#include "io/atomic_write.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/logging.h"

namespace rowan {
namespace {

constexpr unsigned kStatxWriteAtomic = 0x10000;

/// The kernel's struct statx as far as it is needed here.
struct StatxFacts {
  uint32_t mask;
  uint8_t skipped[164];
  uint32_t atomic_write_unit_min;
  uint32_t atomic_write_unit_max;
  uint8_t rest[80];
};
static_assert(sizeof(StatxFacts) == 256);
static_assert(offsetof(StatxFacts, atomic_write_unit_min) == 0xA8);
static_assert(offsetof(StatxFacts, atomic_write_unit_max) == 0xAC);

}  // namespace

Result<uint32_t> ProbeAtomicWriteUnitMax(const std::string& path) {
  StatxFacts facts{};
  if (::syscall(SYS_statx, AT_FDCWD, path.c_str(), 0, kStatxWriteAtomic, &facts) != 0) {
    if (errno == ENOENT) return Status(Code::kNotFound, "no such file");
    if (errno == ENOSYS || errno == EINVAL) return uint32_t{0};
    const int error = errno;
    LogError("statx of '{}' failed: {} (errno {})", path, std::strerror(error), error);
    return Status(Code::kIoError, "cannot stat file", static_cast<uint32_t>(error));
  }
  // Kernels that do not know the question leave its bit out of the answer.
  return (facts.mask & kStatxWriteAtomic) != 0 ? facts.atomic_write_unit_max : 0;
}

}  // namespace rowan
