// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/row_plan.h"

#include <algorithm>
#include <array>

#include "mysql/plugin.h"
#include "sql/current_thd.h"
#include "sql/item.h"
#include "sql/table.h"

namespace rowan {
namespace {

/// Rows of the open scan of a part.
class PlannedRows {
 public:
  PlannedRows(const RowPlan& plan, TablePart* part);
  Status CountRange(const RowPlan::Range& range, uint64_t* rows);
  Status Skip(EntryFilter* filter, uchar* record, uint64_t* skipped);

 private:
  [[nodiscard]] bool Matches() const;
  /// Evaluates the conditions on two rows of the range, if there are any.
  Status IsTrueBetween(const RowPlan::Range& range, const std::array<EntryOrdinal, 2>& ordinals,
                       bool* is_true);
  /// Visits matching rows in the plan's direction, until `visit` returns false.
  Status ForEachRow(const RowPlan::Range& range, FunctionRef<bool()> visit);

  const RowPlan& plan_;
  const uint32_t index_number_;
  TableCursor& reader_;
  uchar* const record_;
};

PlannedRows::PlannedRows(const RowPlan& plan, TablePart* part)
    : plan_(plan),
      index_number_(plan.key == MAX_KEY ? 0 : part->codec().IndexNumberOfKey(plan.key)),
      reader_(*part->reader()),
      record_(part->server_table()->record[0]) {}

bool PlannedRows::Matches() const {
  if (plan_.condition != nullptr && plan_.condition->val_int() == 0) return false;
  return plan_.index_condition == nullptr || plan_.index_condition->val_int() != 0;
}

Status PlannedRows::IsTrueBetween(const RowPlan::Range& range,
                                  const std::array<EntryOrdinal, 2>& ordinals, bool* is_true) {
  *is_true = true;
  if (!plan_.has_condition()) return Status::Ok();
  reader_.SetFilter(nullptr);
  for (const EntryOrdinal& ordinal : ordinals) {
    Status status = reader_.SeekNumber(range.from, range.end, ordinal, record_);
    if (status.Is(Code::kEndOfRange)) {
      // Fewer rows than asked for: take the last one.
      const EntryOrdinal last{0, Opposite(ordinal.direction)};
      status = reader_.SeekNumber(range.from, range.end, last, record_);
    }
    if (status.Is(Code::kEndOfRange)) return Status::Ok();
    if (!status.ok()) return status;
    *is_true = Matches();
    if (!*is_true) return Status::Ok();
  }
  return Status::Ok();
}

Status PlannedRows::ForEachRow(const RowPlan::Range& range, FunctionRef<bool()> visit) {
  const bool forward = plan_.forward;
  reader_.SetEnd(forward ? Bytes(range.end) : Bytes());
  reader_.SetStart(forward ? Bytes() : Bytes(range.from));
  Status status;
  if (forward) {
    status = reader_.SeekAtLeast(range.from, record_);
  } else {
    status = range.end.empty() ? reader_.SeekLast(record_) : reader_.SeekBefore(range.end, record_);
  }
  while (status.ok()) {
    if (thd_killed(current_thd) != 0) return Status(Code::kInterrupted);
    if (Matches() && !visit()) return Status::Ok();
    status = forward ? reader_.Next(record_) : reader_.Prev(record_);
  }
  return status;
}

Status PlannedRows::CountRange(const RowPlan::Range& range, uint64_t* rows) {
  bool whole = true;
  const Status asked =
      IsTrueBetween(range, {{{0, Direction::kForward}, {0, Direction::kBackward}}}, &whole);
  if (!asked.ok()) return asked;
  if (!whole) {
    const Status status = ForEachRow(range, [rows] {
      ++*rows;
      return true;
    });
    return status.Is(Code::kEndOfRange) ? Status::Ok() : status;
  }
  Result<uint64_t> counted = reader_.CountEntries(index_number_, range.from, range.end);
  if (!counted.ok()) return counted.status();
  *rows += *counted;
  return Status::Ok();
}

Status PlannedRows::Skip(EntryFilter* filter, uchar* record, uint64_t* skipped) {
  const RowPlan::Range& range = plan_.ranges.front();
  const Direction direction = ForwardIf(plan_.forward);
  bool whole = true;
  const Status asked =
      IsTrueBetween(range, {{{0, direction}, {plan_.skip - 1, direction}}}, &whole);
  if (!asked.ok()) return asked;
  reader_.SetFilter(filter);
  if (!whole) {
    const Status passed = ForEachRow(range, [&] { return ++*skipped < plan_.skip; });
    if (!passed.ok()) return passed;
    return plan_.forward ? reader_.Next(record) : reader_.Prev(record);
  }
  const Status status = reader_.SeekNumber(range.from, range.end, {plan_.skip, direction}, record);
  if (!status.Is(Code::kEndOfRange)) {
    *skipped = plan_.skip;
    return status;
  }
  Result<uint64_t> all = reader_.CountEntries(index_number_, range.from, range.end);
  if (!all.ok()) return all.status();
  *skipped = std::min(plan_.skip, *all);
  return status;
}

}  // namespace

Status CountPlannedRows(const RowPlan& plan, TablePart* part, uint64_t* rows) {
  PlannedRows planned(plan, part);
  Status status;
  for (const RowPlan::Range& range : plan.ranges) {
    status = planned.CountRange(range, rows);
    if (!status.ok()) break;
  }
  return status;
}

Status SkipPlannedRows(const RowPlan& plan, TablePart* part, EntryFilter* filter, uchar* record) {
  uint64_t skipped = 0;
  const Status status = PlannedRows(plan, part).Skip(filter, record, &skipped);
  if (plan.skipped_rows != nullptr) *plan.skipped_rows += skipped;
  if (plan.forward) {
    part->reader()->SetEnd(plan.ranges.front().end);
  } else {
    part->reader()->SetStart(plan.ranges.front().from);
  }
  return status;
}

}  // namespace rowan
