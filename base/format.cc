// SPDX-License-Identifier: GPL-2.0-only
#define FMT_HEADER_ONLY 1
#include <fmt/format.h>

#include "base/format.h"

namespace rowan {

std::string FormatArguments(fmt::string_view format, fmt::format_args arguments) {
  return fmt::vformat(format, arguments);
}

}  // namespace rowan
