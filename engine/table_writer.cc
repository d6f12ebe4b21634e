// SPDX-License-Identifier: GPL-2.0-only
#include "engine/table_writer.h"

#include <algorithm>
#include <array>
#include <utility>

namespace rowan {
namespace {

bool TakesUniqueValue(const EntryChange& change) { return change.after.unique_prefix_bytes != 0; }

}  // namespace

TableWriter::TableWriter(Session* session, Table* table, const RowCodec* codec,
                         StoredEntries* stored_entries)
    : session_(session),
      table_(table),
      codec_(codec),
      stored_entries_(stored_entries),
      before_(codec, table->index_count()),
      after_(codec, table->index_count()) {
  changes_.reserve(table->index_count());
}

// --- insert ---

Status TableWriter::Insert(const void* record, LockMode duplicate_mode, Bytes number) {
  return Finish(OrOutOfMemory([&] { return TryInsert(record, duplicate_mode, number); }));
}

Status TableWriter::TryInsert(const void* record, LockMode duplicate_mode, Bytes number) {
  Status status = EncodeNew(record, number);
  if (!status.ok()) return status;
  status = after_.EncodeEntries(record);
  if (!status.ok()) return status;
  return session_->InsertRow(table_, after_.key(), after_.row(), after_.ViewEntries(),
                             duplicate_mode);
}

Status TableWriter::Load(BulkLoad* load, const void* record, Bytes number) {
  return Finish(OrOutOfMemory([&] { return TryLoad(load, record, number); }));
}

Status TableWriter::EncodeNew(const void* record, Bytes number) {
  source_ = nullptr;
  std::array<std::byte, sizeof(uint64_t)> next;
  if (number.empty() && !codec_->has_primary_key()) {
    StoreBe64(next.data(), table_->NextRowId());
    number = next;
  }
  const Status status = after_.EncodeKey(record, number);
  if (!status.ok()) return status;
  return after_.EncodeRow(record, this);
}

Status TableWriter::TryLoad(BulkLoad* load, const void* record, Bytes number) {
  value_undo_ = ValueUndo::kGoesWithTable;
  Status status = EncodeNew(record, number);
  value_undo_ = ValueUndo::kFreed;
  if (!status.ok()) return status;
  status = load->AddRow(after_.key(), after_.row());
  if (!status.ok()) return status;
  for (uint32_t i = 1; i < after_.index_count(); ++i) {
    const auto add = [&](const EncodedEntry& entry) { return load->AddEntry(entry.View(i)); };
    status = codec_->EncodeEntries(i, record, after_.key(), &buffer_, add);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

// --- update and delete ---

Status TableWriter::Take(const StoredRecord& row, const IndexSet* changed) {
  changed_ = changed;
  source_ = nullptr;
  const Bytes read_key = row.cursor == nullptr ? row.number : row.cursor->row_key();
  return OrOutOfMemory([&] {
    const Status status = before_.EncodeKey(row.record, read_key);
    if (!status.ok()) return status;
    if (EqualBytes(before_.key(), read_key)) source_ = row.cursor;
    return before_.EncodeEntries(row.record, changed);
  });
}

Status TableWriter::Prepare(const void* record) {
  record_ = record;
  return OrOutOfMemory([&] {
    if (changed_ == nullptr || (!changed_->empty() && (*changed_)[0])) {
      const Status status = after_.EncodeKey(record, before_.key());
      if (!status.ok()) return status;
    } else {
      after_.SetKey(before_.key());
    }
    return after_.EncodeEntries(record, changed_);
  });
}

bool TableWriter::KeepsPlace() {
  if (!EqualBytes(before_.key(), after_.key())) return false;
  RowImage::ListChanges(before_, after_, changed_, &changes_);
  return std::none_of(changes_.begin(), changes_.end(), TakesUniqueValue);
}

Status TableWriter::Update(const void* record) {
  const Status status = Prepare(record);
  if (!status.ok()) return status;
  return Update();
}

Status TableWriter::Update() {
  return Finish(OrOutOfMemory([&] { return TryUpdate(); }));
}

Status TableWriter::TryUpdate() {
  Status status = FindBlobs();
  if (!status.ok()) return status;
  status = after_.EncodeRow(record_, this);
  if (!status.ok()) return status;
  status = ChangeAsStored([this] {
    RowImage::ListChanges(before_, after_, changed_, &changes_);
    return session_->UpdateRow(table_, RowTaken(), after_.key(), after_.row(), changes_);
  });
  if (!status.ok()) return status;
  return DropBlobs();
}

Status TableWriter::Delete() {
  return Finish(OrOutOfMemory([&] { return TryDelete(); }));
}

Status TableWriter::TryDelete() {
  Status status = FindBlobs();
  if (!status.ok()) return status;
  status = ChangeAsStored(
      [this] { return session_->DeleteRow(table_, RowTaken(), before_.ViewEntries()); });
  if (!status.ok()) return status;
  return DropBlobs();
}

/// Each iteration after the first corrects one index.
Status TableWriter::ChangeAsStored(FunctionRef<Status()> change) {
  Status status = change();
  for (size_t left = before_.index_count(); left > 0 && IsOtherEntry(status); --left) {
    const uint32_t index = status.detail();
    std::vector<EncodedEntry> entries;
    const Status found = stored_entries_->Find(index, before_.key(), &entries);
    if (!found.ok()) return found;
    before_.ReplaceEntries(index, std::move(entries));
    status = change();
  }
  return status;
}

Status TableWriter::Finish(Status status) {
  kept_.clear();
  source_ = nullptr;
  if (!std::exchange(wrote_values_, false) || status.ok() || EndsTransaction(status)) return status;
  const Status undone = session_->RollbackTo(before_values_);
  return undone.ok() ? status : undone;
}

// --- off-page values ---

Status TableWriter::Write(OffPageWrite* value) {
  const TableCursor::OffPage* stored = StoredOf(value->column);
  const Bytes before = stored == nullptr ? Bytes() : Bytes(stored->data, stored->size);
  const bool same = before.data() == value->value.data() && before.size() == value->value.size();
  // A reassembled value stays if it has the same bytes.
  const bool equal = same || (value->is_shared && EqualBytes(value->value, before));
  if (stored != nullptr && equal && ReferenceBytes(stored->stored) <= value->reference_bytes_max) {
    value->stored = stored->stored;
    AppendBlobsOf(value->stored, &kept_);
    return Status::Ok();
  }
  if (!std::exchange(wrote_values_, true)) before_values_ = session_->Savepoint();
  if (stored != nullptr && !value->is_shared) return ChangeOffPage(*stored, value);
  const Result<BlobRef> written = session_->WriteBlob(table_, value->value, value_undo_);
  if (written.ok()) value->stored.base = written.value();
  return written.status();
}

const TableCursor::OffPage* TableWriter::StoredOf(uint32_t column) const {
  if (source_ == nullptr) return nullptr;
  const std::vector<TableCursor::OffPage>& values = source_->off_page_values();
  const auto found = std::find_if(values.begin(), values.end(),
                                  [column](const auto& one) { return one.column == column; });
  return found == values.end() ? nullptr : &*found;
}

Status TableWriter::ChangeOffPage(const TableCursor::OffPage& stored, OffPageWrite* value) {
  const ValueChange change{.stored = &stored.stored,
                           .before = {stored.data, stored.size},
                           .after = value->value,
                           .reference_bytes_max = value->reference_bytes_max};
  Result<OffPageValue> changed = session_->ChangeValue(table_, change);
  if (!changed.ok()) return changed.status();
  value->stored = std::move(*changed);
  AppendBlobsOf(value->stored, &kept_);  // those shared with the previous version
  return Status::Ok();
}

Status TableWriter::FindBlobs() {
  blobs_.clear();
  if (source_ != nullptr) {
    for (const TableCursor::OffPage& value : source_->off_page_values()) {
      AppendBlobsOf(value.stored, &blobs_);
    }
    return Status::Ok();
  }
  ByteBuffer row;
  TableCursor cursor(session_, table_, codec_);
  const Status status = cursor.LockRow(before_.key(), &row);
  if (status.ok()) codec_->BlobsOf(row, &blobs_);
  return status;
}

Status TableWriter::DropBlobs() {
  for (const BlobRef& blob : blobs_) {
    const bool kept = std::any_of(kept_.begin(), kept_.end(),
                                  [&](const BlobRef& other) { return SameBlob(blob, other); });
    const Status status = kept ? Status::Ok() : session_->DropBlob(blob);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

}  // namespace rowan
