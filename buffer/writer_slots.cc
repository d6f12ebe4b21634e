// SPDX-License-Identifier: GPL-2.0-only
// How many page writers are worth their memory and their doublewrite segments.
#include "buffer/writer_slots.h"

#include <unistd.h>

#include <algorithm>

namespace rowan {
namespace {

/// One keeps a fast device busy; sessions on many processors dirty more pages than it can copy.
uint32_t CleanersFor(uint64_t frames) {
  const auto processors = static_cast<uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  const auto by_pool = static_cast<uint32_t>(std::min<uint64_t>(frames / 4096, 8));
  return std::clamp(std::min(processors / 4, by_pool), 1u, 8u);
}

/// They mostly wait for the disk, so processors do not matter. A writer's buffers hold four
/// batches; a small pool has better uses for that memory.
uint32_t SessionWritersFor(uint64_t frames) {
  return static_cast<uint32_t>(std::clamp<uint64_t>(frames / 512, 1, 4));
}

}  // namespace

WriterSlots WriterSlots::Of(const BufferOptions& options, uint32_t page_size_bytes) {
  const uint64_t frames = options.pool_bytes / page_size_bytes;
  WriterSlots slots;
  slots.sessions =
      options.session_writers != 0 ? options.session_writers : SessionWritersFor(frames);
  slots.cleaners = options.cleaners != 0 ? options.cleaners : CleanersFor(frames);
  return slots;
}

}  // namespace rowan
