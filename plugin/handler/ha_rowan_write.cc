// SPDX-License-Identifier: GPL-2.0-only
// Inserting, updating and deleting one row: the record becomes a RowImage, the session writes it.
//
// Off-page values are written before the row; when the row then fails, the savepoint taken before
// them removes them. A value that the server hands back unchanged (the very bytes of the last read)
// keeps its place instead of being written again.
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include <algorithm>

#include "my_bitmap.h"
#include "mysql/plugin.h"
#include "sql/field.h"
#include "sql/sql_class.h"
#include "sql/sql_lex.h"

#include "plugin/codec/table_layout.h"
#include "plugin/handler/foreign_keys.h"
#include "plugin/handler/logged_documents.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"
#include "plugin/server/system_variables.h"

namespace rowan {
// --- record to image ---

Status ha_rowan::Write(TableCodec::Outsourced* value) {
  const bool shared = value->column == kSharedColumn;
  for (const TableCursor::OffPage& stored : row_source_->off_page_values()) {
    if (stored.column != value->column) continue;
    const Bytes before(stored.data, stored.size);
    const bool same = before.data() == value->value.data() && before.size() == value->value.size();
    const bool fits = ReferenceBytes(stored.stored) <= value->reference_bytes_max;
    // One that was put together anew stays if it is the same row's with the same bytes.
    const bool equal = same || (shared && changes_row_read_ && EqualBytes(value->value, before));
    if (equal && fits) {
      value->stored = stored.stored;
      AppendBlobsOf(value->stored, &kept_blobs_);
      return Status::Ok();
    }
    if (shared || !changes_row_read_) break;
    return ChangeOffPage(stored, value);
  }
  wrote_blobs_ = true;
  const Result<BlobRef> written = session_->WriteBlob(engine_table(), value->value);
  if (written.ok()) value->stored.base = written.value();
  return written.status();
}

Status ha_rowan::ChangeOffPage(const TableCursor::OffPage& stored, TableCodec::Outsourced* value) {
  wrote_blobs_ = true;
  const ValueChange change{.stored = &stored.stored,
                           .before = {stored.data, stored.size},
                           .after = value->value,
                           .reference_bytes_max = value->reference_bytes_max};
  Result<OffPageValue> changed = session_->ChangeValue(engine_table(), change);
  if (!changed.ok()) return changed.status();
  value->stored = std::move(*changed);
  AppendBlobsOf(value->stored, &kept_blobs_);  // those that it shares with the version before
  return Status::Ok();
}

Status ha_rowan::EncodeImage(const uchar* record, bool with_row, RowImage* image) {
  const Status status = codec().EncodeClusteredKey(record, 0, &image->key);
  if (!status.ok() || !with_row) return status;
  return codec().EncodeRow(record, image->key.size(), this, &image->row);
}

Status ha_rowan::EncodeEntries(const uchar* record, const std::vector<bool>* only,
                               RowImage* image) {
  image->elements.clear();
  for (uint32_t i = 1; i < image->entries.size(); ++i) {
    if (only != nullptr && !(*only)[i]) continue;
    RowImage::Entry& entry = image->entries[i];
    const Status status = entry.has_several ? EncodeElements(i, record, image)
                                            : codec().EncodeEntry(i, record, image->key, &entry);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

void ha_rowan::ViewEntries(const RowImage& image) {
  entry_views_.clear();
  for (uint32_t i = 1; i < image.entries.size(); ++i) {
    if (!image.entries[i].has_several) entry_views_.push_back(image.View(i));
  }
  for (const RowImage::Element& element : image.elements) {
    entry_views_.push_back(element.entry.View(element.index_number));
  }
}

int ha_rowan::NoteFailure(Status status, const UndoPosition& before) {
  if (wrote_blobs_ && !status.Is(Code::kDeadlock) && !status.Is(Code::kStopped)) {
    const Status undone = session_->RollbackTo(before);
    if (!undone.ok()) status = undone;
  }
  if (status.Is(Code::kDuplicate)) duplicate_key_ = codec().KeyOfIndexNumber(status.detail());
  return Fail(status);
}

// --- insert ---

int ha_rowan::write_row(uchar* record) {
  ha_statistic_increment(&System_status_var::ha_write_count);
  if (!MayInsert()) return RefuseUnchecked();
  const bool generates = table->next_number_field != nullptr && record == table->record[0];
  if (generates) {
    if (AutoIncrementLockMode() != kAutoIncrementInterleaved) {
      const Status locked = LockAutoIncrement();
      if (!locked.ok()) return Fail(locked);
    }
    const int error = update_auto_increment();
    if (error != 0) return error;
  }
  const UndoPosition before = session_->Savepoint();
  wrote_blobs_ = false;
  changes_row_read_ = false;
  row_source_ = reader_.get();
  const Status status = InsertRecord(record);
  if (!status.ok()) return NoteFailure(status, before);
  if (generates) RaiseAutoIncrement(record);
  return 0;
}

Status ha_rowan::InsertRecord(const uchar* record) {
  Status status = EncodeImage(record, true, &new_image_);
  if (!status.ok()) return status;
  if (!codec().has_primary_key()) {
    status = codec().EncodeClusteredKey(record, engine_table()->NextRowId(), &new_image_.key);
    if (!status.ok()) return status;
  }
  status = EncodeEntries(record, nullptr, &new_image_);
  if (!status.ok()) return status;
  ViewEntries(new_image_);
  if (load_ != nullptr) return load_->Add(new_image_.key, new_image_.row, entry_views_);
  return session_->InsertRow(engine_table(), new_image_.key, new_image_.row, entry_views_,
                             duplicate_lock_);
}

// --- update and delete ---

Status ha_rowan::KeyOfStoredRow(const uchar* record, ByteBuffer* key) {
  if (codec().has_primary_key()) return codec().EncodeClusteredKey(record, 0, key);
  const Bytes row_key = reader_->row_key();
  key->assign(row_key.begin(), row_key.end());
  return Status::Ok();
}

Status ha_rowan::StoredBlobs(Bytes key, std::vector<BlobRef>* blobs) {
  blobs->clear();
  if (EqualBytes(key, row_source_->row_key())) {
    for (const TableCursor::OffPage& value : row_source_->off_page_values()) {
      AppendBlobsOf(value.stored, blobs);
    }
    return Status::Ok();
  }
  // Not the row this handler read last.
  ByteBuffer row;
  const Status status = reader_->LockRow(key, &row);
  if (!status.ok()) return status;
  codec().BlobsOf(row, blobs);
  return Status::Ok();
}

Status ha_rowan::DropBlobs(const std::vector<BlobRef>& blobs) {
  for (const BlobRef& blob : blobs) {
    const bool kept = std::any_of(kept_blobs_.begin(), kept_blobs_.end(),
                                  [&](const BlobRef& other) { return SameBlob(blob, other); });
    if (kept) continue;
    const Status status = session_->DropBlob(blob);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

void ha_rowan::ChooseChangedIndexes() {
  // Only for plain UPDATE is the write set known to name every column that changes.
  const int command = thd_sql_command(ha_thd());
  const bool precise =
      (command == SQLCOM_UPDATE || command == SQLCOM_UPDATE_MULTI) && !cascades_may_return_;
  changed_indexes_.assign(changed_indexes_.size(), !precise);
  if (!precise) return;
  for (uint32_t i = 0; i < changed_indexes_.size(); ++i) {
    const uint32_t key_number = codec().KeyOfIndexNumber(i);
    if (key_number >= table->s->keys) continue;
    const KEY& key = table->key_info[key_number];
    for (uint part = 0; part < key.user_defined_key_parts && !changed_indexes_[i]; ++part) {
      changed_indexes_[i] = bitmap_is_set(table->write_set, key.key_part[part].fieldnr - 1);
    }
  }
  // Every entry holds the clustered key.
  if (changed_indexes_[0]) changed_indexes_.assign(changed_indexes_.size(), true);
}

bool ha_rowan::SameRow(const uchar* old_record, const uchar* new_record) {
  // The server compares by itself when it knows all columns it writes, but never for REPLACE.
  if (duplicate_lock_ == DuplicateLock::kShared &&
      bitmap_is_subset(table->write_set, table->read_set)) {
    return false;
  }
  for (uint i = 0; i < table->s->fields; ++i) {
    Field* field = table->field[i];
    if (field->is_virtual_gcol()) continue;
    const auto old_offset = static_cast<ptrdiff_t>(old_record - table->record[0]);
    const auto new_offset = static_cast<ptrdiff_t>(new_record - table->record[0]);
    const bool old_null = field->is_null(old_offset);
    if (old_null != field->is_null(new_offset)) return false;
    if (old_null) continue;
    if (field->cmp_binary(field->field_ptr() + old_offset, field->field_ptr() + new_offset) != 0) {
      return false;
    }
  }
  return true;
}

int ha_rowan::update_row(const uchar* old_record, uchar* new_record) {
  ha_statistic_increment(&System_status_var::ha_update_count);
  if (!MayChange()) return RefuseUnchecked();
  if (SameRow(old_record, new_record)) return HA_ERR_RECORD_IS_THE_SAME;
  LogWholeDocuments(table);
  const UndoPosition before = session_->Savepoint();
  wrote_blobs_ = false;
  const bool renumbers =
      table->found_next_number_field != nullptr &&
      bitmap_is_set(table->write_set, table->found_next_number_field->field_index());
  const Status status = UpdateRecord(old_record, new_record, renumbers);
  kept_blobs_.clear();
  if (!status.ok()) return RaiseInCascade(NoteFailure(status, before));
  if (renumbers && new_record == table->record[0]) RaiseAutoIncrement(new_record);
  return 0;
}

Status ha_rowan::UpdateRecord(const uchar* old_record, uchar* new_record, bool renumbers) {
  Status status;
  if (renumbers) {
    status = KeepAutoIncrement(old_record, new_record);
    if (!status.ok()) return status;
  }
  kept_blobs_.clear();
  const uchar* stored = nullptr;
  status = KeyOfStoredRow(old_record, &old_image_.key);
  if (!status.ok()) return status;
  status = RowAsStored(old_record, &stored);
  if (!status.ok()) return status;
  changes_row_read_ = EqualBytes(old_image_.key, reader_->row_key());
  ChooseChangedIndexes();
  status = EncodeEntries(stored, &changed_indexes_, &old_image_);
  if (!status.ok()) return status;
  if (stored != old_record) {
    status = KeepStoredValues(table, old_record, stored, new_record);
    if (!status.ok()) return status;
  }
  status = EncodeImage(new_record, true, &new_image_);
  if (!status.ok()) return status;
  if (!codec().has_primary_key()) new_image_.key = old_image_.key;
  status = EncodeEntries(new_record, &changed_indexes_, &new_image_);
  if (!status.ok()) return status;
  return UpdateImage();
}

Status ha_rowan::UpdateImage() {
  Status status = StoredBlobs(old_image_.key, &old_blobs_);
  if (!status.ok()) return status;
  const auto update = [this] {
    ListChanges();
    return session_->UpdateRow(engine_table(), old_image_.key, new_image_.key, new_image_.row,
                               changes_);
  };
  status = update();
  if (IsOtherEntry(status)) [[unlikely]]
    status = ChangeAsStored(status, update);
  if (!status.ok()) return status;
  return DropBlobs(old_blobs_);
}

void ha_rowan::ListChanges() {
  changes_.clear();
  for (uint32_t i = 1; i < new_image_.entries.size(); ++i) {
    if (!changed_indexes_[i] || new_image_.entries[i].has_several) continue;
    const EntryChange change{old_image_.View(i), new_image_.View(i)};
    const bool same = EqualBytes(change.before.key, change.after.key) &&
                      EqualBytes(change.before.payload, change.after.payload);
    if (!same) changes_.push_back(change);
  }
  AddElementChanges();
}

int ha_rowan::delete_row(const uchar* record) {
  ha_statistic_increment(&System_status_var::ha_delete_count);
  if (!MayChange()) return RefuseUnchecked();
  const UndoPosition before = session_->Savepoint();
  wrote_blobs_ = false;
  const Status status = DeleteRecord(record);
  return status.ok() ? 0 : RaiseInCascade(NoteFailure(status, before));
}

Status ha_rowan::DeleteRecord(const uchar* record) {
  Status status = KeyOfStoredRow(record, &old_image_.key);
  if (!status.ok()) return status;
  const uchar* stored = nullptr;
  status = RowAsStored(record, &stored);
  // A cascade of this deletion came back to the row and deleted it.
  if (cascades_may_return_ && status.Is(Code::kNotFound)) return Status::Ok();
  if (!status.ok()) return status;
  status = EncodeEntries(stored, nullptr, &old_image_);
  if (!status.ok()) return status;
  status = StoredBlobs(old_image_.key, &old_blobs_);
  if (!status.ok()) return status;
  status = KeepAutoIncrement(record, nullptr);
  if (!status.ok()) return status;
  const auto remove = [this] {
    ViewEntries(old_image_);
    return session_->DeleteRow(engine_table(), old_image_.key, entry_views_);
  };
  status = remove();
  if (IsOtherEntry(status)) [[unlikely]]
    status = ChangeAsStored(status, remove);
  if (!status.ok()) return status;
  return DropBlobs(old_blobs_);
}

}  // namespace rowan
