// SPDX-License-Identifier: GPL-2.0-only
// BackupDeltaReader: reads the delta file of a tablespace (storage/backup_pages.h) run by run, a
// piece at a time. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "io/aligned_buffer.h"
#include "io/file.h"
#include "storage/backup_manifest.h"
#include "storage/backup_pages.h"

namespace rowan {

class BackupDeltaReader {
 public:
  /// kCorrupt: the header is damaged, or not of this backup's tablespace.
  static Result<std::unique_ptr<BackupDeltaReader>> Open(FileSystem* file_system,
                                                         const std::string& folder, SpaceId space,
                                                         const BackupManifest& manifest);
  struct Piece {
    PageNumber first;
    uint32_t pages = 0;
    Bytes images;  ///< empty: the pages are zeros; valid until the next call
  };
  /// kEndOfRange after the last one; kCorrupt: the file is damaged where offset() is.
  Status Next(Piece* piece);
  [[nodiscard]] uint64_t offset() const { return offset_; }

 private:
  BackupDeltaReader(std::unique_ptr<File> file, uint64_t size, uint32_t page_size, uint32_t pages);
  Status CheckHeader(SpaceId space, const BackupManifest& manifest);
  Status Read(MutableBytes bytes);
  Status NextRun();

  const std::unique_ptr<File> file_;
  const uint64_t size_bytes_;
  const uint32_t page_size_bytes_;
  const uint32_t pages_;  ///< of the tablespace
  AlignedBuffer buffer_;
  uint64_t offset_ = 0;
  backup_delta_layout::RunKind kind_ = backup_delta_layout::RunKind::kZeros;
  uint32_t next_ = 0;  ///< next page of the current run
  uint32_t left_ = 0;  ///< pages left in it
};

}  // namespace rowan
