// SPDX-License-Identifier: GPL-2.0-only
// One kernel context per batch. On files without direct I/O libaio works but waits inside submit.
#include "io/aio_batch.h"

#include <libaio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/format.h"
#include "base/logging.h"
#include "io/batch_requests.h"
#include "io/resource_shortage.h"

namespace rowan {
namespace {

/// Requests per io_submit, and most completions per io_getevents.
constexpr uint32_t kSubmitGroup = 8;
constexpr size_t kReapMax = 32;

class AioBatch final : public WriteBatch {
 public:
  explicit AioBatch(uint32_t depth) : depth_(depth), requests_(depth), blocks_(depth) {}
  ~AioBatch() override {
    if (context_ == nullptr) return;
    WaitAll().Ignore();  // nobody is left to hear of it; buffers must not be in use any more
    io_destroy(context_);
  }

  /// 0 or the errno that says why the kernel refuses.
  int Initialise() {
    prepared_.reserve(depth_);
    return -io_setup(static_cast<int>(depth_), &context_);
  }

  Status Submit(File* file, uint64_t offset, Bytes bytes) override {
    return Queue({file, offset, const_cast<std::byte*>(bytes.data()), bytes.size(), true});
  }
  Status SubmitRead(File* file, uint64_t offset, MutableBytes buffer) override {
    return Queue({file, offset, buffer.data(), buffer.size(), false});
  }
  void Send() override { SubmitPrepared(); }
  Status WaitAll() override;
  [[nodiscard]] IoBackend backend() const override { return IoBackend::kLibaio; }

 private:
  Status Queue(const BatchRequest& request);
  void Prepare(uint32_t slot);
  void SubmitPrepared();
  void ReapSome();
  void AbandonFirstPrepared(int error);

  const uint32_t depth_;
  BatchRequests requests_;
  std::vector<iocb> blocks_;       // one per slot
  std::vector<iocb*> prepared_;    // not yet with the kernel
  io_context_t context_ = nullptr;
  uint32_t in_kernel_ = 0;
  ShortageWait wait_{"A libaio request"};
};

Status AioBatch::Queue(const BatchRequest& request) {
  if (request.file->descriptor() < 0) {
    requests_.Defer(request);
    return Status::Ok();
  }
  while (!requests_.HasFreeSlot()) {
    SubmitPrepared();
    if (in_kernel_ > 0) ReapSome();
  }
  Prepare(requests_.Take(request));
  if (prepared_.size() >= kSubmitGroup) SubmitPrepared();
  return Status::Ok();
}

void AioBatch::Prepare(uint32_t slot) {
  const BatchRequest& request = requests_.at(slot);
  iocb& block = blocks_[slot];
  const int descriptor = request.file->descriptor();
  const auto offset = static_cast<long long>(request.offset);
  if (request.write) {
    io_prep_pwrite(&block, descriptor, request.data, request.NextBytes(), offset);
    block.aio_rw_flags = request.file->write_flags();
  } else {
    io_prep_pread(&block, descriptor, request.data, request.NextBytes(), offset);
  }
  block.data = reinterpret_cast<void*>(uintptr_t{slot});
  prepared_.push_back(&block);
}

void AioBatch::SubmitPrepared() {
  while (!prepared_.empty()) {
    const int taken = io_submit(context_, static_cast<long>(prepared_.size()), prepared_.data());
    if (taken > 0) {
      in_kernel_ += static_cast<uint32_t>(taken);
      prepared_.erase(prepared_.begin(), prepared_.begin() + taken);
      wait_.Reset();
    } else if (taken == -EINTR) {
      continue;
    } else if ((taken == 0 || taken == -EAGAIN) && in_kernel_ > 0) {
      ReapSome();  // short of resources: room comes back with completions
    } else if (IsResourceShortage(-taken) && wait_.Again(-taken)) {
      continue;
    } else {
      AbandonFirstPrepared(taken == 0 ? EIO : -taken);
    }
  }
}

/// io_submit refuses because of the first request in the list, and only says so when it is first.
void AioBatch::AbandonFirstPrepared(int error) {
  const auto slot = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(prepared_.front()->data));
  prepared_.erase(prepared_.begin());
  // -EAGAIN would mean "again" to Complete; without anything in flight it would never end.
  if (error == EAGAIN) error = EIO;
  requests_.Complete(slot, -error);
}

void AioBatch::ReapSome() {
  std::array<io_event, kReapMax> events;
  int count;
  do {
    count = io_getevents(context_, 1, events.size(), events.data(), nullptr);
  } while (count == -EINTR);
  ROWAN_CHECK(count > 0);  // buffers are still with the kernel: there is no safe way to go on
  for (int i = 0; i < count; ++i) {
    const io_event& event = events[static_cast<size_t>(i)];
    const auto slot = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(event.data));
    --in_kernel_;
    const auto answer = static_cast<int64_t>(event.res);
    if (requests_.Complete(slot, answer) == BatchRequests::Outcome::kContinue) Prepare(slot);
  }
}

Status AioBatch::WaitAll() {
  requests_.RunDeferred();
  while (!requests_.AllFree()) {
    SubmitPrepared();
    if (in_kernel_ > 0) ReapSome();
  }
  return requests_.TakeFailure();
}

const char* Explain(int error) {
  switch (error) {
    case EAGAIN: return "the system-wide limit fs.aio-max-nr is reached";
    case EPERM: return "the system forbids it";
    case ENOSYS: return "the kernel does not have it";
    default: return std::strerror(error);
  }
}

}  // namespace

Result<std::unique_ptr<WriteBatch>> MakeAioBatch(uint32_t depth, std::string* refusal) {
  auto batch = std::make_unique<AioBatch>(depth);
  const int error = batch->Initialise();
  if (error != 0) {
    *refusal = Format("libaio is not usable: {} (errno {})", Explain(error), error);
    return Status(Code::kUnsupported, "libaio is not usable here", static_cast<uint32_t>(error));
  }
  return std::unique_ptr<WriteBatch>(std::move(batch));
}

}  // namespace rowan
