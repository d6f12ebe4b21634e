// SPDX-License-Identifier: GPL-2.0-only
// A write and the fdatasync after it in one io_uring submission: one system call makes bytes
// durable. If anything goes wrong between the two (a short write, a broken link, a submission taken
// in part), plain calls make up for it. Not thread-safe; may move between threads that order their
// calls.
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "io/async_queue.h"
#include "io/file.h"

namespace rowan {

class LinkedWriter {
 public:
  /// For files of `file_system`, which outlives it. kUnsupported when the system does not permit
  /// it; `*refusal` then says why, without a full stop.
  static Result<std::unique_ptr<LinkedWriter>> Make(FileSystem* file_system, std::string* refusal);

  /// On success, everything written to `file` is durable. REQUIRES file->descriptor() >= 0.
  Status WriteAndSync(File* file, uint64_t offset, Bytes bytes);

 private:
  struct Answers {
    int64_t write = -ECANCELED;
    int64_t sync = -ECANCELED;
    /// The kernel took both at once, so that the sync followed the write.
    bool linked = true;
  };

  explicit LinkedWriter(std::unique_ptr<AsyncQueue> queue) : queue_(std::move(queue)) {}
  /// Hands over what is prepared and waits for the answers to what was taken.
  Answers Run();
  /// Returns how many of the two were taken.
  int SubmitBoth(bool* linked);

  const std::unique_ptr<AsyncQueue> queue_;
  bool refused_ = false;  ///< the kernel takes no more: plain calls from then on
};

}  // namespace rowan
