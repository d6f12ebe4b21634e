// SPDX-License-Identifier: GPL-2.0-only
// WriteBatch: many page writes (or read-aheads) in flight at once, for background threads. One
// instance belongs to one thread; sessions use File::Read directly. Backends: io_uring, libaio, a
// small thread pool; MakeWriteBatch probes what the kernel permits. Requests for files without a
// descriptor (simulated ones) run in order inside WaitAll with every backend: as on a real disk,
// nothing may be relied on before WaitAll.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "io/file.h"

namespace rowan {

enum class IoBackend { kAuto, kUring, kLibaio, kThreads };
const char* IoBackendName(IoBackend backend);

class WriteBatch {
 public:
  virtual ~WriteBatch() = default;
  /// Queues one write. `file` and `bytes` stay valid until WaitAll returns. May block when the
  /// queue is full.
  virtual Status Submit(File* file, uint64_t offset, Bytes bytes) = 0;
  /// Queues one read into `buffer`, same rules.
  virtual Status SubmitRead(File* file, uint64_t offset, MutableBytes buffer) = 0;
  /// Hands everything queued to the device without waiting for it. Without this call a part may be
  /// held back until WaitAll.
  virtual void Send() = 0;
  /// Waits for everything queued. Returns the first failure; all requests have finished even then.
  virtual Status WaitAll() = 0;
  [[nodiscard]] virtual IoBackend backend() const = 0;
};

/// `depth` = most requests in flight. kAuto tries io_uring, libaio, threads in this order; a named
/// backend that the kernel refuses is kUnsupported. `*reason` (may be null) gets a sentence for the
/// operator: what was chosen and why the earlier ones were not.
/// All requests are for files of `file_system`, which outlives the batch.
Result<std::unique_ptr<WriteBatch>> MakeWriteBatch(FileSystem* file_system, IoBackend backend,
                                                   uint32_t depth, std::string* reason);

}  // namespace rowan
