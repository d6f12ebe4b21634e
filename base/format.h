// SPDX-License-Identifier: GPL-2.0-only
// Text formatting with fmt's format strings, checked at compile time. The formatting itself is
// compiled once (base/format.cc): including this costs a tenth of including fmt/format.h.
// Thread-safe.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>

namespace rowan {

/// Not for callers: Format packs its arguments for it.
std::string FormatArguments(fmt::string_view format, fmt::format_args arguments);

template <typename... Args>
[[nodiscard]] std::string Format(fmt::format_string<Args...> format, Args&&... args) {
  return FormatArguments(format, fmt::make_format_args(args...));
}

}  // namespace rowan
