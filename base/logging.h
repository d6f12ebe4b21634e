// SPDX-License-Identifier: GPL-2.0-only
// The only place that uses spdlog. Layers log sentences that an operator can act on; the plugin
// directs them to the server's error log with SetLogSink, tools and tests use stderr. Thread-safe.
#pragma once

#include <functional>
#include <string_view>

#include "base/format.h"

namespace rowan {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Receives each finished message, without newline. Called under the logger's own mutex.
using LogSink = std::function<void(LogLevel, std::string_view message)>;

/// Replaces the sink (stderr by default). An empty function restores the default.
void SetLogSink(LogSink sink);
void SetLogLevel(LogLevel level);

/// Writes one finished message.
void LogMessage(LogLevel level, std::string_view message);

template <typename... Args>
void LogInfo(fmt::format_string<Args...> format, Args&&... args) {
  LogMessage(LogLevel::kInfo, Format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void LogWarning(fmt::format_string<Args...> format, Args&&... args) {
  LogMessage(LogLevel::kWarning, Format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void LogError(fmt::format_string<Args...> format, Args&&... args) {
  LogMessage(LogLevel::kError, Format(format, std::forward<Args>(args)...));
}

}  // namespace rowan
