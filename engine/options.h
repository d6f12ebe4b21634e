// SPDX-License-Identifier: GPL-2.0-only
// Everything that can be set when an instance is opened: the options of its parts, each with its
// default and limits where the part declares it. The plugin fills them from rowan_* variables,
// tools from their command line. Units in the names.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/page_size.h"
#include "base/status.h"
#include "mvcc/purge/purge_options.h"
#include "mvcc/txn_manager_options.h"
#include "storage/storage_options.h"

namespace rowan {

class CarriedFile;

struct EngineOptions {
  /// With recovery.force, the instance opens although redo finds damage in the undo space, and the
  /// readable parts of damaged tables can be read (engine/salvage.h). Without `background`, tests
  /// drive purge and rollback too.
  StorageOptions storage;
  /// Row locks without a size get the default one or a quarter of the pool, whichever is larger.
  TxnManagerOptions txns;
  PurgeOptions purge;
  bool purges = true;      ///< false: deleted rows stay, for a start that changes little
  bool rolls_back = true;  ///< false: losers of the last run stay as they are, their rows locked
  /// For reports of what keeps old row versions: what the session of this thread (Txn::thread) is
  /// doing, empty if nothing. May be empty. Any thread, at any time while the engine is open.
  std::function<std::string(uint64_t thread)> statement_of_thread;
  /// Called before a new instance is created: the smallest table id it may hand out, or why it must
  /// not be created. May be empty: no objection.
  std::function<Result<uint64_t>()> before_creation;
  /// See StorageEvents.
  std::function<Status(CarriedFile*)> settle_carried;
};

}  // namespace rowan
