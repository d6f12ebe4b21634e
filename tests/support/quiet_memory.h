// SPDX-License-Identifier: GPL-2.0-only
// QuietMemory: what the thread allocates while one of these lives belongs to the tests themselves
// and is never refused (tests/faults/refused_memory.h). Elsewhere it means nothing.
#pragma once

namespace rowan {

class QuietMemory {
 public:
  QuietMemory() { ++Depth(); }
  ~QuietMemory() { --Depth(); }
  QuietMemory(const QuietMemory&) = delete;
  QuietMemory& operator=(const QuietMemory&) = delete;

  static int& Depth() {
    static thread_local int depth = 0;
    return depth;
  }
};

}  // namespace rowan
