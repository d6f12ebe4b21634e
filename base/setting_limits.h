// SPDX-License-Identifier: GPL-2.0-only
// Least and greatest value of a setting. Stands beside the setting, and is used by the part's own
// check as well as by whoever offers the setting to users.
#pragma once

namespace rowan {

template <typename T>
struct SettingLimits {
  T least;
  T greatest;

  [[nodiscard]] constexpr bool Allow(T value) const { return value >= least && value <= greatest; }
};

}  // namespace rowan
