// SPDX-License-Identifier: GPL-2.0-only
#include "engine/consistency_check.h"

#include <algorithm>

#include "mvcc/row/garbage.h"
#include "mvcc/row/row_header.h"
#include "mvcc/undo/undo_check.h"
#include "space/leak_search.h"

namespace rowan {
namespace {

/// Detects writers, present or possible: a transaction with an id may write at any moment, though
/// nothing is written yet, and even if none runs, there may be old versions.
class Quiet {
 public:
  explicit Quiet(const TxnManager& txns)
      : txns_(txns), next_id_(txns.NextTxnId()), begins_(IsNow()) {}

  /// True if it was quiet from construction until now.
  [[nodiscard]] bool LastsUntilNow() const {
    return begins_ && IsNow() && txns_.NextTxnId() == next_id_;
  }

 private:
  [[nodiscard]] bool IsNow() const {
    return txns_.HistoryLength() == 0 && txns_.Describe().empty();
  }

  const TxnManager& txns_;
  const TxnId next_id_;
  const bool begins_;
};

/// Pages reached from the table's roots, off-page values included.
Status WalkTable(Table* table, BlobStore* blobs, ConsistencyCheck::FindBlobs find_blobs,
                 Tree::PageVisit reach, FunctionRef<bool()> interrupted) {
  std::vector<BlobRef> refs;
  const auto visit_row = [&](Bytes, Bytes value) {
    ClusteredHeader header;
    Bytes row;
    if (!ParseClustered(value, &header, &row)) return Status(Code::kCorrupt, "malformed row");
    const auto reach_and_go_on = [&](PageNumber page) {
      reach(page);
      return !interrupted || !interrupted();
    };
    refs.clear();
    find_blobs(row, &refs);
    for (const BlobRef& ref : refs) {
      if (ref.space != table->space()) return Status(Code::kCorrupt, "value in another space");
      const Status status = blobs->VisitPages(ref, reach_and_go_on);
      if (!status.ok()) return status;
    }
    return Status::Ok();
  };
  for (size_t i = 0; i < table->index_count(); ++i) {
    const bool rows = i == 0 && find_blobs;
    const Status status =
        table->index(i)->tree.Check(rows ? visit_row : Tree::Visit{}, reach, {}, interrupted);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

}  // namespace

Status ConsistencyCheck::CheckIndex(Table* table, size_t index, Tree::Visit visit,
                                    FunctionRef<bool()> interrupted) {
  const TxnManager& txns = TxnsOf(*table);
  const bool clustered = table->index(index)->clustered;
  const auto is_decided = [&](Bytes value, TxnId stamp) {
    return IsDecidedAbove(stamp, txns, clustered, value);
  };
  return table->index(index)->tree.Check(visit, {}, is_decided, interrupted);
}

Status ConsistencyCheck::CheckSpace(Table* table, FindBlobs find_blobs,
                                    FunctionRef<bool()> interrupted) {
  const Status versions = storage_->pool()->CheckPageLsns(table->space());
  if (!versions.ok()) return versions;
  const TxnManager& txns = TxnsOf(*table);
  std::vector<IndexId> indexes;
  for (size_t i = 0; i < table->index_count(); ++i) indexes.push_back(table->index(i)->id());
  LeakSearch search(storage_->allocator(), table->space(), std::move(indexes));
  return search.Run([&](Tree::PageVisit reach, bool* quiet) {
    const Quiet all_quiet(txns);
    const Status walked = WalkTable(table, storage_->blobs(), find_blobs, reach, interrupted);
    *quiet = all_quiet.LastsUntilNow();
    return walked;
  });
}

Status ConsistencyCheck::CheckSystem() {
  for (const SpaceId space : {kSystemSpace, kUndoSpace}) {
    const Status versions = storage_->pool()->CheckPageLsns(space);
    if (!versions.ok()) return versions;
  }
  LeakSearch system(storage_->allocator(), kSystemSpace, {kCatalogIndex});
  Status status = system.Run([&](Tree::PageVisit reach, bool* quiet) {
    const Quiet all_quiet(*txns_);
    const Status walked = catalog_->tree()->Check({}, reach);
    *quiet = all_quiet.LastsUntilNow();
    return walked;
  });
  if (!status.ok()) return status;
  LeakSearch undo(storage_->allocator(), kUndoSpace);
  return undo.Run([&](Tree::PageVisit reach, bool* quiet) {
    // The pages of a skipped stream would seem lost. Purge may still be freeing pages when no
    // history is left.
    bool passed_over = false;
    const Quiet all_quiet(*txns_);
    const Status walked = UndoCheck(undo_).Run(reach, &passed_over);
    *quiet = !passed_over && all_quiet.LastsUntilNow();
    return walked;
  });
}

}  // namespace rowan
