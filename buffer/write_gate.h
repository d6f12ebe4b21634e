// SPDX-License-Identifier: GPL-2.0-only
// WriteGate: many threads are inside while they write pages, one closes it to change how pages are
// written. Closing stops newcomers, so it waits only until those inside are done: they wait for I/O
// and the log, never for one that wants to enter. (std::shared_mutex lets new holders pass a
// waiting exclusive one, which overlapping writers could then starve.)
// A thread is inside once, or closes it. Thread safety: all members from any thread.
#pragma once

#include <cstdint>

#include "base/assertions.h"
#include "base/mutex.h"

namespace rowan {

class WriteGate {
 public:
  void Enter() {
    NoteLatchWanted(LatchRank::kWriteGate);
    {
      const MutexLock guard(&mutex_);
      while (closed_) opened_.Wait(&mutex_);
      ++inside_;
    }
    NoteLatchTaken(LatchRank::kWriteGate);
  }
  void Leave() {
    NoteLatchReleased(LatchRank::kWriteGate);
    {
      const MutexLock guard(&mutex_);
      ROWAN_DCHECK(inside_ != 0);
      --inside_;
    }
    left_.NotifyOne();
  }
  /// On return no thread is inside.
  void Close() {
    NoteLatchWanted(LatchRank::kWriteGate);
    {
      const MutexLock guard(&mutex_);
      while (closed_) opened_.Wait(&mutex_);
      closed_ = true;
      while (inside_ != 0) left_.Wait(&mutex_);
    }
    NoteLatchTaken(LatchRank::kWriteGate);
  }
  void Open() {
    NoteLatchReleased(LatchRank::kWriteGate);
    {
      const MutexLock guard(&mutex_);
      ROWAN_DCHECK(closed_ && inside_ == 0);
      closed_ = false;
    }
    opened_.NotifyAll();
  }
  /// A thread has closed it or waits for those inside to leave.
  [[nodiscard]] bool closed() {
    const MutexLock guard(&mutex_);
    return closed_;
  }
  [[nodiscard]] bool empty() {
    const MutexLock guard(&mutex_);
    return inside_ == 0;
  }

 private:
  Mutex mutex_{LatchRank::kWriteGateState};
  Condition opened_;
  Condition left_;
  uint32_t inside_ ROWAN_GUARDED_BY(mutex_) = 0;
  bool closed_ ROWAN_GUARDED_BY(mutex_) = false;
};

/// A thread's pass, which leaves when this ends. For one thread at a time.
class WriteGatePass {
 public:
  explicit WriteGatePass(WriteGate* gate) : gate_(gate) {}
  ~WriteGatePass() { Leave(); }
  WriteGatePass(const WriteGatePass&) = delete;
  WriteGatePass& operator=(const WriteGatePass&) = delete;

  /// No effect if already inside.
  void Enter() {
    if (inside_) return;
    gate_->Enter();
    inside_ = true;
  }
  void Leave() {
    if (!inside_) return;
    inside_ = false;
    gate_->Leave();
  }

 private:
  WriteGate* const gate_;
  bool inside_ = false;
};

/// Keeps it closed while this lives.
class ClosedWriteGate {
 public:
  explicit ClosedWriteGate(WriteGate* gate) : gate_(gate) { gate_->Close(); }
  ~ClosedWriteGate() { gate_->Open(); }
  ClosedWriteGate(const ClosedWriteGate&) = delete;
  ClosedWriteGate& operator=(const ClosedWriteGate&) = delete;

 private:
  WriteGate* const gate_;
};

}  // namespace rowan
