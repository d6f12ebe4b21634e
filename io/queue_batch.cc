// SPDX-License-Identifier: GPL-2.0-only
// One queue per batch. Requests are prepared in the queue and go to the kernel in small groups,
// which saves system calls and still keeps the device busy while more are prepared.
#include "io/queue_batch.h"

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/assertions.h"
#include "base/instruments.h"
#include "base/logging.h"
#include "io/batch_requests.h"
#include "io/resource_shortage.h"

namespace rowan {
namespace {

/// Requests per system call; more only delays the first one.
constexpr uint32_t kSubmitGroup = 8;

Status Refused(int error) {
  return Status(Code::kIoError, "the system stopped accepting asynchronous requests",
                static_cast<uint32_t>(error));
}

class QueueBatch final : public WriteBatch {
 public:
  QueueBatch(std::unique_ptr<AsyncQueue> queue, QueueKind kind, uint32_t depth)
      : kind_(kind), requests_(depth), queue_(std::move(queue)) {
    prepared_.reserve(depth);
  }
  ~QueueBatch() override {
    WaitAll().Ignore();  // no caller is left to report to; buffers must not be in use any more
  }

  Status Submit(File* file, uint64_t offset, Bytes bytes) override {
    return Queue({file, offset, const_cast<std::byte*>(bytes.data()), bytes.size(), true});
  }
  Status SubmitRead(File* file, uint64_t offset, MutableBytes buffer) override {
    return Queue({file, offset, buffer.data(), buffer.size(), false});
  }
  void Send() override { SubmitPrepared(); }
  Status WaitAll() override;
  [[nodiscard]] IoBackend backend() const override {
    return kind_ == QueueKind::kUring ? IoBackend::kUring : IoBackend::kLibaio;
  }

 private:
  Status Queue(const BatchRequest& request);
  void Prepare(uint32_t slot);
  void SubmitPrepared();
  /// Waits until `count` requests or more are finished, and accounts for all that are.
  void Reap(uint32_t count);
  void AbandonPrepared(int error);

  const QueueKind kind_;
  BatchRequests requests_;
  const std::unique_ptr<AsyncQueue> queue_;
  std::vector<uint32_t> prepared_;  // slots in the queue, not yet with the kernel
  uint32_t in_kernel_ = 0;
  ShortageWait wait_{"An asynchronous request"};
  int broken_errno_ = 0;  // the kernel refused requests; the batch is unusable
};

Status QueueBatch::Queue(const BatchRequest& request) {
  if (request.file->descriptor() < 0) {
    requests_.Defer(request);
    return Status::Ok();
  }
  while (!requests_.HasFreeSlot() && broken_errno_ == 0) {
    SubmitPrepared();
    if (in_kernel_ > 0) Reap(1);
  }
  if (broken_errno_ != 0) return Refused(broken_errno_);
  Prepare(requests_.Take(request));
  if (prepared_.size() >= kSubmitGroup) SubmitPrepared();
  return Status::Ok();
}

void QueueBatch::Prepare(uint32_t slot) {
  // The queue has as many entries as there are slots, and a slot is in it at most once.
  const BatchRequest& request = requests_.at(slot);
  // Monitoring learns only the bytes: no thread waits for the request itself.
  const FileWait instrumented(request.file->instrument(),
                              request.write ? FileWaitKind::kWrite : FileWaitKind::kRead,
                              request.NextBytes());
  queue_->Prepare({
      .kind = request.write ? QueueRequest::Kind::kWrite : QueueRequest::Kind::kRead,
      .descriptor = request.file->descriptor(),
      .offset = request.offset,
      .data = request.data,
      .size_bytes = request.NextBytes(),
      .write_flags = request.write ? request.file->write_flags() : 0,
      .mark = slot,
  });
  prepared_.push_back(slot);
}

void QueueBatch::SubmitPrepared() {
  while (!prepared_.empty() && broken_errno_ == 0) {
    const int taken = queue_->Submit();
    if (taken > 0) {
      in_kernel_ += static_cast<uint32_t>(taken);
      prepared_.erase(prepared_.begin(), prepared_.begin() + taken);
      wait_.Reset();
      continue;
    }
    if (taken == -EINTR) continue;
    const bool passing = taken == 0 || taken == -EBUSY || IsResourceShortage(-taken);
    if (passing && in_kernel_ > 0) {
      Reap(1);  // short of resources: completions make room
    } else if (!passing || taken == 0 || !wait_.Again(-taken)) {
      AbandonPrepared(taken == 0 ? EIO : -taken);
    }
  }
}

void QueueBatch::AbandonPrepared(int error) {
  LogError("{} refused {} requests: {} (errno {})", IoBackendName(backend()), prepared_.size(),
           std::strerror(error), error);
  broken_errno_ = error;
  for (const uint32_t slot : prepared_) requests_.Abandon(slot, Refused(error));
  prepared_.clear();
}

void QueueBatch::Reap(uint32_t count) {
  int error;
  do {
    error = queue_->Wait(count);
  } while (error == -EINTR || error == -EAGAIN);
  ROWAN_CHECK(error == 0);  // buffers are still with the kernel: there is no safe way to go on
  QueueAnswer answer;
  while (queue_->Take(&answer)) {
    const auto slot = static_cast<uint32_t>(answer.mark);
    --in_kernel_;
    if (requests_.Complete(slot, answer.result) == BatchRequests::Outcome::kFinished) continue;
    if (broken_errno_ == 0) {
      Prepare(slot);
    } else {
      requests_.Abandon(slot, Refused(broken_errno_));
    }
  }
}

Status QueueBatch::WaitAll() {
  requests_.RunDeferred();
  while (!requests_.AllFree()) {
    SubmitPrepared();
    if (in_kernel_ > 0) Reap(in_kernel_);
  }
  return requests_.TakeFailure();
}

}  // namespace

Result<std::unique_ptr<WriteBatch>> MakeQueueBatch(FileSystem* file_system, QueueKind kind,
                                                   uint32_t depth, std::string* refusal) {
  Result<std::unique_ptr<AsyncQueue>> queue = file_system->MakeQueue(kind, depth, refusal);
  if (!queue.ok()) return queue.status();
  return std::unique_ptr<WriteBatch>(
      std::make_unique<QueueBatch>(std::move(queue).value(), kind, depth));
}

}  // namespace rowan
