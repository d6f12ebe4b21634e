// SPDX-License-Identifier: GPL-2.0-only
// LogCapture: collects what is logged while it lives, so that a test can tell whether an error
// named file and page. Nothing reaches stderr meanwhile. One at a time. Thread-safe.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "base/logging.h"

namespace rowan {

class LogCapture {
 public:
  LogCapture() {
    SetLogSink([this](LogLevel, std::string_view message) {
      const std::lock_guard lock(mutex_);
      text_.append(message).append("\n");
    });
  }
  ~LogCapture() { SetLogSink({}); }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  [[nodiscard]] std::string Text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  [[nodiscard]] bool Has(std::string_view part) const {
    return Text().find(part) != std::string::npos;
  }
  void Clear() {
    const std::lock_guard lock(mutex_);
    text_.clear();
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;  // guarded by mutex_
};

}  // namespace rowan
