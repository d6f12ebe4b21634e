// SPDX-License-Identifier: GPL-2.0-only
// BackupApply: puts an incremental backup onto the full one before it, which then is as a full one
// made at the same time would be.
//
// Cut short anywhere, it can be begun again: until the last step the full backup has no control
// file, so that nothing starts on it, and keeps its own manifest, and the incremental one is only
// read. One thread; nobody else uses the folders.
#pragma once

#include <string>

#include "base/ids.h"
#include "base/status.h"
#include "io/file.h"
#include "storage/backup_manifest.h"

namespace rowan {

class BackupApply {
 public:
  /// Folders of Rowan's part of the two.
  BackupApply(FileSystem* file_system, std::string full, std::string increment)
      : file_system_(file_system), full_(std::move(full)), increment_(std::move(increment)) {}

  /// Reads both manifests; nothing is changed. kInvalidArgument, kCorrupt, kNewerFormat, kNotFound
  /// (logged): the one does not go onto the other.
  Status Check();
  /// REQUIRES: Check. Durable at return; failures are logged.
  Status Run();

 private:
  Status ApplySpace(SpaceId space);
  Status ApplyDelta(SpaceId space, File* target);
  /// Files of the full backup that the incremental one does not know any more.
  Status RemoveOld();
  Status KeepLeftOut();
  Status CopyFiles();
  Status Complete();
  /// Durable but for the name.
  Status CopyFile(const std::string& name, const std::string& target_name);
  /// The manifest of what comes of it.
  [[nodiscard]] BackupManifest Outcome() const;
  /// Adds the checksums that backups of earlier versions lack.
  Status SumUp(BackupManifest* outcome) const;

  FileSystem* const file_system_;
  const std::string full_;
  const std::string increment_;
  BackupManifest old_;
  BackupManifest new_;
};

}  // namespace rowan
