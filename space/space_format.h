// SPDX-License-Identifier: GPL-2.0-only
// Whether this build can use a tablespace, by the version and the features in its header page.
// Thread safety: the page is latched by the caller, or a copy.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/format_features.h"
#include "base/status.h"
#include "io/space_files.h"

namespace rowan {

/// Rows may have partially changed off-page values (space/off_page_value.h).
inline constexpr FormatFeatures kChangedValuesFeature{.incompatible = 1};
/// Features of tablespaces that this build knows.
inline constexpr FormatFeatures kSpaceFeatures{.incompatible = kChangedValuesFeature.incompatible};

/// For a header page whose checksum is correct. kCorrupt when it is not one; kNewerFormat. Both
/// with a sentence in the log that names `path`.
Status CheckSpaceFormat(Bytes page, const std::string& path);

/// The same for the header page as it is on disk, before a pool is open. Ok when it is missing or
/// damaged: repair or redo may restore it.
Status CheckSpaceFormatOnDisk(SpaceFiles* files, SpaceId space);

}  // namespace rowan
