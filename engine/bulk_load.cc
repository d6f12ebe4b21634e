// SPDX-License-Identifier: GPL-2.0-only
#include "engine/bulk_load.h"

#include <algorithm>
#include <cstring>

#include "base/assertions.h"
#include "base/counters.h"
#include "base/format.h"
#include "base/out_of_memory.h"
#include "engine/tree_build.h"
#include "mvcc/row/row_header.h"

namespace rowan {

Result<bool> BulkLoad::IsPossible(Session* session, Table* table) {
  const TxnId own = session->txn()->txn_id();
  if (own == kNoTxn || table->created_by() != own) return false;
  Cursor cursor(&table->index(0)->tree);
  const Status status = cursor.SeekFirst();
  if (status.Is(Code::kEndOfRange)) return true;
  if (!status.ok()) return status;
  return false;
}

BulkLoad::BulkLoad(Session* session, Table* table, const BuildLimits& limits, RowOrder order)
    : session_(session),
      table_(table),
      limits_(limits),
      rows_(std::make_unique<BulkBuilder>(&table->index(0)->tree)) {
  const size_t indexes = table->index_count();
  sorters_.resize(indexes);
  const SortSpace& space = session->sort_space();
  for (size_t i = 1; i < indexes; ++i) {
    sorters_[i] = space.NewSorter(Format("{}", table->index(i)->id().value()),
                                  limits.sort_memory_bytes / (indexes - 1));
  }
  if (order == RowOrder::kAny) {
    sorters_[0] = space.NewSorter(Format("rows_{}", table->id().value()), limits.sort_memory_bytes);
  }
}

BulkLoad::~BulkLoad() = default;

Status BulkLoad::AddRow(Bytes key, Bytes row) {
  return OrOutOfMemory([&] {
    return sorters_[0] == nullptr ? PutRow(key, row)
                                  : sorters_[0]->Add({.key = key, .payload = row});
  });
}

Status BulkLoad::AddEntry(const IndexEntry& entry) {
  return OrOutOfMemory([&] { return sorters_[entry.index]->Add(entry); });
}

Status BulkLoad::PutRow(Bytes key, Bytes row) {
  const Status status = PutInOrder(key, row);
  if (!status.ok()) return status;
  table_->AddRows(1);
  AddCounter(Counter::kRowsInserted);
  return Status::Ok();
}

Status BulkLoad::PutInOrder(Bytes key, Bytes row) {
  Txn* txn = session_->txn();
  if (rows_ != nullptr && !last_key_.empty() && CompareBytes(last_key_, key) >= 0) {
    const Status status = rows_->Finish();
    rows_.reset();
    if (!status.ok()) return status;
  }
  if (rows_ == nullptr) {
    return session_->writer()->InsertRow(txn, table_->index(0), key, row);
  }
  ROWAN_DCHECK(txn->is_writer() && table_->created_by() == txn->txn_id());
  value_.resize(kClusteredHeaderBytes + row.size());
  StoreClusteredHeader(value_.data(), {.deleted = false, .txn = txn->txn_id(), .undo = {}});
  if (!row.empty()) std::memcpy(value_.data() + kClusteredHeaderBytes, row.data(), row.size());
  last_key_.assign(key.begin(), key.end());
  return rows_->Add(key, value_, txn->txn_id());
}

Status BulkLoad::PutSortedRows() {
  const std::unique_ptr<EntrySorter> rows = std::move(sorters_[0]);
  Status status = rows->StartReading();
  if (!status.ok()) return status;
  WorkProgress* progress = session_->progress();
  if (progress != nullptr) progress->Begin(WorkPhase::kBuildIndex, rows->entries());
  IndexEntry row;
  for (uint64_t count = 0;; ++count) {
    if (count % kInterruptionStride == 0) {
      if (session_->must_stop())
        return Status(Code::kInterrupted, "interrupted while rows were loaded");
      if (progress != nullptr) progress->Completed(count);
    }
    Result<bool> more = rows->Next(&row);
    if (!more.ok()) return more.status();
    if (!*more) {
      if (progress != nullptr) progress->Completed(count);
      return Status::Ok();
    }
    status = PutRow(row.key, row.payload);
    if (status.Is(Code::kDuplicate)) duplicate_key_.assign(row.key.begin(), row.key.end());
    if (!status.ok()) return status;
  }
}

Status BulkLoad::Finish() {
  return OrOutOfMemory([this] { return PutAll(); });
}

Status BulkLoad::PutAll() {
  if (sorters_[0] != nullptr) {
    const Status status = PutSortedRows();
    if (!status.ok()) return status;
  }
  if (rows_ != nullptr) {
    const Status status = rows_->Finish();
    rows_.reset();
    if (!status.ok()) return status;
  }
  return BuildIndexes();
}

Status BulkLoad::BuildIndexes() {
  std::vector<TreeBuild> builds;
  for (uint32_t i = 1; i < sorters_.size(); ++i) {
    ROWAN_DCHECK(sorters_[i] != nullptr);
    builds.push_back({&table_->index(i)->tree, std::move(sorters_[i])});
  }
  TreeBuildFailure failure;
  const Status status = BuildTrees(builds,
                                   {.stamp = session_->txn()->txn_id(),
                                    .interrupted = [this] { return session_->must_stop(); },
                                    .progress = session_->progress(),
                                    .threads = limits_.threads},
                                   &failure);
  duplicate_key_ = std::move(failure.duplicate_key);
  if (!status.Is(Code::kDuplicate)) return status;
  return Status(Code::kDuplicate, "duplicate entry", static_cast<uint32_t>(failure.tree + 1));
}

}  // namespace rowan
