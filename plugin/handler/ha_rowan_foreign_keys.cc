// SPDX-License-Identifier: GPL-2.0-only
// What the server's foreign keys need from a handler. The server checks and cascades between
// reading a row and changing it, and a cascade can return to that very row (a row that refers to
// itself, or tables that refer to each other): what the server hands over as the old row is then
// out of date.
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include <algorithm>

#include "mysql/plugin.h"
#include "sql/sql_class.h"

#include "plugin/handler/foreign_keys.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"

namespace rowan {

int ha_rowan::RefuseUnchecked() {
  return RefuseUnsupported(
      "changes of a table with foreign keys where innodb_native_foreign_keys=ON, here or at the "
      "source of the rows, leaves them to the engine");
}

int ha_rowan::RaiseInCascade(int error) {
  if (error == 0 || error == HA_ERR_END_OF_FILE || table->open_for_fk_name == nullptr) return error;
  // Between a child's first row and its last one the server reports duplicates only. After anything
  // else (a deadlock, a lock that was not granted) it would leave the parent's row as it is and go
  // on with the next one, as if IGNORE had been asked for: with some of the children changed.
  if (error != HA_ERR_FOUND_DUPP_KEY && !ha_thd()->is_error()) print_error(error, MYF(0));
  return error;
}

void ha_rowan::RepairCascadeCount() const {
  // Server 9.7 counts the tables of a cascade, and takes a table that refers to itself off without
  // having counted it. A negative count is too many for it: error 6575, for a tree of two levels.
  THD* thd = ha_thd();
  if (static_cast<int32_t>(thd->fk_cascade_chain_tables()) < 0) {
    thd->reset_fk_cascade_chain_tables();
  }
}

Status ha_rowan::FindStored(const uchar* read, StoredRecord* row) {
  *row = {.record = read, .cursor = reader()};
  if (!cascades_may_return_) return Status::Ok();
  ByteBuffer key(reader()->row_key().begin(), reader()->row_key().end());
  if (codec().has_primary_key()) {
    const Status encoded = codec().EncodeKey(read, &key);
    if (!encoded.ok()) return encoded;
  }
  if (stored_reader_ == nullptr) {
    stored_reader_ = std::make_unique<TableCursor>(g_engine, engine_table(), part_->row_codec());
    const uchar* defaults = table->s->default_values;
    stored_record_.assign(defaults, defaults + table->s->rec_buff_length);
  }
  ReadOptions options;
  options.mode = ReadMode::kLockExclusive;
  stored_reader_->SetSession(session_, options);
  stored_reader_->SetColumns(nullptr, RowKeys::kKeep);
  stored_reader_->OpenScan(0);
  ComputeColumns(true);
  const Status status = stored_reader_->GetRow(key, stored_record_.data());
  stored_reader_->CloseScan();
  part_->scan.prepared = false;  // the other reader computes what it did before
  if (!status.ok()) return status;
  row->record = stored_record_.data();
  // Values that stayed are recognized by the place where the first reader put them.
  if (!SameOffPageValues(*reader(), *stored_reader_)) row->cursor = stored_reader_.get();
  return status;
}

bool ha_rowan::SameOffPageValues(const TableCursor& left, const TableCursor& right) {
  const std::vector<TableCursor::OffPage>& mine = left.off_page_values();
  const std::vector<TableCursor::OffPage>& other = right.off_page_values();
  return std::equal(mine.begin(), mine.end(), other.begin(), other.end(),
                    [](const TableCursor::OffPage& one, const TableCursor::OffPage& two) {
                      return SameValue(one.stored, two.stored);
                    });
}

}  // namespace rowan
