// SPDX-License-Identifier: GPL-2.0-only
#include "io/resource_shortage.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "base/logging.h"

namespace rowan {
namespace {

/// As long as a session waits for a pool frame: by then a shortage is over, or the operator must
/// end it.
constexpr std::chrono::milliseconds kPatience{20'000};
constexpr std::chrono::milliseconds kPauseMax{100};
constexpr uint64_t kLogEveryMicros = 60'000'000;

}  // namespace

void LogShortage(std::string_view what, int error) {
  static std::atomic<uint64_t> logged_micros{0};
  const uint64_t now = MonotonicMicros();
  uint64_t last = logged_micros.load(std::memory_order_relaxed);
  if (last != 0 && now - last < kLogEveryMicros) return;
  if (!logged_micros.compare_exchange_strong(last, now, std::memory_order_relaxed)) return;
  LogWarning("{} has to wait: {} (errno {}). {}", what, std::strerror(error), error,
             error == EMFILE ? "Raise open_files_limit of the server."
                             : "The system is short of resources.");
}

bool IsResourceShortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN;
}

bool IsResourceShortage(const Status& status) {
  return status.Is(Code::kIoError) && IsResourceShortage(static_cast<int>(status.detail()));
}

bool ShortageWait::Again(int error) {
  const int errno_before = errno;
  LogShortage(what_, error);
  if (slept_ >= kPatience) {
    LogError("{} was given up after {} s: {} (errno {}).", what_, kPatience.count() / 1000,
             std::strerror(error), error);
    errno = errno_before;
    return false;
  }
  pause_ = std::min(kPauseMax, std::max(std::chrono::milliseconds(1), pause_ * 2));
  std::this_thread::sleep_for(pause_);
  slept_ += pause_;
  errno = errno_before;
  return true;
}

}  // namespace rowan
