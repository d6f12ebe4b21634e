// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log_file_preparer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/atomic_max.h"
#include "base/logging.h"
#include "io/resource_shortage.h"

namespace rowan {
namespace {

/// Also how often a full disk is retried.
constexpr auto kPrepareTick = std::chrono::milliseconds(1000);
/// Files are kept ready this far ahead, two of them at least.
constexpr uint64_t kAheadBytesMin = uint64_t{1} << 20;
constexpr uint64_t kAheadFiles = 2;

}  // namespace

LogFilePreparer::LogFilePreparer(Parts parts,
                                 std::function<void(const char* what, Status status)> fail)
    : parts_(parts),
      fail_(std::move(fail)),
      tail_file_end_(parts.files->PlaceOf(parts.buffer->tail()).end),
      thread_("log-files", kPrepareTick, [this] { return Step(); }) {}

void LogFilePreparer::WantUpTo(Lsn end) {
  RaiseTo(&wanted_end_, end);
  thread_.Wake();
}

void LogFilePreparer::NoteDurable(Lsn position) {
  if (position < tail_file_end_.load(std::memory_order_relaxed)) return;
  tail_file_end_.store(parts_.files->PlaceOf(position).end, std::memory_order_relaxed);
  thread_.Wake();
}

Lsn LogFilePreparer::SafeLsn() const {
  // The byte before the checkpoint stays: LogReader needs its file even when it ends there.
  return std::min(parts_.space->checkpoint(), parts_.queue->durable()) - 1;
}

ThreadLoop::Next LogFilePreparer::HandleFullDisk(Lsn safe) {
  // Readers of the log go before writers have to wait.
  if (parts_.files->holds().GiveUpBelow(safe)) return ThreadLoop::Next::kAgain;
  if (!std::exchange(out_of_space_, true)) {
    LogWarning("The disk is full: no new redo log file in '{}'; writers wait for old ones",
               parts_.files->folder());
  }
  return ThreadLoop::Next::kWait;
}

ThreadLoop::Next LogFilePreparer::Step() {
  if (parts_.stopped->load(std::memory_order_acquire)) return ThreadLoop::Next::kWait;
  const uint64_t ahead = std::max(kAheadBytesMin, kAheadFiles * parts_.files->NextFileBytes());
  const Lsn tail = parts_.buffer->tail();
  const LogFileSet::Aim aim{
      .safe = SafeLsn(),
      .tail = tail,
      .wanted_end = std::max(tail + ahead, wanted_end_.load(std::memory_order_relaxed))};
  const Result<bool> step = parts_.files->Step(aim);
  if (step.status().Is(Code::kNoSpace)) return HandleFullDisk(aim.safe);
  if (IsResourceShortage(step.status())) {
    LogShortage("Preparing a redo log file", static_cast<int>(step.status().detail()));
    return ThreadLoop::Next::kWait;
  }
  if (!step.ok()) {
    fail_("a log file cannot be prepared", step.status());
    return ThreadLoop::Next::kWait;
  }
  out_of_space_ = false;
  parts_.space->RoomFreed();
  const Status opened = parts_.writer->OpenAhead();
  if (IsResourceShortage(opened)) {
    LogShortage("Opening a redo log file", static_cast<int>(opened.detail()));
  }
  return step.value() ? ThreadLoop::Next::kAgain : ThreadLoop::Next::kWait;
}

}  // namespace rowan
