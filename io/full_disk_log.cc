// SPDX-License-Identifier: GPL-2.0-only
#include "io/full_disk_log.h"

#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/format.h"
#include "base/logging.h"

namespace rowan {
namespace {

constexpr uint64_t kTellEveryMicros = 60'000'000;
/// More files than this fail on the same disk: the whole record of them is dropped.
constexpr size_t kFilesMax = 256;

bool IsFullDisk(int error) { return error == ENOSPC || error == EDQUOT; }

}  // namespace

std::optional<uint64_t> FullDiskLog::Note(const std::string& path, int error, uint64_t now_micros) {
  const MutexLock lock(&mutex_);
  const auto found = told_.find(path);
  const bool again = found != told_.end() && found->second.error == error;
  if (again && now_micros - found->second.micros < kTellEveryMicros) {
    ++found->second.left_out;
    return std::nullopt;
  }
  const uint64_t left_out = again ? found->second.left_out : 0;
  if (found == told_.end() && told_.size() >= kFilesMax) told_.clear();
  told_[path] = {error, now_micros, 0};
  return left_out;
}

void LogFailedCall(const char* call, const std::string& path, uint64_t offset, int error) {
  static FullDiskLog& told = *new FullDiskLog();  // never destroyed: threads may fail at exit
  const int errno_before = errno;
  const std::optional<uint64_t> left_out =
      IsFullDisk(error) ? told.Note(path, error, MonotonicMicros()) : 0;
  if (left_out.has_value()) {
    std::string more;
    if (*left_out != 0) more = Format("; {} times more since the last message", *left_out);
    LogError("{} of file '{}' at offset {} failed: {} (errno {}){}", call, path, offset,
             std::strerror(error), error, more);
  }
  errno = errno_before;
}

}  // namespace rowan
