// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/blocks/block_reader.h"

#include <utility>

#include "sql/current_thd.h"
#include "sql/item.h"
#include "sql/sql_class.h"

#include "base/counters.h"

namespace rowan {
namespace {

/// More than any leaf holds.
constexpr size_t kWholeLeaves = 16384;

}  // namespace

BlockReader::BlockReader(BlockPlan plan, size_t first_batch)
    : plan_(std::make_shared<BlockPlan>(std::move(plan))),
      ranges_(plan_->ranges),
      source_(ranges_, first_batch),
      batch_(*plan_->values) {}

BlockReader::BlockReader(const BlockReader* prepared)
    : plan_(prepared->plan_),
      source_({}, kWholeLeaves),
      batch_(*plan_->values),
      begun_(true),
      is_usable_(true) {}

void BlockReader::Restart() {
  SetRanges(ranges_);
  begun_ = false;
}

void BlockReader::SetRanges(std::vector<RowPlan::Range> ranges) {
  source_.SetRanges(std::move(ranges));
  rows_.Clear();
  aside_.clear();
  stored_ = {};
}

bool BlockReader::Prepare() {
  if (!std::exchange(begun_, true)) is_usable_ = plan_->values->Prepare();
  return is_usable_;
}

std::string BlockReader::description() const {
  std::string text;
  if (plan_->helpers != 0) text = " by up to " + std::to_string(plan_->helpers) + " workers";
  if (plan_->condition == nullptr) return text;
  String condition;
  plan_->condition->print(current_thd, &condition, QT_ORDINARY);
  return text + ", with condition: " + std::string(condition.ptr(), condition.length());
}

Status BlockReader::NextBatch(TableCursor* reader, ReadValues read_values) {
  reader_ = reader;
  aside_.clear();
  rows_.Clear();
  if (const Status status = source_.Next(reader_, &stored_); !status.ok()) return status;
  AddCounter(Counter::kBlockRowsExamined, stored_.count);
  // Not before there is a row: evaluation takes time.
  if (!Prepare()) {
    for (uint32_t i = 0; i < stored_.count; ++i) aside_.push_back(static_cast<RowNumber>(i));
    return Status::Ok();
  }
  batch_.Start(stored_, &rows_);
  if (plan_->filter != nullptr) Filter();
  read_values(&batch_, &rows_);
  batch_.aside().ForEach([this](RowNumber row) { aside_.push_back(row); });
  return Status::Ok();
}

void BlockReader::Filter() {
  if (plan_->holds_between && rows_.size() > 2) {
    // All rows of a batch are of one range.
    Selection ends;
    ends.Append(*rows_.begin());
    ends.Append(*(rows_.end() - 1));
    plan_->filter->Run(&batch_, &ends);
    if (ends.size() == 2) return;
    rows_.Remove(batch_.aside());
  }
  plan_->filter->Run(&batch_, &rows_);
}

void BlockReader::CountExamined(uint64_t rows) {
  if (rows != 0) current_thd->inc_examined_row_count(rows);
}

Status BlockReader::PutIfPasses(TableCursor* reader, const StoredRow& row,
                                unsigned char* record) const {
  if (const Status put = reader->PutEntry(row.key, row.value, record); !put.ok()) return put;
  const bool passes = plan_->condition == nullptr || plan_->condition->val_int() != 0;
  if (current_thd->is_error()) return Status(Code::kInterrupted);
  return passes ? Status::Ok() : Status(Code::kNotFound);
}

}  // namespace rowan
