// SPDX-License-Identifier: GPL-2.0-only
// AsyncQueue: the few calls that asynchronous I/O needs of a kernel, common to io_uring and libaio.
// Batches and the linked write are built on it. The file system makes the queue for its files
// (FileSystem::MakeQueue), so a simulated queue can replace the kernel's and be as short of memory,
// as late and as much out of order as a kernel may be.
//
// Requests are prepared in order and handed over by Submit, which may take only some: the rest stay
// prepared. Each request taken gets one answer, in any order; an invalid one gets its -errno that
// way, too. Not thread-safe; may move between threads that order their calls.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rowan {

enum class QueueKind { kUring, kLibaio };

struct QueueRequest {
  enum class Kind { kRead, kWrite, kSyncData };
  Kind kind = Kind::kRead;
  int descriptor = -1;
  uint64_t offset = 0;
  std::byte* data = nullptr;  ///< a write only reads it
  uint32_t size_bytes = 0;
  int write_flags = 0;  ///< RWF_* bits
  /// The next request starts once this one has completed in full, and is cancelled (-ECANCELED) if
  /// it does not. Holds only if one Submit took both. io_uring only.
  bool linked = false;
  uint64_t mark = 0;  ///< returned with the answer; with libaio less than the number of entries
};

struct QueueAnswer {
  uint64_t mark = 0;
  int64_t result = 0;  ///< bytes, or -errno
};

class AsyncQueue {
 public:
  virtual ~AsyncQueue() = default;
  /// REQUIRES: fewer requests than entries are prepared or unanswered.
  virtual void Prepare(const QueueRequest& request) = 0;
  /// How many were taken, in order, or -errno if none was.
  virtual int Submit() = 0;
  /// As Submit; if it took everything, also waits for `answers` answers.
  virtual int SubmitAndWait(uint32_t answers) = 0;
  /// Waits for answers to take: `answers` of them if it can count them. 0 or -errno.
  virtual int Wait(uint32_t answers) = 0;
  /// False: none is there now.
  virtual bool Take(QueueAnswer* answer) = 0;
};

}  // namespace rowan
