// SPDX-License-Identifier: GPL-2.0-only
// File over a POSIX descriptor. Short transfers and EINTR are handled here and nowhere else. Every
// failure except end-of-file is logged here with path and offset, because the Status cannot hold
// them. Thread safety: as io/file.h says; the descriptor is never changed after construction.
#pragma once

#include <atomic>
#include <string>

#include "io/file.h"

namespace rowan {

class PosixFile final : public File {
 public:
  /// Takes ownership of `descriptor`. `write_flags` are RWF_* bits passed with every write.
  PosixFile(std::string path, int descriptor, int write_flags);
  ~PosixFile() override;

  Status Read(uint64_t offset, MutableBytes buffer) override;
  Status Write(uint64_t offset, Bytes bytes) override;
  Status Sync(SyncMethod method) override;
  Status Lock() override;
  Result<uint64_t> Size() override;
  Status Truncate(uint64_t size_bytes) override;
  Status Allocate(uint64_t offset, uint64_t length) override;
  Status Punch(uint64_t offset, uint64_t length) override;
  [[nodiscard]] int descriptor() const override { return descriptor_; }
  [[nodiscard]] int write_flags() const override {
    return write_flags_.load(std::memory_order_relaxed);
  }
  void SetAtomic(bool atomic) override;
  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] void* instrument() const override { return instrument_; }

 private:
  Status WriteZeros(uint64_t offset, uint64_t end);

  const std::string path_;
  const int descriptor_;
  void* const instrument_;
  std::atomic<int> write_flags_;
};

/// Status for a failed call: kNoSpace for a full disk or quota, else kIoError, detail = `error`.
Status StatusFromErrno(int error, const char* message);

}  // namespace rowan
