// SPDX-License-Identifier: GPL-2.0-only
// A write and the fdatasync after it in one io_uring submission: one system call makes bytes
// durable. Whatever comes between the two (a write cut short, a link that was cut, a submission
// taken in parts) is repaired by plain calls. Not thread-safe; may move between threads that order
// their calls.
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
  /// it; `*refusal` then says why, without full stop.
  static Result<std::unique_ptr<LinkedWriter>> Make(FileSystem* file_system, std::string* refusal);

  /// Everything written to `file` is durable on success. REQUIRES file->descriptor() >= 0.
  Status WriteAndSync(File* file, uint64_t offset, Bytes bytes);

 private:
  struct Answers {
    int64_t write = -ECANCELED;
    int64_t sync = -ECANCELED;
    /// The kernel took both at once, so that the sync followed the write.
    bool linked = true;
  };

  explicit LinkedWriter(std::unique_ptr<AsyncQueue> queue) : queue_(std::move(queue)) {}
  /// Hands over what is prepared and waits for the answers of what was taken.
  Answers Run();
  /// Returns how many of the two were taken.
  int SubmitBoth(bool* linked);

  const std::unique_ptr<AsyncQueue> queue_;
  bool refused_ = false;  ///< the kernel takes no more: plain calls from then on
};

}  // namespace rowan
