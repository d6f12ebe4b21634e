// SPDX-License-Identifier: GPL-2.0-only
// StatusReport: what operators look at: the figures of the moment, and SHOW ENGINE ROWAN STATUS, in
// sections to be read top down. Thread safety: all members.
#pragma once

#include <string>

#include "engine/catalog/catalog.h"
#include "engine/report/attention.h"
#include "engine/report/figures.h"
#include "engine/report/purge_watch.h"
#include "mvcc/txn_manager.h"
#include "mvcc/undo/undo_streams.h"
#include "storage/storage.h"

namespace rowan {

class StatusReport {
 public:
  StatusReport(const Storage* storage, UndoStreams* undo, TxnManager* txns, Catalog* catalog,
               const StatementOfThread& statement_of)
      : storage_(storage),
        undo_(undo),
        txns_(txns),
        catalog_(catalog),
        statement_of_(statement_of) {}

  [[nodiscard]] EngineFigures Figures() const;
  /// `since`: what was counted since the previous report.
  [[nodiscard]] std::string Text(const CounterDeltas& since) const;

 private:
  [[nodiscard]] Situation SituationNow(const CounterDeltas& since) const;

  const Storage* const storage_;
  UndoStreams* const undo_;
  TxnManager* const txns_;
  Catalog* const catalog_;
  const StatementOfThread& statement_of_;
};

}  // namespace rowan
