// SPDX-License-Identifier: GPL-2.0-only
// What an instance's control file holds (wal/control_file.h). Plain data.
#pragma once

#include <cstdint>

#include "base/format_features.h"
#include "base/ids.h"
#include "base/page_size.h"
#include "wal/carried_state.h"
#include "wal/log_history.h"

namespace rowan {

/// Format version this build writes; a larger one on disk is refused with kNewerFormat, a smaller
/// one is read, and upgraded when the instance is opened (storage/upgrade.h).
inline constexpr uint32_t kFormatVersion = 2;
/// Files of kept redo (buffer/kept_redo.h) hold changes that pages lack.
inline constexpr FormatFeatures kKeptRedoFeature{.incompatible = 1};
/// The log holds the end of a file of others (storage/carried_file.h).
inline constexpr FormatFeatures kCarriedFileFeature{.incompatible = 2};
/// Features of whole instances that this build knows.
inline constexpr FormatFeatures kInstanceFeatures{.incompatible = kKeptRedoFeature.incompatible |
                                                                  kCarriedFileFeature.incompatible};

struct ControlData {
  InstanceId instance_id{};  ///< random, also in every space header and log file
  uint32_t format_version = kFormatVersion;
  uint32_t page_size_bytes = kPageSizeDefault;
  uint32_t epoch = 0;  ///< bumped at every start, stamped into each log group
  bool clean_shutdown = false;
  Lsn checkpoint_lsn{0};          ///< redo starts here
  uint64_t log_file_bytes = 0;    ///< log bytes in its first file; 0: no log was created yet
  uint64_t log_buffer_bytes = 0;  ///< largest log buffer so far: bounds the unsynced tail
  /// Where the log was last opened for appending: no group at or above this LSN has an epoch
  /// smaller than that run's. 0: not known.
  Lsn run_start_lsn{0};
  uint32_t run_epoch = 0;
  /// The log was durable at least up to here: a log that ends earlier has lost its end. 0: not
  /// known.
  Lsn log_durable_lsn{0};
  FormatFeatures features{};  ///< what the instance as a whole uses
  LogHistory history{};       ///< of the log; empty: written by an older build
  CarriedState carried{};
  // High-water marks, stored with headroom: ids at or above them were never used.
  TxnId next_txn_id{1};
  Csn next_csn{1};
  SpaceId next_space_id{kFirstTableSpace};
  IndexId next_index_id{1};
  TableId next_table_id{1};
};

}  // namespace rowan
