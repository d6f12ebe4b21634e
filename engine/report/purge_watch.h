// SPDX-License-Identifier: GPL-2.0-only
// PurgeWatch: reports in the error log when old row versions pile up, and what keeps them: an old
// snapshot, with its session and statement, or writers that are faster than purge. Each at most
// once in ten minutes.
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "mvcc/purge/purge_figures.h"

namespace rowan {

/// What a session is doing, as text for operators; empty: nothing, or no such session.
using StatementOfThread = std::function<std::string(uint64_t thread)>;

class PurgeWatch {
 public:
  explicit PurgeWatch(StatementOfThread statement_of) : statement_of_(std::move(statement_of)) {}

  /// Called every second or so.
  void Look(const PurgeFigures& figures, uint64_t now_nanos);

 private:
  void LookAtSnapshot(const PurgeFigures& figures, uint64_t now_nanos);
  void LookAtWriters(const PurgeFigures& figures, uint64_t now_nanos);

  const StatementOfThread statement_of_;
  uint64_t snapshot_told_nanos_ = 0;  ///< 0: never
  uint64_t writers_told_nanos_ = 0;
};

}  // namespace rowan
