// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/blocks/filtered_rows.h"

#include <utility>

#include "base/counters.h"
#include "base/out_of_memory.h"

namespace rowan {
namespace {

/// A LIMIT may be reached at once.
constexpr size_t kFirstBatchOfRows = 16;
/// Fewer rows are read in less time than it takes to begin together.
constexpr uint64_t kRowsAlone = 1024;

}  // namespace

FilteredRows::FilteredRows(BlockPlan plan, std::unique_ptr<RowReduction> reduction)
    : block_(std::move(plan), kFirstBatchOfRows), reduction_(std::move(reduction)) {}

std::string FilteredRows::description() const {
  const std::string filtered = block_.has_filter() ? ", filtered in batches" : "";
  return (reduction_ == nullptr ? "" : reduction_->description()) + filtered + block_.description();
}

void FilteredRows::Restart(const RowPlan::Range* keys) {
  if (keys != nullptr) block_.LookUp(*keys);
  block_.Restart();
  if (reduction_ != nullptr) reduction_->Restart();
  pieces_.reset();
  in_pieces_ = has_asked_ = false;
  rows_alone_ = 0;
  row_at_ = plain_rows_ = aside_at_ = 0;
  counted_ = 0;
}

/// The server counts those that are delivered. Those passed over have been examined, too.
void FilteredRows::CountUpTo(uint64_t number, const Status& status) {
  if (number != counted_ || !status.ok()) {
    BlockReader::CountExamined(number - counted_ + (status.ok() ? 0 : 1));
  }
  counted_ = number + 1;
}

void FilteredRows::CountRest(uint64_t rows) {
  BlockReader::CountExamined(rows - counted_);
  counted_ = 0;
}

Status FilteredRows::NextBatch(TableCursor* reader) {
  CountRest(block_.size());
  row_at_ = aside_at_ = 0;
  const Status status = block_.NextBatch(reader, [this](Batch* batch, Selection* passing) {
    if (reduction_ != nullptr) reduction_->Reduce(batch, passing);
  });
  if (!status.ok()) ReadAlone({});
  rows_alone_ += block_.size();
  plain_rows_ = block_.aside().empty() ? block_.rows().size() : 0;
  return status;
}

void FilteredRows::ReadAlone(std::vector<RowPlan::Range> ranges) {
  block_.SetRanges(std::move(ranges));
  row_at_ = plain_rows_ = aside_at_ = 0;
  counted_ = 0;
  in_pieces_ = false;
}

Status FilteredRows::Next(TableCursor* reader, unsigned char* record) {
  if (row_at_ < plain_rows_) [[likely]] {
    const RowNumber row = block_.rows().begin()[row_at_++];
    const Status status = block_.Put(row, record);
    if (!status.Is(Code::kNotFound)) [[likely]] {  // or an entry without a row
      CountUpTo(row, status);
      return status;
    }
  }
  return OrOutOfMemory([&] { return TryNext(reader, record); });
}

Status FilteredRows::TryNext(TableCursor* reader, unsigned char* record) {
  for (;;) {
    const bool was_in_pieces = in_pieces_;
    const Status status = was_in_pieces ? NextOfPieces(reader, record) : NextAlone(reader, record);
    if (!status.Is(Code::kEndOfRange)) return status;
    const bool at_end = was_in_pieces ? in_pieces_ : pieces_ == nullptr;
    if (at_end) return status;
    in_pieces_ = !was_in_pieces;
  }
}

bool FilteredRows::MayAskForHelp() const {
  if (has_asked_ || block_.plan().helpers == 0) return false;
  return reduction_ != nullptr || rows_alone_ >= kRowsAlone;
}

/// Between two batches.
Status FilteredRows::OpenPieces(TableCursor* reader) {
  has_asked_ = true;
  if (!block_.Prepare()) return Status::Ok();
  CountRest(block_.size());
  pieces_ = std::make_unique<FilteredPieces>(block_, reduction_.get());
  const Status opened = pieces_->Open(reader, block_.Rest());
  if (opened.ok()) ReadAlone({});
  return opened;
}

/// kEndOfRange: of what is to be read alone.
Status FilteredRows::NextAlone(TableCursor* reader, unsigned char* record) {
  for (;;) {
    const Selection& rows = block_.rows();
    const bool has_row = row_at_ < rows.size();
    const bool has_aside = aside_at_ < block_.aside().size();
    if (!has_row && !has_aside) {
      if (MayAskForHelp()) {
        if (const Status opened = OpenPieces(reader); !opened.ok()) return opened;
      }
      if (const Status status = NextBatch(reader); !status.ok()) return status;
      continue;
    }
    const bool is_aside =
        has_aside && (!has_row || block_.aside()[aside_at_] < rows.begin()[row_at_]);
    if (is_aside) AddCounter(Counter::kBlockRowsAside);
    const RowNumber row = is_aside ? block_.aside()[aside_at_++] : rows.begin()[row_at_++];
    const Status status = is_aside ? block_.PutIfPasses(row, record) : block_.Put(row, record);
    if (status.Is(Code::kNotFound)) continue;  // an entry without a row
    CountUpTo(row, status);
    return status;
  }
}

/// kEndOfRange: of all, or, no longer in pieces, before what is to be read alone.
Status FilteredRows::NextOfPieces(TableCursor* reader, unsigned char* record) {
  for (;;) {
    FilteredPieces::Row row;
    while (pieces_->Next(&row)) {
      if (row.is_aside) AddCounter(Counter::kBlockRowsAside);
      const Status status = row.is_aside
                                ? block_.PutIfPasses(reader, row.stored, record)
                                : reader->PutEntry(row.stored.key, row.stored.value, record);
      if (status.Is(Code::kNotFound)) continue;
      CountUpTo(row.number, status);
      return status;
    }
    CountRest(pieces_->rows_read());
    std::vector<RowPlan::Range> rest = pieces_->Rest();
    const bool has_piece = pieces_->NextPiece();
    if (!rest.empty()) {
      ReadAlone(std::move(rest));
      return Status(Code::kEndOfRange);
    }
    if (has_piece) continue;
    if (pieces_->has_many_rows()) {
      ReadAlone(pieces_->TakeRest());
      pieces_.reset();
      return Status(Code::kEndOfRange);
    }
    if (const Status status = pieces_->ReadOn(reader); !status.ok()) return status;
  }
}

}  // namespace rowan
