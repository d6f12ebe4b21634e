// SPDX-License-Identifier: GPL-2.0-only
// OnlineScan: reads a table that others go on changing, for whoever makes something of its rows:
// indexes (engine/index_build.h) or a table in its place (engine/table_rebuild.h).
//
//   Start     nobody uses the table: takes a snapshot, from here on the keys of changed rows are
//             noted (engine/changed_rows.h)
//   ScanRows  the rows of that snapshot
//   CatchUp   takes a new snapshot and visits the rows noted until then, each of which can be read
//             as it was in the snapshot before and as it is in the new one
//
// What is made of the rows so always has exactly the state of one snapshot, and what a writer has
// not committed never gets into it. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/status.h"
#include "engine/changed_rows.h"
#include "engine/row_codec.h"
#include "engine/session.h"
#include "engine/table.h"

namespace rowan {

class OnlineScan {
 public:
  /// How rows are read.
  struct Rows {
    const RowCodec* codec = nullptr;
    const void* columns = nullptr;  ///< null: all
    void* record = nullptr;         ///< scratch
  };
  enum class Round : uint8_t { kAmongWriters, kLast };
  /// The row with this clustered key.
  using KeyVisit = FunctionRef<Status(Bytes key)>;

  /// `session` is asked whether it was interrupted. All that is pointed to outlives the scan.
  OnlineScan(Session* session, std::shared_ptr<Table> table, const Rows& rows);
  ~OnlineScan();

  /// `name` tells the scratch files of one folder apart; `memory_bytes` are for keys of changed
  /// rows before they go to a file. REQUIRES: nobody else uses the table.
  void Start(const std::string& name, size_t memory_bytes);
  /// Each row is in the record when it is visited. Ends with the first error; kInterrupted.
  Status ScanRows(KeyVisit visit);
  /// Visits rows that may differ between two snapshots, in the order of their keys; nothing is in
  /// the record. kInterrupted.
  Status CatchUp(Round round, KeyVisit visit);
  /// CatchUp among writers as often as it helps, then `after_round` each time.
  Status CatchUpAmongWriters(KeyVisit visit, FunctionRef<Status()> after_round);
  /// While a row is visited by CatchUp: puts it into the record as it was; kNotFound. Otherwise as
  /// it is in the newest snapshot.
  Status ReadBefore(Bytes key);
  /// While a row is visited by CatchUp: puts it into the record as it is now; kNotFound.
  Status ReadNow(Bytes key);
  /// Nothing is noted any more. After the last round.
  void Stop();
  /// By a kill or a shutdown.
  [[nodiscard]] bool IsInterrupted() const;

 private:
  struct Snapshot;

  Status VisitChanged(EntrySorter* keys, Round round, KeyVisit visit);
  Status NoteAgainIfOpen(Bytes key);
  [[nodiscard]] std::unique_ptr<Snapshot> TakeSnapshot();

  Session* const session_;
  const std::shared_ptr<Table> table_;
  const Rows rows_;
  std::shared_ptr<ChangedRows> changed_;
  std::unique_ptr<Snapshot> built_;  ///< whose rows were visited
  std::unique_ptr<Snapshot> now_;    ///< of the round
};

}  // namespace rowan
