// SPDX-License-Identifier: GPL-2.0-only
// ScrubFigures: how far the scrubber has got (storage/scrubber.h), and what it found last. Plain
// data.
#pragma once

#include <cstdint>
#include <string>

namespace rowan {

struct ScrubFigures {
  uint64_t bytes_per_second = 0;  ///< at most; 0: off
  uint64_t rounds = 0;            ///< complete, since the start
  uint64_t round_seconds = 0;     ///< since the current round began
  uint64_t pages_done = 0;        ///< of the current round
  uint64_t pages_total = 0;       ///< of the tablespaces it goes through
  std::string last_finding{};     ///< a sentence; empty: nothing was found since the start
};

}  // namespace rowan
