// SPDX-License-Identifier: GPL-2.0-only
// BackupVerify: reads all of a backup, full or incremental, and reports for every file whether it
// is as it was written, for every page whether an instance can read it, and for the log whether
// redo reaches the end. Writes nothing. A backup made by an earlier version has no checksums of
// files; what can be checked without them is checked.
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/ids.h"
#include "base/status.h"
#include "io/file.h"
#include "storage/backup_manifest.h"
#include "wal/control_data.h"

namespace rowan {

class BackupVerify {
 public:
  struct Listener {
    std::function<void(const std::string& sentence)> wrong;
    /// Progress over all bytes; called now and then. May be empty.
    std::function<void(uint64_t bytes_done, uint64_t bytes)> progress;
  };
  /// `folder`: Rowan's part of the backup.
  BackupVerify(FileSystem* file_system, std::string folder, Listener listener)
      : file_system_(file_system), folder_(std::move(folder)), listener_(std::move(listener)) {}

  /// True if nothing is wrong.
  bool Run();
  /// The same, and checks that this incremental backup can be applied to the one in `base`.
  bool RunOnto(const std::string& base);
  [[nodiscard]] const BackupManifest& manifest() const { return manifest_; }

 private:
  bool ReadManifest();
  void CheckNames();
  void CheckFile(const std::string& name, const BackupManifest::SmallFile& expected);
  void CheckSpace(SpaceId space, const BackupManifest::Space& expected);
  void CheckDelta(SpaceId space);
  void CheckImages(SpaceId space, PageNumber first, Bytes images, const std::string& name);
  void CheckControl(ControlData* control);
  void CheckLog(const ControlData& control);
  [[nodiscard]] bool IsMarked(SpaceId space) const;
  [[nodiscard]] uint64_t BytesOf(const BackupManifest& manifest) const;
  void Count(uint64_t bytes);
  void Wrong(const std::string& name, const std::string& what);

  FileSystem* const file_system_;
  const std::string folder_;
  const Listener listener_;
  BackupManifest manifest_;
  uint64_t wrong_ = 0;
  uint64_t bytes_ = 0;
  uint64_t bytes_done_ = 0;
};

}  // namespace rowan
