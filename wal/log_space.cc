// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log_space.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/assertions.h"
#include "base/atomic_max.h"
#include "base/counters.h"
#include "base/mutex.h"
#include "wal/commit_queue.h"
#include "wal/log_buffer.h"
#include "wal/log_file_set.h"

namespace rowan {
namespace {

/// The first waiter asks for relief again after this long: at first there may be nothing to free.
constexpr auto kAskAgainAfter = std::chrono::milliseconds(100);

}  // namespace

struct LogSpace::Waiter {
  Waiter* next = nullptr;
  bool look_again = false;
  Condition wake;
};

LogSpace::LogSpace(const LogBuffer* buffer, const CommitQueue* queue, const LogFileSet* files,
                   Hooks hooks)
    : buffer_(buffer), queue_(queue), files_(files), hooks_(std::move(hooks)) {}

void LogSpace::Start(Lsn checkpoint, uint64_t capacity_bytes) {
  checkpoint_.store(checkpoint, std::memory_order_release);
  capacity_.store(capacity_bytes, std::memory_order_release);
}

bool LogSpace::Fits(Lsn end) const {
  return end <= checkpoint_.load(std::memory_order_acquire) +
                    capacity_.load(std::memory_order_acquire) &&
         end <= files_->PreparedEnd() && end <= buffer_->EndOfRoom(queue_->durable());
}

bool LogSpace::CouldEverFit(uint32_t bytes) const {
  return bytes <= std::min(buffer_->size_bytes() - kLogBlockBytes,
                           capacity_.load(std::memory_order_acquire));
}

bool LogSpace::TryReserve(uint32_t bytes) {
  // Reserved is read before the tail. A holder appends first and then releases, so what it appended
  // is seen in at least one of the two.
  const uint64_t reserved = reserved_.fetch_add(bytes, std::memory_order_acq_rel) + bytes;
  ROWAN_DCHECK(reserved >= bytes);
  if (Fits(buffer_->tail() + reserved)) return true;
  reserved_.fetch_sub(bytes, std::memory_order_seq_cst);
  return false;
}

void LogSpace::Release(uint32_t bytes) {
  const uint64_t before = reserved_.fetch_sub(bytes, std::memory_order_seq_cst);
  ROWAN_DCHECK(before >= bytes);
  static_cast<void>(before);
  RoomFreed();
}

Status LogSpace::ReserveOrWait(uint32_t bytes) {
  if (stopped_.load(std::memory_order_acquire)) return Status(Code::kStopped);
  if (waiters_.load(std::memory_order_relaxed) == 0) {
    if (TryReserve(bytes)) return Status::Ok();
    RoomFreed();  // during the attempt another thread may have found too little
  }
  if (!CouldEverFit(bytes)) {
    return Status(Code::kTooBig, "more redo than log buffer or redo log capacity can hold");
  }
  AddCounter(Counter::kLogWaits);
  Waiter self;
  {
    const MutexLock lock(&mutex_);
    (last_ == nullptr ? first_ : last_->next) = &self;
    last_ = &self;
    // Counted before it checks the room: a thread that frees some afterwards sees that it must
    // wake.
    waiters_.fetch_add(1, std::memory_order_seq_cst);
    while (first_ != &self) self.wake.Wait(&mutex_);
  }
  const Status status = WaitFirst(&self, bytes);
  Leave(&self);
  return status;
}

Status LogSpace::WaitFirst(Waiter* self, uint32_t bytes) {
  for (;;) {
    if (stopped_.load(std::memory_order_seq_cst)) return Status(Code::kStopped);
    if (TryReserve(bytes)) return Status::Ok();
    if (!CouldEverFit(bytes)) {
      return Status(Code::kTooBig, "the redo log capacity was lowered below what is needed");
    }
    const Lsn end = buffer_->tail() + (reserved_.load(std::memory_order_relaxed) + bytes);
    const bool ring_full = end > buffer_->EndOfRoom(queue_->durable());
    if (ring_full && queue_->durable() < buffer_->tail()) {
      const Status status = hooks_.make_durable();
      if (!status.ok()) return status;
      continue;
    }
    Relieve(end);
    const auto ask_again_at = std::chrono::steady_clock::now() + kAskAgainAfter;
    const MutexLock lock(&mutex_);
    while (!self->look_again && self->wake.WaitUntil(&mutex_, ask_again_at)) {
    }
    self->look_again = false;
  }
}

void LogSpace::Relieve(Lsn end) {
  if (end > files_->PreparedEnd()) hooks_.prepare_files(end);
  const Lsn limit =
      checkpoint_.load(std::memory_order_acquire) + capacity_.load(std::memory_order_acquire);
  // Files that cannot be made, because the disk is full, come from recycling too.
  const bool files_short = end > files_->PreparedEnd();
  const MutexLock lock(&callback_mutex_);
  if ((end > limit || files_short) && pressure_callback_) pressure_callback_();
}

void LogSpace::Leave(Waiter* self) {
  const MutexLock lock(&mutex_);
  ROWAN_CHECK(first_ == self);
  ROWAN_DCHECK(waiters_.load(std::memory_order_relaxed) != 0);
  first_ = self->next;
  if (first_ == nullptr) last_ = nullptr;
  waiters_.fetch_sub(1, std::memory_order_seq_cst);
  if (first_ != nullptr) first_->wake.NotifyOne();
}

void LogSpace::WakeFirst() {
  const MutexLock lock(&mutex_);
  if (first_ == nullptr) return;
  first_->look_again = true;
  first_->wake.NotifyOne();
}

void LogSpace::Stop() {
  stopped_.store(true, std::memory_order_seq_cst);
  WakeFirst();
}

void LogSpace::SetCheckpoint(Lsn lsn) {
  ROWAN_DCHECK(lsn <= buffer_->tail());
  RaiseTo(&checkpoint_, lsn);
  RoomFreed();
}

void LogSpace::SetCapacity(uint64_t capacity_bytes) {
  capacity_.store(capacity_bytes, std::memory_order_seq_cst);
  RoomFreed();
}

void LogSpace::SetPressureCallback(std::function<void()> callback) {
  const MutexLock lock(&callback_mutex_);
  pressure_callback_ = std::move(callback);
}

bool LogSpace::RingIsHalfFull() const {
  return buffer_->tail() - queue_->durable() > buffer_->size_bytes() / 2;
}

}  // namespace rowan
