// SPDX-License-Identifier: GPL-2.0-only
// A write and the fdatasync behind it in one io_uring submission: one system call makes bytes
// durable. Not thread-safe; may move between threads that order their calls.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "io/file.h"

namespace rowan {

class LinkedWriter {
 public:
  /// kUnsupported when the kernel does not permit it; `*refusal` then says why, without full stop.
  static Result<std::unique_ptr<LinkedWriter>> Make(std::string* refusal);
  /// For tests: hands the kernel one request at a time, which is how it takes them of itself when
  /// it is short of memory.
  void SplitSubmissions() { split_ = true; }
  ~LinkedWriter();

  /// Everything written to `file` is durable on success. REQUIRES file->descriptor() >= 0.
  Status WriteAndSync(File* file, uint64_t offset, Bytes bytes);

 private:
  struct Impl;
  explicit LinkedWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
  bool split_ = false;
};

}  // namespace rowan
