// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/blocks/grouped_rows.h"

#include <algorithm>
#include <utility>

#include "base/counters.h"
#include "base/out_of_memory.h"

namespace rowan {
namespace {

/// The whole first leaf: every row is needed.
constexpr size_t kFirstBatchOfGroups = 16384;

bool SumsReals(const BatchPlan& plan, const std::vector<Aggregate>& aggregates) {
  return std::any_of(aggregates.begin(), aggregates.end(), [&](const Aggregate& aggregate) {
    return aggregate.kind == Aggregate::Kind::kSum &&
           plan.TypeOf(aggregate.value).kind == ValueKind::kDouble;
  });
}

}  // namespace

GroupedRows::GroupedRows(BlockPlan plan, std::vector<ValueId> keys,
                         std::vector<Aggregate> aggregates)
    : keys_(std::move(keys)),
      aggregates_(std::move(aggregates)),
      block_(std::move(plan), kFirstBatchOfGroups),
      adds_in_order_(SumsReals(block_.values(), aggregates_)),
      states_(keys_, aggregates_),
      shown_(&states_) {}

void GroupedRows::Restart(const RowPlan::Range* keys) {
  if (keys != nullptr) block_.LookUp(*keys);
  block_.Restart();
  states_.Clear();
  pieces_.reset();
  shown_ = &states_;
  has_begun_ = leaves_rest_ = false;
  row_at_ = aside_at_ = 0;
  uncounted_ = passed_ = 0;
  at_end_ = delivers_groups_ = delivers_aside_ = is_group_ = false;
}

Status GroupedRows::Next(TableCursor* reader, unsigned char* record) {
  reader_ = reader;
  record_ = record;
  return OrOutOfMemory([this] { return TryNext(); });
}

/// If others may help.
Status GroupedRows::OpenPieces() {
  if (block_.plan().helpers == 0 || !block_.Prepare()) return Status::Ok();
  pieces_ = std::make_unique<GroupedPieces>(block_, keys_, aggregates_);
  return pieces_->Open(reader_, block_.Rest());
}

Status GroupedRows::NextOfPieces() {
  for (;;) {
    GroupedPieces::Part part;
    while (!pieces_->Next(&part)) {
      if (const Status status = pieces_->ReadOn(reader_); !status.ok()) return status;
      BlockReader::CountExamined(pieces_->rows_read() - pieces_->parts());
    }
    is_group_ = !part.is_row;
    if (is_group_) {
      shown_ = part.states;
      group_ = part.group;
      AddCounter(Counter::kBlockGroups);
      return ShowFirst();
    }
    const Status judged = block_.PutIfPasses(reader_, part.row, record_);
    if (judged.ok()) AddCounter(Counter::kBlockRowsAside);
    if (!judged.Is(Code::kNotFound)) return judged;
    BlockReader::CountExamined(1);
  }
}

Status GroupedRows::TryNext() {
  if (!std::exchange(has_begun_, true)) {
    if (const Status opened = OpenPieces(); !opened.ok()) return opened;
  }
  if (pieces_ != nullptr) return NextOfPieces();
  for (;;) {
    if (delivers_groups_ && next_group_ < states_.size()) {
      group_ = next_group_++;
      is_group_ = true;
      AddCounter(Counter::kBlockGroups);
      return ShowFirst();
    }
    if (delivers_groups_) states_.Clear();
    delivers_groups_ = false;
    is_group_ = false;
    if (std::exchange(delivers_aside_, false)) {
      AddCounter(Counter::kBlockRowsAside);
      return block_.Put(block_.aside()[aside_at_++], record_);
    }
    if (const Status status = GoOn(); !status.ok()) return status;
  }
}

/// If the sums of the batch's rows would no longer be those of the server.
void GroupedRows::LeaveRest(Batch* batch, Selection* rows) {
  leaves_rest_ = leaves_rest_ || !batch->aside().empty();
  if (!leaves_rest_) return;
  for (const RowNumber row : *rows) batch->PutAside(row);
  rows->Clear();
}

void GroupedRows::StartDelivery() {
  leaves_rest_ = true;
  delivers_groups_ = true;
  next_group_ = 0;
  CountExamined(states_.size() + (delivers_aside_ ? 1 : 0));
  uncounted_ = 0;
}

/// The batch's rows before this one have been read.
void GroupedRows::PassTo(size_t row) {
  uncounted_ += row - passed_;
  passed_ = row;
}

/// All rows read but as many as the server counts when it gets them.
void GroupedRows::CountExamined(size_t delivered) {
  BlockReader::CountExamined(uncounted_ - delivered);
  uncounted_ = delivered;
}

/// Until there is something to deliver. kEndOfRange.
Status GroupedRows::GoOn() {
  while (!delivers_groups_) {
    if (!BatchIsDone()) {
      if (const Status status = GoOnInBatch(); !status.ok()) return status;
      continue;
    }
    if (at_end_) return Status(Code::kEndOfRange);
    PassTo(block_.size());
    row_at_ = aside_at_ = passed_ = 0;
    CountExamined(states_.size());
    const Status status = block_.NextBatch(reader_, [this](Batch* batch, Selection* rows) {
      states_.Read(batch, rows);
      if (adds_in_order_) LeaveRest(batch, rows);
    });
    at_end_ = status.Is(Code::kEndOfRange);
    if (at_end_) StartDelivery();
    if (!at_end_ && !status.ok()) return status;
  }
  return Status::Ok();
}

/// Adds the rows before the next one that is aside, and looks at that.
Status GroupedRows::GoOnInBatch() {
  const Selection& rows = block_.rows();
  const bool has_aside = aside_at_ < block_.aside().size();
  const RowNumber* const first = rows.begin() + row_at_;
  const RowNumber* const stop =
      has_aside ? std::lower_bound(first, rows.end(), block_.aside()[aside_at_]) : rows.end();
  states_.Add(block_.batch(), {first, stop});
  row_at_ = static_cast<size_t>(stop - rows.begin());
  PassTo(has_aside ? block_.aside()[aside_at_] + size_t{1} : block_.size());
  if (has_aside) {
    const Status judged = block_.PutIfPasses(block_.aside()[aside_at_], record_);
    if (!judged.ok() && !judged.Is(Code::kNotFound)) {
      CountExamined(0);
      return judged;
    }
    delivers_aside_ = judged.ok();
    if (!delivers_aside_) ++aside_at_;
  }
  if (delivers_aside_ || states_.is_full()) StartDelivery();
  return Status::Ok();
}

Status GroupedRows::ShowExtreme(size_t aggregate) { return Show(StateOf(aggregate).extreme); }

Status GroupedRows::ShowFirst() { return Show(shown_->FirstOf(group_)); }

Status GroupedRows::Show(const RowCopy& row) {
  return reader_->PutEntry(shown_->copies().KeyOf(row), shown_->copies().ValueOf(row), record_);
}

}  // namespace rowan
