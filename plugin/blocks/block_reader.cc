// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/blocks/block_reader.h"

#include <utility>

#include "sql/current_thd.h"
#include "sql/item.h"
#include "sql/sql_class.h"

#include "base/counters.h"

namespace rowan {

BlockReader::BlockReader(BlockPlan plan, size_t first_batch)
    : plan_(std::move(plan)),
      source_(std::move(plan_.ranges), first_batch),
      batch_(*plan_.values) {}

void BlockReader::Restart() {
  source_.Restart();
  begun_ = false;
  rows_.Clear();
  aside_.clear();
}

Status BlockReader::NextBatch(TableCursor* reader, ReadValues read_values) {
  reader_ = reader;
  aside_.clear();
  rows_.Clear();
  if (const Status status = source_.Next(reader_, &stored_); !status.ok()) return status;
  // Not before there is a row: evaluation takes time.
  if (!std::exchange(begun_, true)) is_usable_ = plan_.values->Prepare();
  AddCounter(Counter::kBlockRowsExamined, stored_.count);
  if (!is_usable_) {
    for (uint32_t i = 0; i < stored_.count; ++i) aside_.push_back(static_cast<RowNumber>(i));
    return Status::Ok();
  }
  batch_.Start(stored_, &rows_);
  if (plan_.filter != nullptr) plan_.filter->Run(&batch_, &rows_);
  read_values(&batch_, &rows_);
  batch_.aside().ForEach([this](RowNumber row) { aside_.push_back(row); });
  return Status::Ok();
}

void BlockReader::CountExamined(uint64_t rows) {
  if (rows != 0) current_thd->inc_examined_row_count(rows);
}

Status BlockReader::Put(RowNumber row, unsigned char* record) {
  return reader_->PutEntry(stored_.keys[row], stored_.values[row], record);
}

Status BlockReader::PutIfPasses(RowNumber row, unsigned char* record) {
  if (const Status put = Put(row, record); !put.ok()) return put;
  const bool passes = plan_.condition == nullptr || plan_.condition->val_int() != 0;
  if (current_thd->is_error()) return Status(Code::kInterrupted);
  return passes ? Status::Ok() : Status(Code::kNotFound);
}

}  // namespace rowan
