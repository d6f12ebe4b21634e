// SPDX-License-Identifier: GPL-2.0-only
// The standard mutexes and condition variables with what they lack: annotations for Clang's
// thread-safety analysis, and a rank, which builds with ROWAN_DCHECK_ENABLED check
// (base/latch_rank.h). In other builds they cost what the standard ones do; the rank stays in the
// object so that its layout does not depend on the build.
//
// Wait on a Condition in a loop that tests the state: the analysis does not look into the lambdas
// that the standard ones take.
// Thread safety: as for the standard types.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#include "base/latch_rank.h"
#include "base/thread_annotations.h"

namespace rowan {

class ROWAN_CAPABILITY("mutex") Mutex {
 public:
  constexpr explicit Mutex(LatchRank rank) noexcept : rank_(rank) {}
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ROWAN_ACQUIRE() {
    NoteLatchWanted(rank_);
    mutex_.lock();
    NoteLatchTaken(rank_);
  }
  [[nodiscard]] bool TryLock() ROWAN_TRY_ACQUIRE(true) {
    if (!mutex_.try_lock()) return false;
    NoteLatchTaken(rank_);
    return true;
  }
  void Unlock() ROWAN_RELEASE() {
    NoteLatchReleased(rank_);
    mutex_.unlock();
  }
  void AssertHeld() const ROWAN_ASSERT_CAPABILITY(this) { CheckLatchHeld(rank_); }

 private:
  friend class Condition;

  std::mutex mutex_;
  const LatchRank rank_;
};

class ROWAN_CAPABILITY("shared mutex") SharedMutex {
 public:
  explicit SharedMutex(LatchRank rank) noexcept : rank_(rank) {}
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void LockExclusive() ROWAN_ACQUIRE() {
    NoteLatchWanted(rank_);
    mutex_.lock();
    NoteLatchTaken(rank_);
  }
  void UnlockExclusive() ROWAN_RELEASE() {
    NoteLatchReleased(rank_);
    mutex_.unlock();
  }
  void LockShared() ROWAN_ACQUIRE_SHARED() {
    NoteLatchWanted(rank_);
    mutex_.lock_shared();
    NoteLatchTaken(rank_);
  }
  [[nodiscard]] bool TryLockShared() ROWAN_TRY_ACQUIRE_SHARED(true) {
    if (!mutex_.try_lock_shared()) return false;
    NoteLatchTaken(rank_);
    return true;
  }
  void UnlockShared() ROWAN_RELEASE_SHARED() {
    NoteLatchReleased(rank_);
    mutex_.unlock_shared();
  }

 private:
  friend class SharedCondition;

  std::shared_mutex mutex_;
  const LatchRank rank_;
};

/// Holds a Mutex while it lives, except between Unlock and Lock.
class ROWAN_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ROWAN_ACQUIRE(mutex) : mutex_(mutex) { mutex_->Lock(); }
  ~MutexLock() ROWAN_RELEASE() {
    if (held_) mutex_->Unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Unlock() ROWAN_RELEASE() {
    held_ = false;
    mutex_->Unlock();
  }
  void Lock() ROWAN_ACQUIRE() {
    mutex_->Lock();
    held_ = true;
  }

 private:
  Mutex* const mutex_;
  bool held_ = true;
};

/// Holds a SharedMutex exclusively while it lives, except between Unlock and Lock.
class ROWAN_SCOPED_CAPABILITY ExclusiveLock {
 public:
  explicit ExclusiveLock(SharedMutex* mutex) ROWAN_ACQUIRE(mutex) : mutex_(mutex) {
    mutex_->LockExclusive();
  }
  ~ExclusiveLock() ROWAN_RELEASE() {
    if (held_) mutex_->UnlockExclusive();
  }
  ExclusiveLock(const ExclusiveLock&) = delete;
  ExclusiveLock& operator=(const ExclusiveLock&) = delete;

  void Unlock() ROWAN_RELEASE() {
    held_ = false;
    mutex_->UnlockExclusive();
  }
  void Lock() ROWAN_ACQUIRE() {
    mutex_->LockExclusive();
    held_ = true;
  }

 private:
  SharedMutex* const mutex_;
  bool held_ = true;
};

/// Holds a SharedMutex shared while it lives.
class ROWAN_SCOPED_CAPABILITY SharedLock {
 public:
  explicit SharedLock(SharedMutex* mutex) ROWAN_ACQUIRE_SHARED(mutex) : mutex_(mutex) {
    mutex_->LockShared();
  }
  ~SharedLock() ROWAN_RELEASE() { mutex_->UnlockShared(); }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

 private:
  SharedMutex* const mutex_;
};

/// For waiters that hold a Mutex. A wait may end without a notification. A waiting thread should
/// hold nothing else.
class Condition {
 public:
  void Wait(Mutex* mutex) ROWAN_REQUIRES(mutex) {
    const Released released(mutex->rank_);
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  /// False when the time is up.
  template <typename Rep, typename Period>
  bool WaitFor(Mutex* mutex, std::chrono::duration<Rep, Period> limit) ROWAN_REQUIRES(mutex) {
    return WaitUntil(mutex, std::chrono::steady_clock::now() + limit);
  }
  bool WaitUntil(Mutex* mutex, std::chrono::steady_clock::time_point end) ROWAN_REQUIRES(mutex) {
    const Released released(mutex->rank_);
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    const std::cv_status status = condition_.wait_until(lock, end);
    lock.release();
    return status == std::cv_status::no_timeout;
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  friend class SharedCondition;

  /// A wait releases the mutex and takes it again, in rank order.
  class Released {
   public:
    explicit Released(LatchRank rank) : rank_(rank) {
      NoteLatchReleased(rank_);
      NoteLatchWanted(rank_);
    }
    ~Released() { NoteLatchTaken(rank_); }
    Released(const Released&) = delete;
    Released& operator=(const Released&) = delete;

   private:
    const LatchRank rank_;
  };

  std::condition_variable condition_;
};

/// For waiters that hold a SharedMutex exclusively.
class SharedCondition {
 public:
  void Wait(SharedMutex* mutex) ROWAN_REQUIRES(mutex) {
    const Condition::Released released(mutex->rank_);
    condition_.wait(mutex->mutex_);
  }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable_any condition_;
};

}  // namespace rowan
