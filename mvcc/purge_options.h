// SPDX-License-Identifier: GPL-2.0-only
// Settings of purge and their limits. Plain data.
#pragma once

#include <cstdint>

#include "base/setting_limits.h"

namespace rowan {

inline constexpr SettingLimits<uint32_t> kPurgeWorkersLimits{1, 32};

struct PurgeOptions {
  uint32_t workers = 1;  ///< below the limit, 0: tests drive purge themselves
};

}  // namespace rowan
