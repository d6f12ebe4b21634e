// SPDX-License-Identifier: GPL-2.0-only
// RedoWorker: brings pages of the pool's redo backlog up to date, many at a time: their records are
// gathered from the log in one pass, then some pages' frames at a time are taken, the reads are in
// flight together, and each page's records are applied.
//
// Invariant: while a worker holds frames that are being loaded, it waits only for reads of them and
// of the log, like buffer/read_ahead.h.
// Thread safety: a worker belongs to one thread; several work concurrently, also with sessions
// that fix pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "buffer/buffer_pool.h"
#include "buffer/redo_portion.h"
#include "io/write_batch.h"

namespace rowan {

class RedoWorker {
 public:
  /// Pages read at the same time.
  static constexpr size_t kBatchPages = 64;

  /// `workers`: how many share the pool. `gathered_bytes_max`: roughly, of records in memory.
  RedoWorker(BufferPool* pool, uint32_t workers, uint64_t gathered_bytes_max);
  /// A page that keeps its records, because they could not be applied.
  struct Failure {
    uint64_t page = 0;  ///< PageId::Packed
    /// kNotFound: its space is not live. kCorrupt: damaged, absent, or the records do not fit it.
    /// kIoError: it cannot be read.
    Status status;
  };
  /// `pages`: PageId::Packed, sorted; those without records are ignored. Adds to `failures`.
  /// Returns only what ends all redo: kStopped, kOutOfMemory.
  Status Run(std::span<const uint64_t> pages, std::vector<Failure>* failures);

 private:
  struct Load {
    Frame* frame = nullptr;
    uint64_t key = 0;
    SpaceFiles::Location location;
  };
  enum class Begun { kDone, kLoading, kLater, kNoFrame };

  [[nodiscard]] size_t LoadsMax() const;
  /// Takes frames for pages from `*next` on, as many as may be read at the same time.
  void BeginSome(std::span<const uint64_t> pages, size_t* next, std::vector<Failure>* failures);
  Begun Begin(uint64_t key, std::vector<Failure>* failures);
  Begun BeginRead(Frame* frame, uint64_t key);
  void FinishLoads();
  void RedoOne(uint64_t key, std::vector<Failure>* failures);
  Status RedoPage(uint64_t key);

  BufferPool* const pool_;
  FrameTable* const frames_;
  PageFiles* const files_;
  FrameSupply* const supply_;
  const uint32_t workers_;
  const uint64_t gathered_bytes_max_;
  std::unique_ptr<RedoPortion> portion_;  ///< for the pages of this Run
  std::unique_ptr<WriteBatch> batch_;
  std::vector<Load> loads_;
  std::vector<uint64_t> later_;  ///< done one by one, when no frame is held
};

}  // namespace rowan
