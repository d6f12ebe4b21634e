// SPDX-License-Identifier: GPL-2.0-only
#include "storage/upgrade.h"

#include "base/logging.h"
#include "space/space_format.h"

namespace rowan {

Status CheckFormatsBeforeRedo(SpaceFiles* files, const std::unordered_set<SpaceId>& spaces) {
  Status status;
  for (const SpaceId space : {kSystemSpace, kUndoSpace}) {
    if (status.ok()) status = CheckSpaceFormatOnDisk(files, space);
  }
  for (const SpaceId space : spaces) {
    if (status.ok()) status = CheckSpaceFormatOnDisk(files, space);
  }
  return status;
}

Status UpgradeInstance(ControlFile* control, const std::string& folder) {
  const uint32_t before = control->data().format_version;
  if (before >= kFormatVersion) return Status::Ok();
  // Both slots: an instance does not become an old one again when one of them rots.
  const Status status =
      control->UpdateBothSlots([](ControlData& data) { data.format_version = kFormatVersion; });
  if (!status.ok()) return status;
  LogInfo("The Rowan instance in '{}' was upgraded from format {} to format {}; older versions of "
          "Rowan refuse it from now on.",
          folder, before, kFormatVersion);
  return status;
}

}  // namespace rowan
