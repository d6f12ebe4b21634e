// SPDX-License-Identifier: GPL-2.0-only
#include "base/logging.h"

#define FMT_HEADER_ONLY 1
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>

#include <cstdio>
#include <memory>
#include <mutex>
#include <utility>

namespace rowan {
namespace {

LogLevel FromSpdlog(spdlog::level::level_enum level) {
  if (level <= spdlog::level::debug) return LogLevel::kDebug;
  if (level == spdlog::level::info) return LogLevel::kInfo;
  return level == spdlog::level::warn ? LogLevel::kWarning : LogLevel::kError;
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::err;
}

/// Hands the message to the callback, or prints it to stderr with a time stamp.
class CallbackSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  void Replace(LogSink callback) {
    std::lock_guard lock(mutex_);
    callback_ = std::move(callback);
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (callback_) {
      callback_(FromSpdlog(message.level),
                std::string_view(message.payload.data(), message.payload.size()));
      return;
    }
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
  void flush_() override { std::fflush(stderr); }

 private:
  LogSink callback_;  // guarded by base_sink's mutex_
};

struct Facade {
  std::shared_ptr<CallbackSink> sink = std::make_shared<CallbackSink>();
  spdlog::logger logger{"rowan", sink};

  Facade() { logger.set_pattern("%Y-%m-%dT%H:%M:%S.%f [%l] %n: %v"); }
};

/// Never destroyed: threads may log while the process exits.
Facade& TheFacade() {
  static Facade& facade = *new Facade();
  return facade;
}

}  // namespace

void SetLogSink(LogSink sink) { TheFacade().sink->Replace(std::move(sink)); }

void SetLogLevel(LogLevel level) { TheFacade().logger.set_level(ToSpdlog(level)); }

void LogMessage(LogLevel level, std::string_view message) {
  TheFacade().logger.log(ToSpdlog(level), spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace rowan
