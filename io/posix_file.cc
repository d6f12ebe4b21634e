// SPDX-License-Identifier: GPL-2.0-only
#include "io/posix_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/instruments.h"
#include "io/aligned_buffer.h"
#include "io/atomic_write.h"
#include "io/full_disk_log.h"
#include "io/resource_shortage.h"

namespace rowan {
namespace {

/// Zeros written per call where the file system cannot allocate.
constexpr size_t kZeroChunkBytes = size_t{1} << 20;

Status CallFailed(const PosixFile& file, const char* call, uint64_t offset, const char* message) {
  const int error = errno;
  LogFailedCall(call, file.path(), offset, error);
  return StatusFromErrno(error, message);
}

void* InstrumentOf(const std::string& path) {
  const Instruments* instruments = CurrentInstruments();
  return instruments == nullptr ? nullptr : instruments->file_opened(path.c_str());
}

}  // namespace

Status StatusFromErrno(int error, const char* message) {
  const bool full = error == ENOSPC || error == EDQUOT;
  return Status(full ? Code::kNoSpace : Code::kIoError, message, static_cast<uint32_t>(error));
}

PosixFile::PosixFile(std::string path, int descriptor, int write_flags)
    : path_(std::move(path)),
      descriptor_(descriptor),
      instrument_(InstrumentOf(path_)),
      write_flags_(write_flags) {}

PosixFile::~PosixFile() {
  if (instrument_ != nullptr) CurrentInstruments()->file_closed(instrument_);
  ::close(descriptor_);
}

Status PosixFile::Read(uint64_t offset, MutableBytes buffer) {
  const FileWait instrumented(instrument_, FileWaitKind::kRead, buffer.size());
  ShortageWait wait("Reading a file");
  while (!buffer.empty()) {
    const ssize_t count =
        ::pread(descriptor_, buffer.data(), buffer.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && IsResourceShortage(errno) && wait.Again(errno)) continue;
    if (count < 0) return CallFailed(*this, "Read", offset, "cannot read file");
    if (count == 0) return Status(Code::kIoError, "read beyond the end of the file", 0);
    buffer = buffer.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
  return Status::Ok();
}

void PosixFile::SetAtomic(bool atomic) {
  write_flags_.store(atomic ? kWriteAtomicFlag : 0, std::memory_order_relaxed);
}

Status PosixFile::Write(uint64_t offset, Bytes bytes) {
  const int flags = write_flags();
  const FileWait instrumented(instrument_, FileWaitKind::kWrite, bytes.size());
  ShortageWait wait("Writing a file");
  while (!bytes.empty()) {
    const iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
    const ssize_t count =
        flags == 0 ? ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset))
                   : ::pwritev2(descriptor_, &piece, 1, static_cast<off_t>(offset), flags);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && IsResourceShortage(errno) && wait.Again(errno)) continue;
    if (count < 0) return CallFailed(*this, "Write", offset, "cannot write file");
    bytes = bytes.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
  return Status::Ok();
}

Status PosixFile::Sync(SyncMethod method) {
  const FileWait instrumented(instrument_, FileWaitKind::kSync, 0);
  const bool data_only = method == SyncMethod::kFdatasync;
  // Never retried: after a failure the kernel may have dropped the dirty pages.
  if ((data_only ? ::fdatasync(descriptor_) : ::fsync(descriptor_)) == 0) return Status::Ok();
  return CallFailed(*this, data_only ? "fdatasync" : "fsync", 0, "cannot sync file");
}

Status PosixFile::Lock() {
  // Of the open file description, not of the process: a second handle in this process conflicts
  // with it as well, and closing another handle of the file does not release it.
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  while (::fcntl(descriptor_, F_OFD_SETLK, &whole) != 0) {
    if (errno == EAGAIN || errno == EACCES) {
      return Status(Code::kBusy, "another process has locked the file");
    }
    if (errno != EINTR) return CallFailed(*this, "Lock", 0, "cannot lock file");
  }
  return Status::Ok();
}

Result<uint64_t> PosixFile::Size() {
  struct stat facts;
  if (::fstat(descriptor_, &facts) != 0) return CallFailed(*this, "stat", 0, "cannot stat file");
  return static_cast<uint64_t>(facts.st_size);
}

Status PosixFile::Truncate(uint64_t size_bytes) {
  while (::ftruncate(descriptor_, static_cast<off_t>(size_bytes)) != 0) {
    if (errno != EINTR) return CallFailed(*this, "Truncate", size_bytes, "cannot truncate file");
  }
  return Status::Ok();
}

Status PosixFile::Punch(uint64_t offset, uint64_t length) {
  constexpr int kMode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  while (::fallocate(descriptor_, kMode, static_cast<off_t>(offset), static_cast<off_t>(length)) !=
         0) {
    if (errno == EINTR) continue;
    if (errno == EOPNOTSUPP || errno == ENOSYS) return Status(Code::kUnsupported);
    return CallFailed(*this, "Punch", offset, "cannot give space back");
  }
  return Status::Ok();
}

Status PosixFile::Allocate(uint64_t offset, uint64_t length) {
  if (length == 0) return Status::Ok();
  for (;;) {
    if (::fallocate(descriptor_, 0, static_cast<off_t>(offset), static_cast<off_t>(length)) == 0) {
      return Status::Ok();
    }
    if (errno == EINTR) continue;
    if (errno != EOPNOTSUPP) return CallFailed(*this, "Allocate", offset, "cannot allocate space");
    break;
  }
  // No fallocate here. Bytes inside the file may be in use, so only new ones are written.
  const Result<uint64_t> size = Size();
  if (!size.ok()) return size.status();
  return WriteZeros(std::max(offset, size.value()), offset + length);
}

Status PosixFile::WriteZeros(uint64_t offset, uint64_t end) {
  if (offset >= end) return Status::Ok();
  const AlignedBuffer zeros(std::min<uint64_t>(kZeroChunkBytes, end - offset));
  while (offset < end) {
    const uint64_t chunk = std::min<uint64_t>(zeros.size(), end - offset);
    CountWritten(WriteCause::kAllocation, chunk);
    const Status status = Write(offset, zeros.span().first(chunk));
    if (!status.ok()) return status;
    offset += chunk;
  }
  return Status::Ok();
}

}  // namespace rowan
