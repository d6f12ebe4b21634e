// SPDX-License-Identifier: GPL-2.0-only
// One ring per batch. Requests collect in the submission queue and go to the kernel in small
// groups, which saves system calls and still keeps the device busy while more are prepared.
#include "io/uring_batch.h"

#include <liburing.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/format.h"
#include "base/logging.h"
#include "io/batch_requests.h"
#include "io/resource_shortage.h"

namespace rowan {
namespace {

/// Requests per system call; more only delays the first one.
constexpr uint32_t kSubmitGroup = 8;

class UringBatch final : public WriteBatch {
 public:
  explicit UringBatch(uint32_t depth) : depth_(depth), requests_(depth) {}
  ~UringBatch() override {
    if (!ready_) return;
    WaitAll().Ignore();  // nobody is left to hear of it; buffers must not be in use any more
    io_uring_queue_exit(&ring_);
  }

  /// 0 or the errno that says why the kernel refuses.
  int Initialise();

  Status Submit(File* file, uint64_t offset, Bytes bytes) override {
    return Queue({file, offset, const_cast<std::byte*>(bytes.data()), bytes.size(), true});
  }
  Status SubmitRead(File* file, uint64_t offset, MutableBytes buffer) override {
    return Queue({file, offset, buffer.data(), buffer.size(), false});
  }
  void Send() override { SubmitPrepared(); }
  Status WaitAll() override;
  [[nodiscard]] IoBackend backend() const override { return IoBackend::kUring; }

 private:
  Status Queue(const BatchRequest& request);
  void Prepare(uint32_t slot);
  void SubmitPrepared();
  /// Waits until `count` requests or more are finished, and accounts for all that are.
  void Reap(uint32_t count);
  void AbandonPrepared(int error);

  const uint32_t depth_;
  BatchRequests requests_;
  io_uring ring_{};
  bool ready_ = false;
  std::vector<uint32_t> prepared_;  // slots in the submission queue, not yet with the kernel
  uint32_t in_kernel_ = 0;
  ShortageWait wait_{"An io_uring request"};
  int broken_errno_ = 0;  // the kernel refused to take requests; the batch is of no more use
};

int UringBatch::Initialise() {
  const int error = io_uring_queue_init(depth_, &ring_, 0);
  if (error < 0) return -error;
  ready_ = true;
  prepared_.reserve(depth_);
  io_uring_probe* probe = io_uring_get_probe_ring(&ring_);
  const bool able = probe != nullptr && io_uring_opcode_supported(probe, IORING_OP_WRITE) != 0 &&
                    io_uring_opcode_supported(probe, IORING_OP_READ) != 0;
  io_uring_free_probe(probe);
  return able ? 0 : ENOSYS;
}

Status UringBatch::Queue(const BatchRequest& request) {
  if (request.file->descriptor() < 0) {
    requests_.Defer(request);
    return Status::Ok();
  }
  while (!requests_.HasFreeSlot() && broken_errno_ == 0) {
    SubmitPrepared();
    if (in_kernel_ > 0) Reap(1);
  }
  if (broken_errno_ != 0) {
    return Status(Code::kIoError, "io_uring stopped accepting requests",
                  static_cast<uint32_t>(broken_errno_));
  }
  Prepare(requests_.Take(request));
  if (prepared_.size() >= kSubmitGroup) SubmitPrepared();
  return Status::Ok();
}

void UringBatch::Prepare(uint32_t slot) {
  // The queue has as many entries as there are slots, and a slot is in it at most once.
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  ROWAN_CHECK(entry != nullptr);
  const BatchRequest& request = requests_.at(slot);
  const int descriptor = request.file->descriptor();
  if (request.write) {
    io_uring_prep_write(entry, descriptor, request.data, request.NextBytes(), request.offset);
    entry->rw_flags = request.file->write_flags();
  } else {
    io_uring_prep_read(entry, descriptor, request.data, request.NextBytes(), request.offset);
  }
  io_uring_sqe_set_data64(entry, slot);
  prepared_.push_back(slot);
}

void UringBatch::SubmitPrepared() {
  while (!prepared_.empty() && broken_errno_ == 0) {
    const int taken = io_uring_submit(&ring_);
    if (taken > 0) {
      in_kernel_ += static_cast<uint32_t>(taken);
      prepared_.erase(prepared_.begin(), prepared_.begin() + taken);
      wait_.Reset();
      continue;
    }
    const bool passing = taken == 0 || taken == -EINTR || taken == -EBUSY ||
                         IsResourceShortage(-taken);
    if (passing && in_kernel_ > 0) {
      Reap(1);  // short of resources: room comes back with completions
    } else if (passing && taken != 0 && wait_.Again(-taken)) {
      continue;
    } else if (taken != -EINTR) {
      AbandonPrepared(taken == 0 ? EIO : -taken);
    }
  }
}

void UringBatch::AbandonPrepared(int error) {
  LogError("io_uring refused {} requests: {} (errno {})", prepared_.size(), std::strerror(error),
           error);
  broken_errno_ = error;
  for (const uint32_t slot : prepared_) {
    requests_.Abandon(slot, Status(Code::kIoError, "io_uring stopped accepting requests",
                                   static_cast<uint32_t>(error)));
  }
  prepared_.clear();
}

void UringBatch::Reap(uint32_t count) {
  io_uring_cqe* completion = nullptr;
  int error;
  do {
    error = io_uring_wait_cqe_nr(&ring_, &completion, count);
  } while (error == -EINTR || error == -EAGAIN);
  ROWAN_CHECK(error == 0);  // buffers are still with the kernel: there is no safe way to go on
  while (io_uring_peek_cqe(&ring_, &completion) == 0) {
    const auto slot = static_cast<uint32_t>(io_uring_cqe_get_data64(completion));
    const int answer = completion->res;
    io_uring_cqe_seen(&ring_, completion);
    --in_kernel_;
    if (requests_.Complete(slot, answer) == BatchRequests::Outcome::kFinished) continue;
    if (broken_errno_ == 0) {
      Prepare(slot);
    } else {
      requests_.Abandon(slot, Status(Code::kIoError, "io_uring stopped accepting requests",
                                     static_cast<uint32_t>(broken_errno_)));
    }
  }
}

Status UringBatch::WaitAll() {
  requests_.RunDeferred();
  while (!requests_.AllFree()) {
    SubmitPrepared();
    if (in_kernel_ > 0) Reap(in_kernel_);
  }
  return requests_.TakeFailure();
}

const char* Explain(int error) {
  switch (error) {
    case EPERM: return "the system forbids it (kernel.io_uring_disabled or a seccomp filter)";
    case ENOSYS: return "the kernel is too old";
    case ENOMEM: return "the limit on locked memory is too small";
    case EMFILE: return "the limit on open files is reached";
    default: return std::strerror(error);
  }
}

}  // namespace

Result<std::unique_ptr<WriteBatch>> MakeUringBatch(uint32_t depth, std::string* refusal) {
  auto batch = std::make_unique<UringBatch>(depth);
  const int error = batch->Initialise();
  if (error != 0) {
    *refusal = Format("io_uring is not usable: {} (errno {})", Explain(error), error);
    return Status(Code::kUnsupported, "io_uring is not usable here", static_cast<uint32_t>(error));
  }
  return std::unique_ptr<WriteBatch>(std::move(batch));
}

}  // namespace rowan
