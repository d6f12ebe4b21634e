// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/blocks/piece_scan.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/out_of_memory.h"
#include "plugin/server/scan_workers.h"

namespace rowan {

Status PieceScan::Open(TableCursor* reader, std::vector<RowPlan::Range> ranges) {
  ranges_.assign(std::make_move_iterator(ranges.begin()), std::make_move_iterator(ranges.end()));
  for (uint32_t i = 0; i <= block_->plan().helpers; ++i) {
    auto strand = std::make_unique<Strand>();
    Result<std::unique_ptr<TableCursor>> cursor = reader->NewHelper();
    if (!cursor.ok()) return cursor.status();
    strand->cursor = std::move(cursor).value();
    strand->block = std::make_unique<BlockReader>(block_);
    strands_.push_back(std::move(strand));
  }
  CountParallelScan();
  return Status::Ok();
}

Status PieceScan::Cut(size_t pieces_max) {
  pieces_.clear();
  next_ = 0;
  round_is_over_ = false;
  while (!ranges_.empty() && pieces_.size() < pieces_max) {
    RowPlan::Range range = std::move(ranges_.front());
    ranges_.pop_front();
    std::vector<ByteBuffer> ends;
    bool done = false;
    const Status status = strands_.front()->cursor->CutRange(
        {range.from, range.end}, pieces_max - pieces_.size(), &ends, &done);
    if (!status.ok()) return status;
    for (const ByteBuffer& end : ends) {
      pieces_.push_back({{std::move(range.from), end}, {}});
      range.from = end;
    }
    if (!done) ranges_.push_front(std::move(range));
  }
  return pieces_.empty() ? Status(Code::kEndOfRange) : Status::Ok();
}

Status PieceScan::Step(const ReadPiece& read) {
  // First the strand, so that its pieces come in their order.
  const size_t strand = TakeStrand(strands_);
  Status status(Code::kEndOfRange);
  if (!round_is_over_.load(std::memory_order_relaxed)) {
    const size_t piece = next_.fetch_add(1, std::memory_order_relaxed);
    if (piece < pieces_.size()) status = OrOutOfMemory([&] { return read(strand, piece); });
  }
  if (!status.ok() && !status.Is(Code::kEndOfRange)) failed_ = true;
  strands_[strand]->taken.store(false, std::memory_order_release);
  return status;
}

Status PieceScan::Run(TableCursor* reader, const ReadPiece& read) {
  const size_t helpers = std::min(strands_.size(), pieces_.size()) - 1;
  const Status status =
      RunWithScanWorkers(static_cast<uint32_t>(helpers), [&] { return Step(read); });
  for (const std::unique_ptr<Strand>& strand : strands_) {
    reader->TakeCountsOf(strand->cursor.get());
  }
  const size_t begun = std::min(next_.load(), pieces_.size());
  CountParallelPieces(begun);
  for (size_t i = begun; i < pieces_.size(); ++i) pieces_[i].rest = {pieces_[i].range};
  return status;
}

void PieceScan::KeepRest() {
  std::vector<RowPlan::Range> rest;
  for (Piece& piece : pieces_) {
    std::move(piece.rest.begin(), piece.rest.end(), std::back_inserter(rest));
  }
  ranges_.insert(ranges_.begin(), std::make_move_iterator(rest.begin()),
                 std::make_move_iterator(rest.end()));
  pieces_.clear();
}

std::vector<RowPlan::Range> PieceScan::TakeRest() {
  std::vector<RowPlan::Range> rest(std::make_move_iterator(ranges_.begin()),
                                   std::make_move_iterator(ranges_.end()));
  ranges_.clear();
  return rest;
}

BlockReader* PieceScan::StartPiece(size_t strand, size_t piece) {
  BlockReader* const block = strands_[strand]->block.get();
  block->SetRanges({pieces_[piece].range});
  return block;
}

Status PieceScan::NextBatch(size_t strand, BlockReader::ReadValues read_values) {
  if (failed_.load(std::memory_order_relaxed)) return Status(Code::kEndOfRange);
  return strands_[strand]->block->NextBatch(strands_[strand]->cursor.get(), read_values);
}

void PieceScan::LeavePiece(size_t strand, size_t piece) {
  pieces_[piece].rest = strands_[strand]->block->Rest();
}

}  // namespace rowan
