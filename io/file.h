// SPDX-License-Identifier: GPL-2.0-only
// Files and the file system as Rowan sees them: an interface, so that a fault-injecting double can
// implement it. Everything above io/ reaches the disk only through these two classes.
//
// Durability contract, stated for every implementation:
//   - Write returns when the kernel has the bytes; they survive a process kill, not power loss.
//   - Bytes are durable after a Sync of the same file that began after the Write returned, or, for
//     a file opened with WriteThrough, when Write returns.
//   - Create, CreateLink, Rename and Remove are durable after SyncDirectory of their folder.
//   - A failed Sync leaves the durability of all earlier writes unknown; the caller stops the
//     engine.
// Thread safety: File calls on disjoint ranges may run concurrently; Sync may run concurrently with
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "base/write_cause.h"
#include "io/async_queue.h"

namespace rowan {

enum class SyncMethod { kFsync, kFdatasync };

struct FileOptions {
  bool create = false;         ///< create if missing
  bool exclusive = false;      ///< with create: fail with kInvalidArgument if it exists
  bool direct = false;         ///< O_DIRECT: offset, length and memory aligned to kDirectAlignment
  bool write_through = false;  ///< O_DSYNC
  bool read_only = false;
  bool spare = false;   ///< may take a descriptor kept in reserve when others run out
  bool atomic = false;  ///< every Write is untorn (RWF_ATOMIC) or fails; needs `direct` and sizes
                        ///< within AtomicWriteUnitMax
};

/// Alignment that O_DIRECT transfers obey everywhere.
inline constexpr size_t kDirectAlignment = 4096;

class File {
 public:
  virtual ~File() = default;
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Reads exactly buffer.size() bytes. Reading beyond the end is kIoError with detail 0.
  virtual Status Read(uint64_t offset, MutableBytes buffer) = 0;
  /// Writes all bytes, extending the file if needed. kNoSpace when the disk is full.
  virtual Status Write(uint64_t offset, Bytes bytes) = 0;
  /// Counts the bytes under `cause` and writes them. Whoever calls the other one counts them.
  Status Write(WriteCause cause, uint64_t offset, Bytes bytes) {
    CountWritten(cause, bytes.size());
    return Write(offset, bytes);
  }
  virtual Status Sync(SyncMethod method) = 0;
  /// Locks the file for this handle until it is closed, in whatever way, or its process ends.
  /// kBusy: another handle, of this process or another, has it. Never waits. The lock is advisory:
  /// it does not stop transfers through other handles.
  virtual Status Lock() = 0;
  virtual Result<uint64_t> Size() = 0;
  /// Sets the size; new bytes read as zero.
  virtual Status Truncate(uint64_t size_bytes) = 0;
  /// Fills [offset, offset+length) with written zeros or allocated blocks so that later writes
  /// there do not fail for lack of space. May extend the file.
  virtual Status Allocate(uint64_t offset, uint64_t length) = 0;
  /// Gives the blocks of [offset, offset+length) back to the file system; the bytes read as zero,
  /// the size stays. Like a write, durable by the next sync. kUnsupported where the file system
  /// cannot. Before anything is written there again, call Allocate to ensure the space.
  virtual Status Punch(uint64_t offset, uint64_t length) = 0;
  /// OS descriptor for asynchronous batches; -1 when there is none (simulated files).
  [[nodiscard]] virtual int descriptor() const = 0;
  /// RWF_* bits that asynchronous batches must pass with writes to the descriptor.
  [[nodiscard]] virtual int write_flags() const { return 0; }
  /// As FileOptions::atomic, from the next write on; a write in progress may be either.
  virtual void SetAtomic(bool atomic) = 0;
  [[nodiscard]] virtual const std::string& path() const = 0;
  /// For FileWait (base/instruments.h); null: not monitored.
  [[nodiscard]] virtual void* instrument() const { return nullptr; }
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  /// kNotFound when missing and not created; otherwise kIoError with errno in detail. A shortage
  /// (io/resource_shortage.h) is not logged: the caller decides whether to wait.
  virtual Result<std::unique_ptr<File>> Open(const std::string& path, FileOptions options) = 0;
  virtual Status Rename(const std::string& source, const std::string& target) = 0;
  /// kNotFound when missing.
  virtual Status Remove(const std::string& path) = 0;
  virtual Result<bool> Exists(const std::string& path) = 0;
  /// File names (no folders, no path) in a folder, unordered.
  virtual Result<std::vector<std::string>> List(const std::string& folder) = 0;
  /// Makes `path` a symbolic link that points to `target`, whether or not it exists. Open and
  /// Exists follow links, Rename and Remove take the link itself. kInvalidArgument when `path`
  /// exists.
  virtual Status CreateLink(const std::string& target, const std::string& path) = 0;
  /// Where the link points; empty when `path` is not a link. kNotFound when missing.
  virtual Result<std::string> ReadLink(const std::string& path) = 0;
  /// Creates one folder; Ok if it exists already.
  virtual Status CreateFolder(const std::string& path) = 0;
  virtual Status SyncDirectory(const std::string& folder) = 0;
  /// Largest untorn (RWF_ATOMIC) write the file's file system promises, in bytes; 0 = none.
  virtual Result<uint32_t> AtomicWriteUnitMax(const std::string& path) = 0;
  /// A queue for requests on descriptors of its files; the kernel's, if not overridden.
  /// kUnsupported when the system does not permit it; `*refusal` then says why, without a full
  /// stop.
  virtual Result<std::unique_ptr<AsyncQueue>> MakeQueue(QueueKind kind, uint32_t entries,
                                                        std::string* refusal);
};

/// The real one; its failures are logged with their path. Never null; lives for the process.
FileSystem* PosixFileSystem();

}  // namespace rowan
