// SPDX-License-Identifier: GPL-2.0-only
// WriterSlots: which page writers a pool has. Each has its own doublewrite segments, so all of them
// can be between copy and home at the same time. Slot 0 is for flushes, those from kSessions on are
// for sessions that find no clean page, the rest are the cleaners'.
#pragma once

#include <cstdint>

#include "buffer/buffer_options.h"

namespace rowan {

struct WriterSlots {
  static constexpr uint32_t kFlush = 0;
  static constexpr uint32_t kSessions = 1;

  /// As the options say, else from the processors and the pool's size at its opening.
  static WriterSlots Of(const BufferOptions& options, uint32_t page_size_bytes);

  [[nodiscard]] uint32_t first_cleaner() const { return kSessions + sessions; }
  [[nodiscard]] uint32_t total() const { return kSessions + sessions + cleaners; }

  uint32_t sessions = 1;
  uint32_t cleaners = 1;
};

}  // namespace rowan
