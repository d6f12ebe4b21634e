// SPDX-License-Identifier: GPL-2.0-only
#include "storage/upgrade.h"

#include "base/logging.h"
#include "space/space_format.h"

namespace rowan {

Status CheckFormatsBeforeRedo(SpaceFiles* files, const std::unordered_set<SpaceId>& spaces) {
  for (const SpaceId space : {kSystemSpace, kUndoSpace}) {
    const Status status = CheckSpaceFormatOnDisk(files, space);
    if (!status.ok()) return status;
  }
  for (const SpaceId space : spaces) {
    const Status status = CheckSpaceFormatOnDisk(files, space);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status UpgradeInstance(ControlFile* control, const std::string& folder) {
  const uint32_t before = control->data().format_version;
  if (before >= kFormatVersion) return Status::Ok();
  // Both slots: an instance must not revert to the old format when one of them rots.
  const Status status =
      control->UpdateBothSlots([](ControlData& data) { data.format_version = kFormatVersion; });
  if (!status.ok()) return status;
  LogInfo(
      "The Rowan instance in '{}' was upgraded from format {} to format {}; older versions of "
      "Rowan refuse it from now on.",
      folder, before, kFormatVersion);
  return status;
}

}  // namespace rowan
