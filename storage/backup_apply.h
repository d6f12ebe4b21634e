// SPDX-License-Identifier: GPL-2.0-only
// BackupApply: applies an incremental backup to the full one it builds on, which then equals a full
// one made at the time of the increment.
//
// If interrupted anywhere, it can be started again: until the last step the full backup keeps its
// manifest and has no control file, so nothing starts on it, and the incremental one is only read.
// One thread; nothing else uses the folders.
#pragma once

#include <string>

#include "base/ids.h"
#include "base/status.h"
#include "io/file.h"
#include "storage/backup_manifest.h"

namespace rowan {

class BackupApply {
 public:
  /// The folders of Rowan's part of each.
  BackupApply(FileSystem* file_system, std::string full, std::string increment)
      : file_system_(file_system), full_(std::move(full)), increment_(std::move(increment)) {}

  /// Reads both manifests; nothing is changed. kInvalidArgument, kCorrupt, kNewerFormat, kNotFound
  /// (logged): the two do not fit together.
  Status Check();
  /// REQUIRES: Check. Durable at return; failures are logged.
  Status Run();

 private:
  Status ApplySpace(SpaceId space);
  Status ApplyDelta(SpaceId space, File* target);
  /// Files of the full backup that the incremental one no longer knows.
  Status RemoveOld();
  Status KeepLeftOut();
  Status CopyFiles();
  Status Complete();
  /// Durable except for the name.
  Status CopyFile(const std::string& name, const std::string& target_name);
  /// The manifest of the result.
  [[nodiscard]] BackupManifest Outcome() const;
  /// Adds the checksums that backups made by earlier versions lack.
  Status SumUp(BackupManifest* outcome) const;

  FileSystem* const file_system_;
  const std::string full_;
  const std::string increment_;
  BackupManifest old_;
  BackupManifest new_;
};

}  // namespace rowan
