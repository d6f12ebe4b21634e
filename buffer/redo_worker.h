// SPDX-License-Identifier: GPL-2.0-only
// RedoWorker: brings pages of the pool's redo backlog up to date, many at a time: their frames are
// taken, the reads are in flight together, then each page's records are applied.
//
// Invariant: while a worker holds frames that are being loaded it waits for their reads only, as
// buffer/read_ahead.h.
// Thread safety: a worker belongs to one thread; several work beside each other and beside sessions
// that fix pages.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "buffer/buffer_pool.h"

namespace rowan {

class RedoWorker {
 public:
  /// Pages worth giving to one call of Run.
  static constexpr size_t kBatchPages = 64;

  /// `workers`: how many share the pool.
  RedoWorker(BufferPool* pool, uint32_t workers);
  ~RedoWorker();

  /// A page that keeps its records, because they could not be applied.
  struct Failure {
    uint64_t page = 0;  ///< PageId::Packed
    /// kNotFound: its space is not live. kCorrupt: damaged, absent, or the records do not fit it.
    /// kIoError: it cannot be read.
    Status status;
  };
  /// `pages`: PageId::Packed; those without records are left alone. Adds to `failures`. Only what
  /// ends all redo is returned: kStopped, kOutOfMemory.
  Status Run(std::span<const uint64_t> pages, std::vector<Failure>* failures);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace rowan
