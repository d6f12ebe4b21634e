// SPDX-License-Identifier: GPL-2.0-only
#include "io/linked_write.h"

#include <liburing.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/format.h"
#include "base/logging.h"
#include "io/posix_file.h"
#include "io/resource_shortage.h"

namespace rowan {
namespace {

constexpr unsigned kRingEntries = 4;
/// Marks of the two requests in their completions.
constexpr uint64_t kWriteMark = 1;
constexpr uint64_t kSyncMark = 2;
/// More goes through plain calls: one request's length is 32 bits.
constexpr size_t kLinkedBytesMax = size_t{1} << 30;

const char* Explain(int error) {
  switch (error) {
    case EPERM: return "the system forbids it (kernel.io_uring_disabled or a seccomp filter)";
    case ENOSYS: return "the kernel is too old";
    case ENOMEM: return "the limit on locked memory is too small";
    default: return std::strerror(error);
  }
}

Status Failed(const File& file, const char* call, uint64_t offset, int error) {
  LogError("io_uring {} of file '{}' at offset {} failed: {} (errno {})", call, file.path(), offset,
           std::strerror(error), error);
  return StatusFromErrno(error, "io_uring cannot write or sync file");
}

}  // namespace

struct LinkedWriter::Impl {
  io_uring ring{};
  bool ready = false;

  ~Impl() {
    if (ready) io_uring_queue_exit(&ring);
  }

  /// Submits what is prepared and waits for both completions; answers by mark.
  struct Answers {
    int write = -EIO;
    int sync = -EIO;
    bool linked = true;  ///< the kernel took both at once, so that the sync followed the write
  };
  /// `submitted` of the two are with the kernel already.
  Answers Run(int submitted);
};

LinkedWriter::Impl::Answers LinkedWriter::Impl::Run(int submitted) {
  Answers answers{.linked = submitted == 0};
  while (submitted < 2) {
    const int taken = io_uring_submit_and_wait(&ring, 2);
    if (taken == -EINTR || taken == -EAGAIN || taken == -EBUSY) continue;
    ROWAN_CHECK(taken >= 0);  // the ring is ours alone and has room: anything else is a bug
    submitted += taken;
    answers.linked &= taken != 1;
  }
  for (int seen = 0; seen < 2; ++seen) {
    io_uring_cqe* completion = nullptr;
    int error;
    do {
      error = io_uring_wait_cqe(&ring, &completion);
    } while (error == -EINTR || error == -EAGAIN);
    ROWAN_CHECK(error == 0);  // the buffer is with the kernel: there is no safe way to go on
    int& answer =
        io_uring_cqe_get_data64(completion) == kWriteMark ? answers.write : answers.sync;
    answer = completion->res;
    io_uring_cqe_seen(&ring, completion);
  }
  return answers;
}

LinkedWriter::LinkedWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LinkedWriter::~LinkedWriter() = default;

Result<std::unique_ptr<LinkedWriter>> LinkedWriter::Make(std::string* refusal) {
  auto impl = std::make_unique<Impl>();
  int error = -io_uring_queue_init(kRingEntries, &impl->ring, 0);
  if (error == 0) {
    impl->ready = true;
    io_uring_probe* probe = io_uring_get_probe_ring(&impl->ring);
    const bool able = probe != nullptr && io_uring_opcode_supported(probe, IORING_OP_WRITE) != 0 &&
                      io_uring_opcode_supported(probe, IORING_OP_FSYNC) != 0;
    if (!able) error = ENOSYS;
    if (probe != nullptr) io_uring_free_probe(probe);
  }
  if (error != 0) {
    *refusal = Format("io_uring is not usable: {} (errno {})", Explain(error), error);
    return Status(Code::kUnsupported, "io_uring is not usable here", static_cast<uint32_t>(error));
  }
  return std::unique_ptr<LinkedWriter>(new LinkedWriter(std::move(impl)));
}

Status LinkedWriter::WriteAndSync(File* file, uint64_t offset, Bytes bytes) {
  ROWAN_CHECK(file->descriptor() >= 0);
  if (bytes.size() > kLinkedBytesMax) {
    const Status status = file->Write(offset, bytes);
    return status.ok() ? file->Sync(SyncMethod::kFdatasync) : status;
  }
  io_uring_sqe* write = io_uring_get_sqe(&impl_->ring);
  ROWAN_CHECK(write != nullptr);
  io_uring_prep_write(write, file->descriptor(), bytes.data(),
                      static_cast<unsigned>(bytes.size()), offset);
  write->rw_flags = file->write_flags();
  write->flags |= IOSQE_IO_LINK;
  io_uring_sqe_set_data64(write, kWriteMark);
  const int submitted = split_ ? io_uring_submit(&impl_->ring) : 0;
  ROWAN_CHECK(submitted == (split_ ? 1 : 0));
  io_uring_sqe* sync = io_uring_get_sqe(&impl_->ring);
  ROWAN_CHECK(sync != nullptr);
  io_uring_prep_fsync(sync, file->descriptor(), IORING_FSYNC_DATASYNC);
  io_uring_sqe_set_data64(sync, kSyncMark);
  const Impl::Answers answers = impl_->Run(submitted);
  if (answers.write < 0 && answers.write != -EINTR && !IsResourceShortage(-answers.write)) {
    return Failed(*file, "write", offset, -answers.write);
  }
  const size_t done = answers.write < 0 ? 0 : static_cast<size_t>(answers.write);
  if (done < bytes.size()) {
    // A short write breaks the link: the sync was cancelled or came too early.
    const Status status = file->Write(offset + done, bytes.subspan(done));
    return status.ok() ? file->Sync(SyncMethod::kFdatasync) : status;
  }
  if (answers.sync != 0) return Failed(*file, "fdatasync", offset, -answers.sync);
  // A chain ends with the submission: taken one by one, the sync may have overtaken the write.
  return answers.linked ? Status::Ok() : file->Sync(SyncMethod::kFdatasync);
}

}  // namespace rowan
