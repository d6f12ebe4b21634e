// SPDX-License-Identifier: GPL-2.0-only
// Feature masks: how a structure on disk states what a build must know to use it. They are in the
// control file and in the header of each log file and tablespace; a format version says which
// fields exist, the masks say which features are in use.
//   compatible            a build that does not know the bit may read and write
//   read-only compatible  it may read, and must not write
//   incompatible          it must not even read
// A bit is never reused. Thread safety: plain functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace rowan {

/// On disk, little-endian:
///   offset size
///   0      8    compatible
///   8      8    read-only compatible
///   16     8    incompatible
struct FormatFeatures {
  uint64_t compatible = 0;
  uint64_t read_only_compatible = 0;
  uint64_t incompatible = 0;

  /// All bits of `feature` are set.
  [[nodiscard]] bool Has(const FormatFeatures& feature) const;
  /// Sets or clears all bits of `feature`.
  void Set(const FormatFeatures& feature, bool in_use);

  bool operator==(const FormatFeatures&) const = default;
};
inline constexpr size_t kFormatFeaturesBytes = 24;
static_assert(sizeof(FormatFeatures) == kFormatFeaturesBytes);
static_assert(offsetof(FormatFeatures, read_only_compatible) == 8);
static_assert(offsetof(FormatFeatures, incompatible) == 16);

void StoreFeatures(std::byte* target, const FormatFeatures& features);
[[nodiscard]] FormatFeatures LoadFeatures(const std::byte* source);

/// kNewerFormat, with a sentence in the log that names `file` and the bits, when this build, which
/// knows the bits in `known`, must not write the structure. Even a read-only instance is opened for
/// writing, in memory, so an unknown read-only compatible bit is refused as well.
Status CheckFeatures(const FormatFeatures& features, const FormatFeatures& known,
                     std::string_view file);

}  // namespace rowan
