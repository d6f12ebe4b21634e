// SPDX-License-Identifier: GPL-2.0-only
#include "base/assertions.h"

#include <cstdio>
#include <cstdlib>

namespace rowan {

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "Rowan: invariant broken at %s:%d: %s\n", file, line, condition);
  std::fflush(stderr);
  std::abort();
}

}  // namespace rowan
