// SPDX-License-Identifier: GPL-2.0-only
// The control file `rowan.control`: two 4 KiB slots, each checksummed, written alternately and
// synced, so that one good slot always exists. It holds what must be known before the log can be
// read. Thread safety: Write is serialised inside; data() only by the writer or before threads
// start.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/format_features.h"
#include "base/function_ref.h"
#include "base/ids.h"
#include "base/page_size.h"
#include "base/status.h"
#include "io/file.h"

namespace rowan {

/// Format version this build writes; a larger one on disk is refused with kNewerFormat, a smaller
/// one is read, and upgraded when the instance is opened (storage/upgrade.h).
inline constexpr uint32_t kFormatVersion = 2;
/// Features of whole instances that this build knows.
inline constexpr FormatFeatures kInstanceFeatures{};

struct ControlData {
  InstanceId instance_id{};  ///< random, also in every space header and log file
  uint32_t format_version = kFormatVersion;
  uint32_t page_size_bytes = kPageSizeDefault;
  uint32_t epoch = 0;  ///< bumped at every start, stamped into each log group
  bool clean_shutdown = false;
  Lsn checkpoint_lsn{0};          ///< redo starts here
  uint64_t log_file_bytes = 0;    ///< log bytes in its first file; 0: no log was made yet
  uint64_t log_buffer_bytes = 0;  ///< largest log buffer so far: bounds the unsynced tail
  /// Where the log was last opened for appending, and with which epoch: no group at or above the
  /// LSN has a smaller one. 0: not known.
  Lsn run_start_lsn{0};
  uint32_t run_epoch = 0;
  /// The log was durable at least up to here: one that ends before has lost its end. 0: not known.
  Lsn log_durable_lsn{0};
  FormatFeatures features{};  ///< what the instance as a whole makes use of
  // High-water marks, stored with head room: ids at or above them were never used.
  TxnId next_txn_id{1};
  Csn next_csn{1};
  SpaceId next_space_id{kFirstTableSpace};
  IndexId next_index_id{1};
  TableId next_table_id{1};
};

class ControlFile {
 public:
  /// Locks the file for as long as the object lives and reads the newer good slot. kBusy: another
  /// process, or another object in this one, has the instance; kNotFound: no control file;
  /// kCorrupt: no good slot; kNewerFormat, also for features that this build must not write with;
  /// kInvalidArgument when it is not a Rowan control file. Bytes that this build does not know are
  /// kept by every update.
  static Result<std::unique_ptr<ControlFile>> Open(FileSystem* file_system,
                                                   const std::string& folder);
  /// Creates a new instance's control file durably. Fails if one exists; kBusy if another process
  /// is creating one just now.
  static Result<std::unique_ptr<ControlFile>> Create(FileSystem* file_system,
                                                     const std::string& folder,
                                                     const ControlData& data);
  ~ControlFile();

  [[nodiscard]] ControlData data() const;
  /// The instance's.
  [[nodiscard]] const std::string& folder() const;
  /// Applies `change` to a copy, writes it to the older slot, syncs, publishes. Any failure means
  /// the engine must stop.
  Status Update(FunctionRef<void(ControlData&)> change);
  /// The same into both slots, one after the other: for what must not go back to its state before
  /// if the newer slot rots.
  Status UpdateBothSlots(FunctionRef<void(ControlData&)> change);

 private:
  struct Impl;
  explicit ControlFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rowan
