// SPDX-License-Identifier: GPL-2.0-only
// The numbers by which simulated queues know simulated files. They are no descriptors of the
// process, and none is used twice. Thread safety: all members from any thread.
#pragma once

#include <map>
#include <mutex>

#include "io/file.h"

namespace rowan {

class DescriptorTable {
 public:
  int Add(File* file) {
    std::lock_guard lock(mutex_);
    files_[next_] = file;
    return next_++;
  }
  void Remove(int descriptor) {
    std::lock_guard lock(mutex_);
    files_.erase(descriptor);
  }
  /// Null: closed.
  [[nodiscard]] File* Find(int descriptor) {
    std::lock_guard lock(mutex_);
    const auto found = files_.find(descriptor);
    return found == files_.end() ? nullptr : found->second;
  }

 private:
  /// More than a process ever has open.
  static constexpr int kFirst = 1 << 28;

  std::mutex mutex_;
  int next_ = kFirst;           // guarded by mutex_
  std::map<int, File*> files_;  // guarded by mutex_
};

}  // namespace rowan
