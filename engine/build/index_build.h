// SPDX-License-Identifier: GPL-2.0-only
// IndexBuild: builds secondary indexes of a table that is in use (docs/decisions/0004). Other
// sessions read and change rows concurrently; they do not know of the new indexes, but record the
// keys of the rows that they change (engine/build/online_scan.h).
//
//   Start    nobody else uses the table: takes a snapshot, from then on changed rows are noted
//   Build    the rows of that snapshot become sorted entries, read by several threads, and trees
//            built bottom-up, several at once; then, repeatedly, a new snapshot is taken, and for
//            the rows noted until then the difference between the two is applied to the trees
//   Finish   nobody else uses the table: the last differences
//
// So at any time the trees hold exactly the entries of one snapshot, without visibility
// information, and uncommitted changes never get into them. The result belongs in the definition
// given to Engine::AlterTable. Everything is undone with the session's transaction, also after a
// crash: the trees' pages are freed. Thread safety: one thread, which uses helper threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "engine/build/online_scan.h"
#include "engine/catalog/table.h"
#include "engine/row_codec.h"
#include "engine/row_image.h"
#include "engine/session.h"

namespace rowan {

class IndexBuild final : private SnapshotFollower {
 public:
  /// How rows are read and become entries: the codec is that of the table with its new indexes, the
  /// columns include those of the new indexes and the clustered one.
  using Rows = OnlineScan::Rows;
  struct NewIndex {
    uint32_t index_number = 0;  ///< as the codec counts
    IndexId id{};               ///< filled in by Start, as is the root
    PageNumber root{};
  };

  /// All pointers outlive the build.
  IndexBuild(Session* session, std::shared_ptr<Table> table, const Rows& rows,
             const BuildLimits& limits);
  ~IndexBuild() override;

  Status Start(std::vector<NewIndex> indexes);
  /// kDuplicate: the detail is the number of the index, duplicate_key() one of the entries.
  /// kInterrupted when the session was.
  Status Build();
  Status Finish();
  [[nodiscard]] const std::vector<NewIndex>& indexes() const { return indexes_; }
  [[nodiscard]] Bytes duplicate_key() const { return duplicate_key_; }
  /// After kDuplicate with this detail: puts the row of that entry into the record.
  Status ReadDuplicate(uint32_t index_number);

 private:
  struct Target;

  Status CreateTrees(std::vector<NewIndex> indexes);
  Status BuildTrees();
  Status SortEntries(uint32_t workers);
  Status AddEntries(uint32_t worker, const void* record, Bytes key, EncodedEntry* buffer);
  // SnapshotFollower.
  void StartRound() override;
  Status Compare(Bytes key) override;
  Status EndRound() override;
  /// Encodes the entries of the row that a read found; none if it found none.
  Status KeepEntries(Bytes key, Status found, RowImage* image) const;
  Status Apply(const EntryChange& change);
  Status InsertEntries(Target* target);
  Status CheckUnique(Target* target, const IndexEntry& entry);
  Status Put(Target* target, const IndexEntry& entry);
  Status Remove(Target* target, Bytes key);
  [[nodiscard]] static Status AtIndex(Status status, const Target& target);
  [[nodiscard]] Target* TargetOf(uint32_t index_number) const;
  [[nodiscard]] std::unique_ptr<EntrySorter> NewSorter(const Target& target, uint32_t lanes) const;

  Session* const session_;
  const std::shared_ptr<Table> table_;
  const Rows rows_;
  const BuildLimits limits_;
  OnlineScan scan_;
  std::vector<NewIndex> indexes_;
  std::vector<std::unique_ptr<Target>> targets_;
  IndexSet made_;                     ///< the new indexes
  std::unique_ptr<RowImage> before_;  ///< the row being compared, as it was
  std::unique_ptr<RowImage> after_;
  std::vector<EntryChange> changes_;
  ByteBuffer duplicate_key_;
};

}  // namespace rowan
