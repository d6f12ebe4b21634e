// SPDX-License-Identifier: GPL-2.0-only
// How startup treats formats: it refuses those of a newer build before anything is written, then
// upgrades an older instance to this build's format. The owner of each format reads its older
// versions. Thread safety: one thread, before anything else runs.
#pragma once

#include <string>
#include <unordered_set>

#include "base/ids.h"
#include "base/status.h"
#include "io/space_files.h"
#include "wal/control_file.h"

namespace rowan {

/// kNewerFormat when this build must not write to one of `spaces`, to the system space or the undo
/// space. `spaces`: those that redo will write to; any other is checked when it is opened.
Status CheckFormatsBeforeRedo(SpaceFiles* files, const std::unordered_set<SpaceId>& spaces);

/// Durably gives the instance in `folder` this build's format version, if it has an older one.
/// Older builds refuse it from then on, so this comes after every check that may refuse the start,
/// and before anything is written in the new format.
Status UpgradeInstance(ControlFile* control, const std::string& folder);

}  // namespace rowan
