// SPDX-License-Identifier: GPL-2.0-only
// The control file `rowan.control`: two 4 KiB slots, each checksummed, written alternately and
// synced, so that one good slot always exists. It holds what is needed before the log can be read.
// Thread safety: updates are serialised inside; data() only by the writer or before threads start.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/function_ref.h"
#include "base/mutex.h"
#include "base/status.h"
#include "io/file.h"
#include "wal/control_data.h"
#include "wal/control_slot.h"

namespace rowan {

inline constexpr char kControlFileName[] = "rowan.control";
inline constexpr char kControlDraftName[] = "rowan.control.tmp";  ///< during creation

class ControlFile {
 public:
  /// Locks the file for the object's lifetime and reads the newer good slot. kBusy: another
  /// process, or another object in this one, has the instance open; kNotFound: no control file;
  /// kCorrupt: no good slot; kNewerFormat, also for features that this build must not write with;
  /// kInvalidArgument when it is not a Rowan control file. Every update keeps bytes that this build
  /// does not know.
  static Result<std::unique_ptr<ControlFile>> Open(FileSystem* file_system,
                                                   const std::string& folder);
  /// Creates a new instance's control file durably. Fails if one exists; kBusy if another process
  /// is creating one.
  static Result<std::unique_ptr<ControlFile>> Create(FileSystem* file_system,
                                                     const std::string& folder,
                                                     const ControlData& data);

  [[nodiscard]] ControlData data() const {
    const MutexLock lock(&mutex_);
    return data_;
  }
  /// The instance folder.
  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// Applies `change` to a copy, writes it to the older slot, syncs, publishes. Any failure means
  /// the engine must stop.
  Status Update(FunctionRef<void(ControlData&)> change);
  /// As Update, but into both slots, one after the other: for what must not revert if the newer
  /// slot rots.
  Status UpdateBothSlots(FunctionRef<void(ControlData&)> change);

 private:
  ControlFile(std::string folder, std::unique_ptr<File> file)
      : folder_(std::move(folder)), file_(std::move(file)) {}

  /// Reads the locked file and makes the newer slot durable.
  Status Load();
  /// Chooses the newer good slot.
  Status ReadLocked() ROWAN_REQUIRES(mutex_);
  Status AdoptLocked(const ControlSlot& newest) ROWAN_REQUIRES(mutex_);
  /// Makes `contents` the state, durably.
  Status WriteNextLocked(const ControlData& contents) ROWAN_REQUIRES(mutex_);
  /// Durable at return.
  Status WriteSlotLocked(const ControlData& contents, uint64_t number) ROWAN_REQUIRES(mutex_);

  const std::string folder_;
  const std::unique_ptr<File> file_;
  mutable Mutex mutex_{LatchRank::kControlFile};
  ControlData data_ ROWAN_GUARDED_BY(mutex_);
  /// The newer slot when the file was opened: may hold bytes that this build does not know.
  ControlSlot slot_ ROWAN_GUARDED_BY(mutex_){};
  uint64_t sequence_ ROWAN_GUARDED_BY(mutex_) = 0;  // of the newer slot; slot = sequence modulo 2
  bool broken_ ROWAN_GUARDED_BY(mutex_) = false;    // a write failed: the state on disk is unknown
};

}  // namespace rowan
