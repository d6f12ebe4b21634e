// SPDX-License-Identifier: GPL-2.0-only
// BackupLogScan: reads the log of a backup once, as the start of a restored copy would, and checks
// that the files next to it are all that it needs. Thread safety: one thread.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "base/function_ref.h"
#include "base/ids.h"
#include "base/status.h"
#include "io/file.h"
#include "wal/control_data.h"

namespace rowan {

class BackupLogScan {
 public:
  enum class When { kAlways, kIfChanged };
  /// A page whose image is zeros: correct if the log initialises it again, wrong if the log changes
  /// an image that is lost. kAlways: the page is in use, so the log must initialise it.
  void ExpectBeginning(PageId page, When when) {
    expected_.push_back({page.Packed(), when == When::kIfChanged, false});
  }

  /// kCorrupt (logged): the log is damaged, or does not end at `end`. kInterrupted, if requested.
  Status Run(FileSystem* file_system, const std::string& folder, const ControlData& control,
             Lsn end, FunctionRef<bool()> interrupted = {});

  // --- REQUIRES: Run ---

  /// Tablespaces that the log changes and does not drop.
  [[nodiscard]] std::vector<SpaceId> Changed() const;
  /// Expected pages that the log never initialises, in spaces that were not dropped. Ascending.
  [[nodiscard]] std::vector<PageId> NeverBegun() const;

 private:
  struct Expected {
    uint64_t page;  ///< PageId::Packed
    bool right;     ///< as far as the log has been read
    bool begun;
  };
  void Note(PageId page, bool begins_page);

  std::vector<Expected> expected_;  ///< sorted by Run
  std::unordered_set<SpaceId> changed_;
  std::unordered_set<SpaceId> dropped_;
};

}  // namespace rowan
