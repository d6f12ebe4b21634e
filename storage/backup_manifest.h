// SPDX-License-Identifier: GPL-2.0-only
// BackupManifest: what a backup holds, in the text file `rowan.backup` of its folder, written last:
// a folder without it is no backup. An instance whose folder has one was restored and has not been
// started since; the first start removes it. docs/formats/backup.md has the lines.
// Thread safety: plain data and functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/ids.h"
#include "base/status.h"
#include "io/file.h"

namespace rowan {

inline constexpr char kBackupManifestName[] = "rowan.backup";

struct BackupManifest {
  InstanceId instance_id{};
  uint32_t page_size_bytes = 0;
  /// Pages that changed behind it are in the backup; 0: all are.
  Lsn since;
  Lsn start;  ///< redo begins here; what the next incremental backup is since
  Lsn end;    ///< the instance is restored as it was here
  std::map<SpaceId, uint32_t> spaces;  ///< number of pages of each file
};

/// Durable but for the name.
Status WriteBackupManifest(FileSystem* file_system, const std::string& folder,
                           const BackupManifest& manifest);
/// kNotFound; kCorrupt: it is not whole, or no manifest; kNewerFormat.
Result<BackupManifest> ReadBackupManifest(FileSystem* file_system, const std::string& folder);

}  // namespace rowan
