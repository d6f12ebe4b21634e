// SPDX-License-Identifier: GPL-2.0-only
// Stands in front of the functions by which threads meet. A thread that takes turns
// (Scheduler::Current) is simulated; every other one gets the system's own function.
//
// Mutexes and rwlocks keep their real state, which is only ever tried: who fails waits in the
// scheduler. Condition variables and futexes are nothing but addresses to wait at.
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <map>
#include <random>

#include "tests/simulation/real_calls.h"
#include "tests/simulation/scheduler.h"

namespace rowan::simulation {
namespace {

constexpr uint64_t kSecond = 1000000000;

uint64_t Nanos(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * kSecond + static_cast<uint64_t>(time.tv_nsec);
}

/// A deadline that has passed already is one nanosecond, because 0 means none.
uint64_t Deadline(const timespec* time) {
  return time == nullptr ? 0 : std::max<uint64_t>(1, Nanos(*time));
}

struct ThreadStart {
  Scheduler* scheduler;
  Scheduler::Thread* thread;
  void* (*body)(void*);
  void* argument;
};

/// Threads that were started and not joined yet.
std::map<pthread_t, Scheduler::Thread*>& Started() {
  static auto& started = *new std::map<pthread_t, Scheduler::Thread*>();
  return started;
}

void* RunThread(void* argument) {
  const ThreadStart* start = static_cast<ThreadStart*>(argument);
  start->scheduler->Enter(start->thread);
  const ThreadStart mine = *start;
  delete start;
  // The first thread-local object is destroyed last: after those of the program.
  static thread_local struct Leaver {
    Scheduler* scheduler = nullptr;
    Scheduler::Thread* thread = nullptr;
    ~Leaver() { scheduler->Leave(thread); }
  } leaver;
  leaver.scheduler = mine.scheduler;
  leaver.thread = mine.thread;
  return mine.body(mine.argument);
}

int WaitAtCondition(Scheduler* scheduler, pthread_cond_t* condition, pthread_mutex_t* mutex,
                    const timespec* deadline) {
  // Nobody runs between giving the mutex back and waiting, so no wake-up is lost.
  ROWAN_REAL(pthread_mutex_unlock)(mutex);
  scheduler->Wake(mutex, UINT32_MAX);
  const bool woken = scheduler->Wait(condition, Deadline(deadline));
  pthread_mutex_lock(mutex);
  return woken ? 0 : ETIMEDOUT;
}

template <typename Try>
int LockByTrying(Scheduler* scheduler, const void* address, Try attempt) {
  scheduler->Point();
  for (;;) {
    const int result = attempt();
    if (result != EBUSY) return result;
    scheduler->Wait(address, 0);
  }
}

long Futex(Scheduler* scheduler, uint32_t* word, int operation, uint32_t value,
           const timespec* time) {
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: {
      scheduler->Point();
      if (std::atomic_ref<uint32_t>(*word).load() != value) {
        errno = EAGAIN;
        return -1;
      }
      uint64_t deadline = Deadline(time);
      const bool relative = (operation & FUTEX_CMD_MASK) == FUTEX_WAIT;
      if (time != nullptr && relative) deadline += scheduler->Now();
      if (scheduler->Wait(word, deadline)) return 0;
      errno = ETIMEDOUT;
      return -1;
    }
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET: {
      const uint32_t woken = scheduler->Wake(word, value);
      scheduler->Point();
      return static_cast<long>(woken);
    }
    default: errno = ENOSYS; return -1;
  }
}

}  // namespace
}  // namespace rowan::simulation

using rowan::simulation::Deadline;
using rowan::simulation::LockByTrying;
using rowan::simulation::Scheduler;

// Seen by the C++ library as well.
#pragma GCC visibility push(default)

extern "C" {

// --- threads ---

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) {
  using rowan::simulation::ThreadStart;
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return ROWAN_REAL(pthread_create)(thread, attributes, body, argument);
  auto* start = new ThreadStart{scheduler, scheduler->Add(), body, argument};
  const int result =
      ROWAN_REAL(pthread_create)(thread, attributes, rowan::simulation::RunThread, start);
  if (result != 0) abort();
  rowan::simulation::Started()[*thread] = start->thread;
  scheduler->Point();
  return 0;
}

