// SPDX-License-Identifier: GPL-2.0-only
// OnlineScan: reads a table that others go on changing, for whoever makes something of its rows:
// indexes (engine/index_build.h) or a table in its place (engine/table_rebuild.h).
//
//   Start     nobody uses the table: takes a snapshot, from here on the keys of changed rows are
//             noted (engine/changed_rows.h)
//   ScanRows  the rows of that snapshot
//   CatchUp   rounds: each takes a new snapshot and has the rows noted until then compared, which
//             can be read as they were in the snapshot before and as they are in the new one
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

/// What a build may take.
struct BuildLimits {
  size_t sort_memory_bytes = 0;             ///< shared by the indexes
  uint64_t changes_bytes_max = UINT64_MAX;  ///< of the keys of rows changed meanwhile
};

/// What is made of the rows, as a round of catching up sees it.
class SnapshotFollower {
 public:
  virtual ~SnapshotFollower() = default;
  virtual void StartRound() = 0;
  /// The row with this clustered key may differ between the two snapshots. In the order of keys.
  virtual Status Compare(Bytes key) = 0;
  /// All rows were compared; reads are now of the newer snapshot. All that goes is gone, so what is
  /// unique may be inserted.
  virtual Status EndRound() = 0;
};

class OnlineScan {
 public:
  /// How rows are read.
  struct Rows {
    const RowCodec* codec = nullptr;
    const void* columns = nullptr;  ///< null: all
    void* record = nullptr;         ///< scratch
  };
  /// The row with this clustered key.
  using KeyVisit = FunctionRef<Status(Bytes key)>;

  /// `session` is asked whether it was interrupted. All that is pointed to outlives the scan.
  OnlineScan(Session* session, std::shared_ptr<Table> table, const Rows& rows);
  ~OnlineScan();

  /// `name` tells the scratch files of one folder apart. REQUIRES: nobody else uses the table.
  void Start(const std::string& name, const BuildLimits& limits);
  /// Each row is in the record when it is visited. Ends with the first error; kInterrupted, kTooBig
  /// with kTooManyChanges when writers were faster, here and in what follows.
  Status ScanRows(KeyVisit visit);
  /// Rounds among writers, as many as help. Ends with the first error; kInterrupted.
  Status CatchUpAmongWriters(SnapshotFollower* follower);
  /// The last round, after which nothing is noted any more; nobody else uses the table. As above.
  Status CatchUpForGood(SnapshotFollower* follower);
  /// While a row is compared: puts it into the record as it was; kNotFound. Otherwise as it is in
  /// the newest snapshot.
  Status ReadBefore(Bytes key);
  /// While a row is compared: puts it into the record as it is now; kNotFound.
  Status ReadNow(Bytes key);
  /// By a kill or a shutdown.
  [[nodiscard]] bool IsInterrupted() const;

 private:
  enum class Round : uint8_t { kAmongWriters, kLast };
  struct Snapshot;

  /// Whether to go on: not after a kill, a shutdown or too many changes.
  [[nodiscard]] Status CheckGoOn() const;
  Status CatchUp(Round round, SnapshotFollower* follower);
  Status CompareChanged(EntrySorter* keys, Round round, SnapshotFollower* follower);
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
