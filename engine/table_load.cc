// SPDX-License-Identifier: GPL-2.0-only
#include "engine/table_load.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/counters.h"
#include "base/format.h"
#include "engine/engine_impl.h"
#include "mvcc/row/row_header.h"

namespace rowan {
namespace {

/// Of one index. Small, so that tests of a few hundred rows sort through files, too.
constexpr size_t kSortMemoryBytesMin = size_t{2} << 10;
/// How many entries are built between two looks at the session's interruption.
constexpr uint64_t kInterruptionStride = 1024;

/// Equal unique values, neither of them with a NULL.
bool SameUniqueValue(Bytes key, const EntrySorter::Entry& next) {
  const size_t bytes = next.unique_prefix_bytes;
  return bytes != 0 && key.size() >= bytes && EqualBytes(key.first(bytes), next.key.first(bytes));
}

}  // namespace

Result<bool> TableLoad::IsPossible(Session* session, Table* table) {
  const TxnId own = session->txn()->txn_id();
  if (own == kNoTxn || table->created_by() != own) return false;
  Cursor cursor(&table->index(0)->tree);
  const Status status = cursor.SeekFirst();
  if (status.Is(Code::kEndOfRange)) return true;
  return status.ok() ? Result<bool>(false) : Result<bool>(status);
}

TableLoad::TableLoad(Session* session, Table* table, size_t sort_memory_bytes)
    : session_(session),
      table_(table),
      rows_(std::make_unique<BulkBuilder>(&table->index(0)->tree)) {
  const size_t indexes = table->index_count();
  sorters_.resize(indexes);
  Engine* engine = session->engine();
  for (size_t i = 1; i < indexes; ++i) {
    sorters_[i] = std::make_unique<EntrySorter>(
        engine->impl()->storage->file_system(), engine->options().folder,
        Format("{}", table->index(i)->id().value()),
        std::max(kSortMemoryBytesMin, sort_memory_bytes / (indexes - 1)));
  }
}

TableLoad::~TableLoad() = default;

Status TableLoad::Add(Bytes key, Bytes row, std::span<const EntryImage> entries) {
  Status status = AddRow(key, row);
  for (size_t i = 0; status.ok() && i < entries.size(); ++i) {
    const EntryImage& entry = entries[i];
    status = sorters_[entry.index]->Add({entry.key, entry.payload, entry.unique_prefix_bytes});
  }
  if (!status.ok()) return status;
  table_->AddRows(1);
  AddCounter(Counter::kRowsInserted);
  return status;
}

Status TableLoad::AddRow(Bytes key, Bytes row) {
  Txn* txn = session_->txn();
  if (rows_ != nullptr && !last_key_.empty() && CompareBytes(last_key_, key) >= 0) {
    const Status status = rows_->Finish();
    rows_.reset();
    if (!status.ok()) return status;
  }
  if (rows_ == nullptr) {
    return session_->writer()->InsertRow(txn, table_->index(0), key, row, false);
  }
  value_.resize(kClusteredHeaderBytes + row.size());
  StoreClusteredHeader(value_.data(), {.deleted = false, .txn = txn->txn_id(), .undo = {}});
  if (!row.empty()) std::memcpy(value_.data() + kClusteredHeaderBytes, row.data(), row.size());
  last_key_.assign(key.begin(), key.end());
  return rows_->Add(key, value_, txn->txn_id());
}

Status TableLoad::Finish() {
  if (rows_ != nullptr) {
    const Status status = rows_->Finish();
    rows_.reset();
    if (!status.ok()) return status;
  }
  for (uint32_t i = 1; i < sorters_.size(); ++i) {
    const Status status = BuildIndex(i);
    if (!status.ok()) return status;
    sorters_[i].reset();
  }
  return Status::Ok();
}

bool TableLoad::IsInterrupted() const {
  return session_->interrupted() || session_->engine()->impl()->txns->ShuttingDown();
}

Status TableLoad::BuildIndex(uint32_t ordinal) {
  EntrySorter* sorter = sorters_[ordinal].get();
  Status status = sorter->StartReading();
  if (!status.ok()) return status;
  BulkBuilder builder(&table_->index(ordinal)->tree);
  const TxnId stamp = session_->txn()->txn_id();
  std::array<std::byte, kSecondaryHeaderBytesMax> header;
  const size_t header_bytes = StoreSecondaryHeader(header.data(), kNoTxn, kNoTxn);
  std::vector<std::byte> previous;
  EntrySorter::Entry entry;
  for (uint64_t count = 0;; ++count) {
    Result<bool> more = sorter->Next(&entry);
    if (!more.ok()) return more.status();
    if (!*more) return builder.Finish();
    if (count > 0 && SameUniqueValue(previous, entry)) {
      duplicate_key_.assign(entry.key.begin(), entry.key.end());
      return Status(Code::kDuplicate, "duplicate entry", ordinal);
    }
    if (count % kInterruptionStride == 0 && IsInterrupted()) {
      return Status(Code::kInterrupted, "interrupted while an index was built");
    }
    value_.assign(header.begin(), header.begin() + header_bytes);
    value_.insert(value_.end(), entry.payload.begin(), entry.payload.end());
    status = builder.Add(entry.key, value_, stamp);
    if (!status.ok()) return status;
    previous.assign(entry.key.begin(), entry.key.end());
  }
}

}  // namespace rowan
