// SPDX-License-Identifier: GPL-2.0-only
// On files without direct I/O libaio works but waits inside submit.
#include <libaio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/assertions.h"
#include "base/format.h"
#include "io/kernel_queue.h"
#include "io/resource_shortage.h"

namespace rowan {
namespace {

/// Most answers fetched by one system call.
constexpr long kAnswersMax = 32;

class AioQueue final : public AsyncQueue {
 public:
  explicit AioQueue(uint32_t entries) : blocks_(entries) {
    prepared_.reserve(entries);
    answers_.reserve(entries);
  }
  ~AioQueue() override {
    if (context_ != nullptr) io_destroy(context_);
  }
  /// 0 or the errno that says why the kernel refuses.
  int Initialise() { return -io_setup(static_cast<int>(blocks_.size()), &context_); }

  void Prepare(const QueueRequest& request) override;
  int Submit() override;
  int SubmitAndWait(uint32_t answers) override;
  int Wait(uint32_t answers) override;
  bool Take(QueueAnswer* answer) override;

 private:
  static uint64_t MarkOf(const void* data) { return reinterpret_cast<uintptr_t>(data); }

  std::vector<iocb> blocks_;          // by mark
  std::vector<iocb*> prepared_;       // not yet with the kernel
  std::vector<QueueAnswer> answers_;  // not taken yet
  io_context_t context_ = nullptr;
};

void AioQueue::Prepare(const QueueRequest& request) {
  ROWAN_CHECK(!request.linked);
  iocb& block = blocks_.at(request.mark);
  const auto offset = static_cast<long long>(request.offset);
  switch (request.kind) {
    case QueueRequest::Kind::kWrite:
      io_prep_pwrite(&block, request.descriptor, request.data, request.size_bytes, offset);
      block.aio_rw_flags = request.write_flags;
      break;
    case QueueRequest::Kind::kRead:
      io_prep_pread(&block, request.descriptor, request.data, request.size_bytes, offset);
      break;
    case QueueRequest::Kind::kSyncData: io_prep_fdsync(&block, request.descriptor); break;
  }
  block.data = reinterpret_cast<void*>(uintptr_t{request.mark});
  prepared_.push_back(&block);
}

int AioQueue::Submit() {
  if (prepared_.empty()) return 0;
  int taken = io_submit(context_, static_cast<long>(prepared_.size()), prepared_.data());
  if (taken < 0 && taken != -EINTR && !IsResourceShortage(-taken)) {
    // The error concerns the first request, so only that one gets it.
    answers_.push_back({MarkOf(prepared_.front()->data), taken});
    taken = 1;
  }
  if (taken > 0) prepared_.erase(prepared_.begin(), prepared_.begin() + taken);
  return taken;
}

int AioQueue::SubmitAndWait(uint32_t answers) {
  const int taken = Submit();
  if (taken > 0 && prepared_.empty()) (void)Wait(answers);
  return taken;
}

int AioQueue::Wait(uint32_t answers) {
  if (!answers_.empty()) return 0;
  std::array<io_event, kAnswersMax> events;
  const long count = std::min<long>(answers, kAnswersMax);
  const int fetched = io_getevents(context_, count, kAnswersMax, events.data(), nullptr);
  for (int i = 0; i < fetched; ++i) {
    const io_event& event = events.at(static_cast<size_t>(i));
    answers_.push_back({MarkOf(event.data), static_cast<int64_t>(event.res)});
  }
  return std::min(fetched, 0);
}

bool AioQueue::Take(QueueAnswer* answer) {
  if (answers_.empty()) return false;
  *answer = answers_.back();
  answers_.pop_back();
  return true;
}

const char* ExplainAioRefusal(int error) {
  switch (error) {
    case EAGAIN: return "the system-wide limit fs.aio-max-nr is reached";
    case EPERM: return "the system forbids it";
    case ENOSYS: return "the kernel does not have it";
    default: return std::strerror(error);
  }
}

}  // namespace

Result<std::unique_ptr<AsyncQueue>> MakeAioQueue(uint32_t entries, std::string* refusal) {
  auto queue = std::make_unique<AioQueue>(entries);
  const int error = queue->Initialise();
  if (error != 0) {
    *refusal = Format("libaio is not usable: {} (errno {})", ExplainAioRefusal(error), error);
    return Status(Code::kUnsupported, "libaio is not usable here", static_cast<uint32_t>(error));
  }
  return std::unique_ptr<AsyncQueue>(std::move(queue));
}

}  // namespace rowan
