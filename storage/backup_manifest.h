// SPDX-License-Identifier: GPL-2.0-only
// BackupManifest: what a backup holds, in the text file `rowan.backup` of its folder, written last:
// a folder without it is not a backup. An instance whose folder has one was restored and not
// started since; the first start removes it. docs/formats/backup.md has the lines.
// Thread safety: plain data and functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/function_ref.h"
#include "base/ids.h"
#include "base/status.h"
#include "io/file.h"
#include "wal/log_history.h"

namespace rowan {

inline constexpr char kBackupManifestName[] = "rowan.backup";
/// Files of a backup are read and written in pieces of this size.
inline constexpr size_t kBackupPieceBytes = size_t{1} << 20;
/// Versions from this one on have the history and checksums.
inline constexpr uint32_t kChecksummedManifest = 2;
/// The version of those that name cloned tablespaces.
inline constexpr uint32_t kBranchManifest = 3;

struct BackupManifest {
  struct Space {
    uint32_t pages = 0;
    uint32_t crc = 0;  ///< CRC-32C of all pages of the tablespace, in this backup or not; 0: cloned
    bool cloned = false;
    bool operator==(const Space&) const = default;
  };
  struct SmallFile {
    uint64_t bytes = 0;
    uint32_t crc = 0;  ///< CRC-32C
  };
  uint32_t version = kChecksummedManifest;
  InstanceId instance_id{};
  uint32_t page_size_bytes = 0;
  /// Pages changed after it are in the backup; 0: all pages are.
  Lsn since;
  Lsn start;  ///< redo begins here; the next incremental backup has later changes
  Lsn end;    ///< the instance is restored to this point
  LogHistory history;
  std::map<SpaceId, Space> spaces;
  /// All others in the folder, by name.
  std::map<std::string, SmallFile> files;
  /// Tables missing from the backup, by name ("schema/table").
  std::map<SpaceId, std::string> left_out;

  /// Some tablespaces were cloned.
  [[nodiscard]] bool IsBranch() const;
};

/// Durable, including the name; replaces an existing one.
Status WriteBackupManifest(FileSystem* file_system, const std::string& folder,
                           const BackupManifest& manifest);
/// kNotFound; kCorrupt: it is not whole, or not a manifest; kNewerFormat.
Result<BackupManifest> ReadBackupManifest(FileSystem* file_system, const std::string& folder);

/// Why `increment` cannot be applied to `full`, as a clause; empty: it can.
[[nodiscard]] std::string WhyNotOnto(const BackupManifest& increment, const BackupManifest& full);

/// Size and checksum of a file as it is. kInterrupted, if requested.
Result<BackupManifest::SmallFile> ChecksumFile(FileSystem* file_system, const std::string& path,
                                               FunctionRef<bool()> interrupted = {});

}  // namespace rowan
