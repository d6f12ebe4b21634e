// SPDX-License-Identifier: GPL-2.0-only
// Whether this build can use a tablespace, judged by the version and features in its header page.
// Thread safety: the caller latches the page or passes a copy.
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

/// REQUIRES: a page whose checksum is correct. kCorrupt when it is not a header page; kNewerFormat.
/// Both log a sentence that names `path`.
Status CheckSpaceFormat(Bytes page, const std::string& path);

/// The same for the header page on disk, before a pool is open. Ok when it is missing or damaged:
/// repair or redo may restore it.
Status CheckSpaceFormatOnDisk(SpaceFiles* files, SpaceId space);

}  // namespace rowan
