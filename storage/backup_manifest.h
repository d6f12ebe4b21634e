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
#include "wal/log_history.h"

namespace rowan {

inline constexpr char kBackupManifestName[] = "rowan.backup";
/// Versions from here on have the history and checksums.
inline constexpr uint32_t kChecksummedManifest = 2;

struct BackupManifest {
  struct Space {
    uint32_t pages = 0;
    uint32_t crc = 0;  ///< CRC-32C of all pages of the tablespace, whether they are here or not
    bool operator==(const Space&) const = default;
  };
  struct SmallFile {
    uint64_t bytes = 0;
    uint32_t crc = 0;  ///< CRC-32C
  };
  uint32_t version = kChecksummedManifest;
  InstanceId instance_id{};
  uint32_t page_size_bytes = 0;
  /// Pages that changed behind it are in the backup; 0: all are.
  Lsn since;
  Lsn start;  ///< redo begins here; what the next incremental backup is since
  Lsn end;    ///< the instance is restored as it was here
  LogHistory history;
  std::map<SpaceId, Space> spaces;
  /// All others in the folder, by name.
  std::map<std::string, SmallFile> files;
  /// Tables that the backup does not have, by name ("schema/table").
  std::map<SpaceId, std::string> left_out;
};

/// Durable, the name too; it takes the place of one that is there.
Status WriteBackupManifest(FileSystem* file_system, const std::string& folder,
                           const BackupManifest& manifest);
/// kNotFound; kCorrupt: it is not whole, or no manifest; kNewerFormat.
Result<BackupManifest> ReadBackupManifest(FileSystem* file_system, const std::string& folder);

/// Why `increment` cannot be put onto `full`, as a clause; empty: it can be.
[[nodiscard]] std::string WhyNotOnto(const BackupManifest& increment, const BackupManifest& full);

/// Size and checksum of a file as it is.
Result<BackupManifest::SmallFile> ChecksumFile(FileSystem* file_system, const std::string& path);

}  // namespace rowan
