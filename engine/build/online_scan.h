// SPDX-License-Identifier: GPL-2.0-only
// OnlineScan: reads a table that others keep changing, for a user that builds something from its
// rows: indexes (engine/build/index_build.h) or a new table (engine/build/table_rebuild.h).
//
//   Start     nobody else uses the table: takes a snapshot, from then on the keys of changed rows
//             are noted (engine/sort/changed_rows.h)
//   ScanRows  the rows of that snapshot, by several threads if wanted, each with key ranges
//   CatchUp   rounds: each takes a new snapshot and has the rows noted until then compared; they
//             can be read as they were in the former snapshot and as they are in the new one
//
// So what is built always has exactly the state of one snapshot, and uncommitted changes never get
// into it. Threads that scan together read the same snapshot.
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/status.h"
#include "engine/build_limits.h"
#include "engine/catalog/table.h"
#include "engine/row_codec.h"
#include "engine/session.h"
#include "engine/sort/changed_rows.h"

namespace rowan {

/// What is built from the rows, as a round of catching up sees it.
class SnapshotFollower {
 public:
  virtual ~SnapshotFollower() = default;
  virtual void StartRound() = 0;
  /// The row with this clustered key may differ between the two snapshots. In the order of keys.
  virtual Status Compare(Bytes key) = 0;
  /// All rows were compared; reads now use the newer snapshot. All removals are done, so unique
  /// values may be inserted.
  virtual Status EndRound() = 0;
};

class OnlineScan {
 public:
  /// How rows are read.
  struct Rows {
    const RowCodec* codec = nullptr;
    const void* columns = nullptr;  ///< null: all
    void* record = nullptr;         ///< scratch
    /// Makes another record for another thread, which calls this and uses the codec concurrently
    /// with others. Null: the scan uses only its caller's thread.
    std::function<std::shared_ptr<void>()> new_record{};
  };
  /// The row with this clustered key.
  using KeyVisit = FunctionRef<Status(Bytes key)>;
  /// The same, in the record given. Called concurrently by numbered workers, of which the caller is
  /// 0.
  using WorkerVisit = FunctionRef<Status(uint32_t worker, const void* record, Bytes key)>;

  /// `session` is asked whether it was interrupted. All pointers outlive the scan.
  OnlineScan(Session* session, std::shared_ptr<Table> table, const Rows& rows);
  ~OnlineScan();

  /// `name` tells the scratch files of one folder apart. REQUIRES: no other session uses the table.
  void Start(const std::string& name, const BuildLimits& limits);
  /// Each row is in the record when it is visited. Ends with the first error; kInterrupted, kTooBig
  /// with kTooManyChanges when writers were faster, here and below.
  Status ScanRows(KeyVisit visit);
  /// How many of `threads` workers a scan may use: fewer where there are no records for them, or
  /// too few rows.
  [[nodiscard]] uint32_t WorkersFor(uint32_t threads);
  /// As above, by several workers; each calls `finish` when no row is left for it. Only a single
  /// worker gets the rows in key order.
  using WorkerFinish = FunctionRef<Status(uint32_t worker)>;
  Status ScanRows(uint32_t workers, WorkerVisit visit, WorkerFinish finish);
  /// Rounds concurrent with writers, as many as help. Ends with the first error; kInterrupted.
  Status CatchUpAmongWriters(SnapshotFollower* follower);
  /// The last round, after which nothing is noted; no other session uses the table. As above.
  Status CatchUpForGood(SnapshotFollower* follower);
  /// While a row is compared: puts it into the record as it was; kNotFound. Otherwise as it is in
  /// the newest snapshot.
  Status ReadBefore(Bytes key);
  /// While a row is compared: puts it into the record as it is now; kNotFound.
  Status ReadNow(Bytes key);

 private:
  enum class Round : uint8_t { kAmongWriters, kLast };
  struct Snapshot;
  struct SharedScan;

  /// Whether to go on: not after a kill, a shutdown or too many changes.
  [[nodiscard]] Status CheckGoOn() const;
  Status CatchUp(Round round, SnapshotFollower* follower);
  Status CompareChanged(EntrySorter* keys, Round round, SnapshotFollower* follower);
  Status NoteAgainIfOpen(Bytes key);
  [[nodiscard]] std::unique_ptr<Snapshot> TakeSnapshot();
  /// The part of one worker.
  Status ScanRanges(SharedScan* shared, uint32_t worker, WorkerVisit visit);

  Session* const session_;
  const std::shared_ptr<Table> table_;
  const Rows rows_;
  std::vector<ByteBuffer> range_starts_;  ///< of the clustered index, cut for a scan by workers
  std::shared_ptr<ChangedRows> changed_;
  std::unique_ptr<Snapshot> built_;  ///< its rows were visited
  std::unique_ptr<Snapshot> now_;    ///< the round's
};

}  // namespace rowan
