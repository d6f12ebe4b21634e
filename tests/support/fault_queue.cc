// SPDX-License-Identifier: GPL-2.0-only
#include "tests/support/fault_queue.h"

#include <algorithm>
#include <cerrno>

#include "base/assertions.h"

namespace rowan {
namespace {

constexpr uint32_t kSectorBytes = 4096;

int64_t AnswerOf(const Status& status, uint32_t size_bytes) {
  if (status.ok()) return size_bytes;
  return -static_cast<int64_t>(status.detail());  // 0: the end of the file
}

/// What a transfer that is cut short moves. Direct ones end at a sector; whether one is direct
/// shows only in its size.
uint32_t ShortOf(uint32_t size_bytes) {
  const uint32_t half = size_bytes / 2;
  return size_bytes % kSectorBytes == 0 ? half / kSectorBytes * kSectorBytes : half;
}

}  // namespace

FaultQueue::~FaultQueue() {
  // Whoever gives up a queue has waited: its buffers may be gone.
  ROWAN_CHECK(taken_.empty());
}

size_t FaultQueue::Unanswered() const {
  size_t count = prepared_.size() + answers_.size();
  for (const Chain& chain : taken_) count += chain.size();
  return count;
}

void FaultQueue::Prepare(const QueueRequest& request) {
  ROWAN_CHECK(Unanswered() < entries_);
  ROWAN_CHECK(!request.linked || kind_ == QueueKind::kUring);
  prepared_.push_back(request);
}

int FaultQueue::RefuseSubmit() {
  QueueFaults& faults = *below_.faults;
  refuses_ = refuses_ || faults.Happens(QueueFault::kSubmitRefused);
  if (refuses_) return -EPERM;
  if (faults.Happens(QueueFault::kSubmitInterrupted)) return -EINTR;
  if (faults.Happens(QueueFault::kSubmitAgain)) return -EAGAIN;
  if (faults.Happens(QueueFault::kSubmitNoMemory)) return -ENOMEM;
  if (kind_ == QueueKind::kUring && faults.Happens(QueueFault::kSubmitBusy)) return -EBUSY;
  return 0;
}

int FaultQueue::Submit() {
  if (prepared_.empty()) return 0;
  if (const int refusal = RefuseSubmit(); refusal != 0) return refusal;
  size_t count = prepared_.size();
  if (count > 1 && below_.faults->Happens(QueueFault::kPartialSubmit)) {
    count = 1 + random_.Below(count - 1);
  }
  bool linked = false;
  for (size_t i = 0; i < count; ++i) {
    if (!linked) taken_.emplace_back();
    taken_.back().push_back(prepared_.front());
    linked = prepared_.front().linked;
    prepared_.pop_front();
  }
  for (uint64_t at_once = random_.Below(taken_.size() + 1); at_once > 0; --at_once) RunOneChain();
  return static_cast<int>(count);
}

int FaultQueue::SubmitAndWait(uint32_t answers) {
  const int taken = Submit();
  if (taken > 0 && prepared_.empty()) (void)Wait(answers);
  return taken;
}

int FaultQueue::Wait(uint32_t answers) {
  if (below_.faults->Happens(QueueFault::kWaitInterrupted)) return -EINTR;
  const uint32_t wanted = kind_ == QueueKind::kUring ? answers : 1;
  while (answers_.size() < wanted) {
    ROWAN_CHECK(!taken_.empty());  // it would wait for ever
    RunOneChain();
  }
  return 0;
}

bool FaultQueue::Take(QueueAnswer* answer) {
  if (answers_.empty()) return false;
  const bool shuffled = answers_.size() > 1 && below_.faults->Happens(QueueFault::kAnswerShuffled);
  const size_t chosen = shuffled ? random_.Below(answers_.size()) : 0;
  *answer = answers_[chosen];
  answers_.erase(answers_.begin() + static_cast<ptrdiff_t>(chosen));
  return true;
}

void FaultQueue::RunOneChain() {
  const bool shuffled = taken_.size() > 1 && below_.faults->Happens(QueueFault::kOutOfOrder);
  const size_t chosen = shuffled ? 1 + random_.Below(taken_.size() - 1) : 0;
  const Chain chain = std::move(taken_[chosen]);
  taken_.erase(taken_.begin() + static_cast<ptrdiff_t>(chosen));
  bool cut = false;
  for (const QueueRequest& request : chain) {
    const int64_t answer = cut ? -ECANCELED : Run(request, chain.size() > 1);
    cut = cut || (request.linked && answer != request.size_bytes);
    answers_.push_back({request.mark, answer});
  }
  if (chain.size() > 1) CountQueueFault(QueueFault::kLinkCut, cut);
}

int64_t FaultQueue::Run(const QueueRequest& request, bool in_chain) {
  QueueFaults& faults = *below_.faults;
  if (request.kind == QueueRequest::Kind::kSyncData) {
    if (in_chain && faults.Happens(QueueFault::kSyncCancelled)) return -ECANCELED;
    return Transfer(request, 0);
  }
  if (faults.Happens(QueueFault::kAnswerInterrupted)) return -EINTR;
  if (faults.Happens(QueueFault::kAnswerAgain)) return -EAGAIN;
  if (faults.Happens(QueueFault::kAnswerNoMemory)) return -ENOMEM;
  if (faults.Happens(QueueFault::kAnswerFailed)) return -EIO;
  // An untorn write is done or not.
  const uint32_t shortened = request.write_flags == 0 ? ShortOf(request.size_bytes) : 0;
  if (shortened != 0 && faults.Happens(QueueFault::kShortTransfer)) {
    return Transfer(request, shortened);
  }
  return Transfer(request, request.size_bytes);
}

int64_t FaultQueue::Transfer(const QueueRequest& request, uint32_t size_bytes) {
  File* const file = below_.descriptors->Find(request.descriptor);
  ROWAN_CHECK(file != nullptr);  // closed with a request under way
  switch (request.kind) {
    case QueueRequest::Kind::kRead:
      return AnswerOf(file->Read(request.offset, {request.data, size_bytes}), size_bytes);
    case QueueRequest::Kind::kWrite:
      return AnswerOf(file->Write(request.offset, {request.data, size_bytes}), size_bytes);
    case QueueRequest::Kind::kSyncData: break;
  }
  return AnswerOf(file->Sync(SyncMethod::kFdatasync), 0);
}

}  // namespace rowan
