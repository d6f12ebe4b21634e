// SPDX-License-Identifier: GPL-2.0-only
// Settings of purge and their limits. Plain data.
#pragma once

#include <cstdint>

#include "base/setting_limits.h"

namespace rowan {

inline constexpr SettingLimits<uint32_t> kPurgeWorkersLimits{1, 32};

struct PurgeOptions {
  /// Below the limit; 0: tests drive purge themselves. Two, because one cannot keep up where more
  /// sessions write than there are processors.
  uint32_t workers = 2;
};

}  // namespace rowan
