// SPDX-License-Identifier: GPL-2.0-only
// Rows that the server does not have to see: counted, or skipped, by the visibility map where it
// knows enough (docs/visibility_map.md). What a plan asks for is done row by row when its condition
// turns out not to hold for the whole range.
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include "mysql/plugin.h"
#include "sql/item.h"

namespace rowan {

int ha_rowan::CountRows(uint32_t index_number, ha_rows* count) {
  *count = HA_POS_ERROR;
  if (CountsUnderLocks()) {
    return index_number == 0
               ? handler::records(count)
               : handler::records_from_index(count, codec().KeyOfIndexNumber(index_number));
  }
  if (row_plan_ != nullptr && row_plan_->kind == RowPlan::Kind::kCount) return CountPlanned(count);
  Result<uint64_t> counted = reader()->CountEntries(index_number);
  if (!counted.ok()) return Fail(counted.status());
  ReportSalvage();
  if (thd_killed(ha_thd()) != 0) return HA_ERR_QUERY_INTERRUPTED;
  *count = *counted;
  return 0;
}

void ha_rowan::SetRowPlan(std::unique_ptr<const RowPlan> plan) { row_plan_ = std::move(plan); }

bool ha_rowan::MakeRange(uint key, const key_range* low, const key_range* high,
                         RowPlan::Range* range) const {
  if (low != nullptr) EncodeBound(key, *low, low->flag == HA_READ_AFTER_KEY, &range->from);
  // "After" the last key there is means nothing at one end and everything at the other.
  if (low != nullptr && range->from.empty()) return false;
  if (high != nullptr) EncodeBound(key, *high, high->flag != HA_READ_BEFORE_KEY, &range->end);
  return true;
}

bool ha_rowan::MatchesPlan() const {
  const RowPlan& plan = *row_plan_;
  if (plan.condition != nullptr && plan.condition->val_int() == 0) return false;
  return plan.index_condition == nullptr || plan.index_condition->val_int() != 0;
}

Status ha_rowan::IsTrueBetween(const RowPlan::Range& range,
                               const std::array<EntryOrdinal, 2>& ordinals, bool* is_true) {
  *is_true = true;
  if (!row_plan_->has_condition()) return Status::Ok();
  reader()->SetFilter(nullptr);
  for (const EntryOrdinal& ordinal : ordinals) {
    Status status = reader()->SeekNumber(range.from, range.end, ordinal, table->record[0]);
    if (status.Is(Code::kEndOfRange)) {
      // Fewer rows than asked for: the last one there is.
      const EntryOrdinal last{0, !ordinal.forward};
      status = reader()->SeekNumber(range.from, range.end, last, table->record[0]);
    }
    if (status.Is(Code::kEndOfRange)) return Status::Ok();
    if (!status.ok()) return status;
    *is_true = MatchesPlan();
    if (!*is_true) return Status::Ok();
  }
  return Status::Ok();
}

Status ha_rowan::ForEachRow(const RowPlan::Range& range, FunctionRef<bool()> visit) {
  const bool forward = row_plan_->forward;
  reader()->SetEnd(forward ? Bytes(range.end) : Bytes());
  reader()->SetStart(forward ? Bytes() : Bytes(range.from));
  uchar* record = table->record[0];
  Status status;
  if (forward) {
    status = reader()->SeekAtLeast(range.from, record);
  } else {
    status =
        range.end.empty() ? reader()->SeekLast(record) : reader()->SeekBefore(range.end, record);
  }
  while (status.ok()) {
    if (thd_killed(ha_thd()) != 0) return Status(Code::kInterrupted);
    if (MatchesPlan() && !visit()) return Status::Ok();
    status = forward ? reader()->Next(record) : reader()->Prev(record);
  }
  return status;
}

int ha_rowan::CountPlanned(ha_rows* count) {
  const RowPlan& plan = *row_plan_;
  const int error = index_init(plan.key, true);
  if (error != 0) return error;
  PrepareRead();
  uint64_t rows = 0;
  Status status;
  for (const RowPlan::Range& range : plan.ranges) {
    status = CountRange(range, &rows);
    if (!status.ok()) break;
  }
  index_end();
  if (!status.ok()) return Fail(status);
  if (thd_killed(ha_thd()) != 0) return HA_ERR_QUERY_INTERRUPTED;
  *count = rows;
  return 0;
}

Status ha_rowan::CountRange(const RowPlan::Range& range, uint64_t* rows) {
  bool whole = true;
  const Status asked = IsTrueBetween(range, {{{0, true}, {0, false}}}, &whole);
  if (!asked.ok()) return asked;
  if (!whole) {
    const Status status = ForEachRow(range, [rows] {
      ++*rows;
      return true;
    });
    return status.Is(Code::kEndOfRange) ? Status::Ok() : status;
  }
  Result<uint64_t> counted =
      reader()->CountEntries(codec().IndexNumberOfKey(row_plan_->key), range.from, range.end);
  if (!counted.ok()) return counted.status();
  *rows += *counted;
  return Status::Ok();
}

int ha_rowan::ReadBehindSkipped(uchar* record, int error_at_end) {
  const RowPlan& plan = *row_plan_;
  const RowPlan::Range& range = plan.ranges.front();
  part_->scan.bounded_by_key = false;
  part_->scan.search_complete = false;
  uint64_t skipped = 0;
  const Status status = SeekBehindSkipped(record, &skipped);
  if (plan.skipped_rows != nullptr) *plan.skipped_rows += skipped;
  // What follows stays within the range.
  if (plan.forward) {
    reader()->SetEnd(range.end);
  } else {
    reader()->SetStart(range.from);
  }
  return Found(status, error_at_end);
}

Status ha_rowan::SeekBehindSkipped(uchar* record, uint64_t* skipped) {
  const RowPlan& plan = *row_plan_;
  const RowPlan::Range& range = plan.ranges.front();
  PrepareRead();
  bool whole = true;
  const Status asked =
      IsTrueBetween(range, {{{0, plan.forward}, {plan.skip - 1, plan.forward}}}, &whole);
  if (!asked.ok()) return asked;
  PrepareRead();
  if (!whole) return PassRows(record, skipped);
  const Status status =
      reader()->SeekNumber(range.from, range.end, {plan.skip, plan.forward}, record);
  if (!status.Is(Code::kEndOfRange)) {
    *skipped = plan.skip;
    return status;
  }
  const uint32_t index = plan.key == MAX_KEY ? 0 : codec().IndexNumberOfKey(plan.key);
  Result<uint64_t> all = reader()->CountEntries(index, range.from, range.end);
  if (!all.ok()) return all.status();
  *skipped = std::min(plan.skip, *all);
  return status;
}

Status ha_rowan::PassRows(uchar* record, uint64_t* skipped) {
  const RowPlan& plan = *row_plan_;
  const Status status = ForEachRow(plan.ranges.front(), [&] { return ++*skipped < plan.skip; });
  if (!status.ok()) return status;
  return plan.forward ? reader()->Next(record) : reader()->Prev(record);
}

std::string ha_rowan::ExplainRowPlan() const {
  if (!SkipsRows()) return {};
  return ", behind " + std::to_string(row_plan_->skip) + " passed over";
}

}  // namespace rowan