int pthread_join(pthread_t thread, void** result) {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler != nullptr) {
    auto& started = rowan::simulation::Started();
    const auto found = started.find(thread);
    scheduler->AwaitEnd(found->second);
    started.erase(thread);
  }
  return ROWAN_REAL(pthread_join)(thread, result);
}

// --- mutexes and rwlocks ---

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return ROWAN_REAL(pthread_mutex_lock)(mutex);
  return LockByTrying(scheduler, mutex, [&] { return ROWAN_REAL(pthread_mutex_trylock)(mutex); });
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  if (Scheduler* const scheduler = Scheduler::Current()) scheduler->Point();
  return ROWAN_REAL(pthread_mutex_trylock)(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  const int result = ROWAN_REAL(pthread_mutex_unlock)(mutex);
  if (Scheduler* const scheduler = Scheduler::Current()) scheduler->Wake(mutex, UINT32_MAX);
  return result;
}

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return ROWAN_REAL(pthread_rwlock_rdlock)(lock);
  return LockByTrying(scheduler, lock, [&] { return ROWAN_REAL(pthread_rwlock_tryrdlock)(lock); });
}

int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return ROWAN_REAL(pthread_rwlock_wrlock)(lock);
  return LockByTrying(scheduler, lock, [&] { return ROWAN_REAL(pthread_rwlock_trywrlock)(lock); });
}

int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  const int result = ROWAN_REAL(pthread_rwlock_unlock)(lock);
  if (Scheduler* const scheduler = Scheduler::Current()) scheduler->Wake(lock, UINT32_MAX);
  return result;
}

// --- condition variables ---

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return ROWAN_REAL(pthread_cond_wait)(condition, mutex);
  return rowan::simulation::WaitAtCondition(scheduler, condition, mutex, nullptr);
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* deadline) {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return ROWAN_REAL(pthread_cond_timedwait)(condition, mutex, deadline);
  return rowan::simulation::WaitAtCondition(scheduler, condition, mutex, deadline);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* deadline) {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) {
    return ROWAN_REAL(pthread_cond_clockwait)(condition, mutex, clock, deadline);
  }
  return rowan::simulation::WaitAtCondition(scheduler, condition, mutex, deadline);
}

int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return ROWAN_REAL(pthread_cond_signal)(condition);
  scheduler->Wake(condition, 1);
  scheduler->Point();
  return 0;
}

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return ROWAN_REAL(pthread_cond_broadcast)(condition);
  scheduler->Wake(condition, UINT32_MAX);
  scheduler->Point();
  return 0;
}

// --- futexes; every other system call passes ---

long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler != nullptr && number == SYS_futex) {
    return rowan::simulation::Futex(
        scheduler, reinterpret_cast<uint32_t*>(arguments[0]), static_cast<int>(arguments[1]),
        static_cast<uint32_t>(arguments[2]), reinterpret_cast<const timespec*>(arguments[3]));
  }
  return ROWAN_REAL(syscall)(number, arguments[0], arguments[1], arguments[2], arguments[3],
                             arguments[4], arguments[5]);
}

// --- time ---

int sched_yield() noexcept {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return ROWAN_REAL(sched_yield)();
  scheduler->Yield();
  return 0;
}

int nanosleep(const timespec* duration, timespec* left) {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return ROWAN_REAL(nanosleep)(duration, left);
  scheduler->SleepUntil(scheduler->Now() + rowan::simulation::Nanos(*duration));
  return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return ROWAN_REAL(clock_nanosleep)(clock, flags, time, left);
  const uint64_t start = (flags & TIMER_ABSTIME) != 0 ? 0 : scheduler->Now();
  scheduler->SleepUntil(start + Deadline(time));
  return 0;
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return ROWAN_REAL(clock_gettime)(clock, time);
  const uint64_t now = scheduler->Now();
  time->tv_sec = static_cast<time_t>(now / rowan::simulation::kSecond);
  time->tv_nsec = static_cast<long>(now % rowan::simulation::kSecond);
  return 0;
}

}  // extern "C"

/// Chance from the hardware would differ between runs.
unsigned std::random_device::_M_getval() {
  static std::atomic<unsigned> next{1};
  return next.fetch_add(1) * 0x9E3779B9u;
}

#pragma GCC visibility pop
