// SPDX-License-Identifier: GPL-2.0-only
// How bytes of the log are made durable: a small class for each LogSyncMethod. The strategies
// differ in how a file is opened and in whether writing and syncing are one step.
// Files without a descriptor (simulated ones) work with each of them.
// Thread safety: a strategy belongs to the leader of the log (wal/commit_queue.h).
#pragma once

#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "io/file.h"
#include "wal/log_options.h"

namespace rowan {

class SyncStrategy {
 public:
  enum class Kind {
    kSeparate,  ///< write, then Sync: others may write concurrently
    kThrough,   ///< a write to a file opened with open_options() is durable when it returns
    kCombined,  ///< WriteAndSync is cheaper than its two halves
  };

  virtual ~SyncStrategy() = default;
  [[nodiscard]] virtual LogSyncMethod method() const = 0;
  [[nodiscard]] virtual Kind kind() const = 0;
  [[nodiscard]] virtual FileOptions open_options() const { return {}; }
  /// Makes everything written to the file durable.
  virtual Status Sync(File* file) = 0;
  /// Writes, and makes this and all earlier writes to the file durable.
  virtual Status WriteAndSync(File* file, uint64_t offset, Bytes bytes) {
    const Status status = file->Write(offset, bytes);
    if (!status.ok()) return status;
    return Sync(file);
  }
};

/// For files of `file_system`, which outlives the strategy. REQUIRES method != kAuto.
/// kUnsupported when the kernel refuses; `*reason` then has a sentence.
/// Whether the file system accepts the strategy's open_options() shows only when a file is opened.
Result<std::unique_ptr<SyncStrategy>> MakeSyncStrategy(FileSystem* file_system,
                                                       LogSyncMethod method, std::string* reason);

}  // namespace rowan
