// SPDX-License-Identifier: GPL-2.0-only
#include <liburing.h>

#include <cerrno>
#include <cstring>

#include "base/assertions.h"
#include "base/format.h"
#include "io/kernel_queue.h"

namespace rowan {
namespace {

class UringQueue final : public AsyncQueue {
 public:
  ~UringQueue() override {
    if (ready_) io_uring_queue_exit(&ring_);
  }
  /// 0 or the errno that says why the kernel refuses.
  int Initialise(uint32_t entries);

  void Prepare(const QueueRequest& request) override;
  int Submit() override { return io_uring_submit(&ring_); }
  int SubmitAndWait(uint32_t answers) override { return io_uring_submit_and_wait(&ring_, answers); }
  int Wait(uint32_t answers) override {
    io_uring_cqe* completion = nullptr;
    return io_uring_wait_cqe_nr(&ring_, &completion, answers);
  }
  bool Take(QueueAnswer* answer) override;

 private:
  io_uring ring_{};
  bool ready_ = false;
};

int UringQueue::Initialise(uint32_t entries) {
  const int error = io_uring_queue_init(entries, &ring_, 0);
  if (error < 0) return -error;
  ready_ = true;
  io_uring_probe* probe = io_uring_get_probe_ring(&ring_);
  bool able = probe != nullptr;
  for (const int operation : {IORING_OP_WRITE, IORING_OP_READ, IORING_OP_FSYNC}) {
    able = able && io_uring_opcode_supported(probe, operation) != 0;
  }
  io_uring_free_probe(probe);
  return able ? 0 : ENOSYS;
}

void UringQueue::Prepare(const QueueRequest& request) {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  ROWAN_CHECK(entry != nullptr);
  switch (request.kind) {
    case QueueRequest::Kind::kWrite:
      io_uring_prep_write(entry, request.descriptor, request.data, request.size_bytes,
                          request.offset);
      entry->rw_flags = request.write_flags;
      break;
    case QueueRequest::Kind::kRead:
      io_uring_prep_read(entry, request.descriptor, request.data, request.size_bytes,
                         request.offset);
      break;
    case QueueRequest::Kind::kSyncData:
      io_uring_prep_fsync(entry, request.descriptor, IORING_FSYNC_DATASYNC);
      break;
  }
  if (request.linked) entry->flags |= IOSQE_IO_LINK;
  io_uring_sqe_set_data64(entry, request.mark);
}

bool UringQueue::Take(QueueAnswer* answer) {
  io_uring_cqe* completion = nullptr;
  if (io_uring_peek_cqe(&ring_, &completion) != 0) return false;
  *answer = {io_uring_cqe_get_data64(completion), completion->res};
  io_uring_cqe_seen(&ring_, completion);
  return true;
}

const char* ExplainUringRefusal(int error) {
  switch (error) {
    case EPERM: return "the system forbids it (kernel.io_uring_disabled or a seccomp filter)";
    case ENOSYS: return "the kernel is too old";
    case ENOMEM: return "the limit on locked memory is too small";
    case EMFILE: return "the limit on open files is reached";
    default: return std::strerror(error);
  }
}

}  // namespace

Result<std::unique_ptr<AsyncQueue>> MakeUringQueue(uint32_t entries, std::string* refusal) {
  auto queue = std::make_unique<UringQueue>();
  const int error = queue->Initialise(entries);
  if (error != 0) {
    *refusal = Format("io_uring is not usable: {} (errno {})", ExplainUringRefusal(error), error);
    return Status(Code::kUnsupported, "io_uring is not usable here", static_cast<uint32_t>(error));
  }
  return std::unique_ptr<AsyncQueue>(std::move(queue));
}

}  // namespace rowan
