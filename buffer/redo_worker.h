// SPDX-License-Identifier: GPL-2.0-only
// RedoWorker: brings pages of the pool's redo backlog up to date, many at a time: their records are
// gathered from the log in one pass, then some pages' frames at a time are taken, the reads are in
// flight together, and each page's records are applied.
//
// Invariant: while a worker holds frames that are being loaded it waits for reads of them and of
// the log only, as buffer/read_ahead.h.
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
  /// Pages read at the same time.
  static constexpr size_t kBatchPages = 64;

  /// `workers`: how many share the pool. `gathered_bytes_max`: of records in memory, about.
  RedoWorker(BufferPool* pool, uint32_t workers, uint64_t gathered_bytes_max);
  ~RedoWorker();

  /// A page that keeps its records, because they could not be applied.
  struct Failure {
    uint64_t page = 0;  ///< PageId::Packed
    /// kNotFound: its space is not live. kCorrupt: damaged, absent, or the records do not fit it.
    /// kIoError: it cannot be read.
    Status status;
  };
  /// `pages`: PageId::Packed, sorted; those without records are left alone. Adds to `failures`.
  /// Only what ends all redo is returned: kStopped, kOutOfMemory.
  Status Run(std::span<const uint64_t> pages, std::vector<Failure>* failures);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace rowan
