// SPDX-License-Identifier: GPL-2.0-only
// Least and greatest value of a setting. Defined next to the setting; used by the component's own
// check and by the code that exposes the setting to users.
#pragma once

namespace rowan {

template <typename T>
struct SettingLimits {
  T least;
  T greatest;

  [[nodiscard]] constexpr bool Allow(T value) const { return value >= least && value <= greatest; }
};

}  // namespace rowan
