// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/blocks/filtered_pieces.h"

#include <algorithm>

namespace rowan {
namespace {

constexpr size_t kFirstPiecesOfStrand = 2;
constexpr size_t kRoundPiecesMax = 1024;
/// Copies of a piece, which is some 300 KiB large as a rule, and of a round.
constexpr size_t kPieceBytesMax = size_t{128} << 10;
constexpr size_t kRoundBytesMax = size_t{16} << 20;

}  // namespace

Status FilteredPieces::Open(TableCursor* reader, std::vector<RowPlan::Range> ranges) {
  if (const Status opened = scan_.Open(reader, std::move(ranges)); !opened.ok()) return opened;
  for (size_t i = 0; reduction_ != nullptr && i < scan_.strands(); ++i) {
    reductions_.push_back(reduction_->MakeAnother());
  }
  pieces_max_ = kFirstPiecesOfStrand * scan_.strands();
  return Status::Ok();
}

Status FilteredPieces::ReadOn(TableCursor* reader) {
  pieces_.clear();
  at_ = next_ = 0;
  bytes_ = 0;
  if (const Status cut = scan_.Cut(pieces_max_); !cut.ok()) return cut;
  pieces_max_ = std::min(2 * pieces_max_, kRoundPiecesMax);
  pieces_.resize(scan_.pieces());
  const Status status =
      scan_.Run(reader, [this](size_t strand, size_t piece) { return ReadPiece(strand, piece); });
  has_rest_ = false;
  for (size_t i = 0; i < pieces_.size(); ++i) has_rest_ = has_rest_ || !scan_.RestOf(i).empty();
  return status;
}

Status FilteredPieces::ReadPiece(size_t strand, size_t number) {
  Piece* const piece = &pieces_[number];
  const BlockReader* const block = scan_.StartPiece(strand, number);
  RowReduction* const reduction = reductions_.empty() ? nullptr : reductions_[strand].get();
  for (;;) {
    const Status status = scan_.NextBatch(strand, [reduction](Batch* batch, Selection* rows) {
      if (reduction != nullptr) reduction->Reduce(batch, rows);
    });
    if (status.Is(Code::kEndOfRange)) return Status::Ok();
    if (!status.ok()) return status;
    const size_t before = piece->copies.bytes();
    KeepRows(*block, piece);
    piece->rows_read += block->size();
    const size_t added = piece->copies.bytes() - before;
    const size_t bytes = bytes_.fetch_add(added, std::memory_order_relaxed) + added;
    if (bytes > kRoundBytesMax) scan_.EndRound();
    if (bytes <= kRoundBytesMax && piece->copies.bytes() <= kPieceBytesMax) continue;
    scan_.LeavePiece(strand, number);
    return Status::Ok();
  }
}

void FilteredPieces::KeepRows(const BlockReader& block, Piece* piece) {
  const StoredRows& stored = block.stored();
  const auto keep = [&](RowNumber row, bool is_aside) {
    Kept& kept = piece->kept.emplace_back();
    kept.number = piece->rows_read + row;
    kept.is_aside = is_aside;
    piece->copies.Keep(stored.keys[row], stored.values[row], {}, &kept.row);
  };
  const RowNumber* row = block.rows().begin();
  for (const RowNumber aside : block.aside()) {
    for (; row != block.rows().end() && *row < aside; ++row) keep(*row, false);
    keep(aside, true);
  }
  for (; row != block.rows().end(); ++row) keep(*row, false);
}

bool FilteredPieces::Next(Row* row) {
  if (at_ == pieces_.size() || next_ == pieces_[at_].kept.size()) return false;
  const Piece& piece = pieces_[at_];
  const Kept& kept = piece.kept[next_++];
  row->stored = {piece.copies.KeyOf(kept.row), piece.copies.ValueOf(kept.row)};
  row->is_aside = kept.is_aside;
  row->number = kept.number;
  return true;
}

std::vector<RowPlan::Range> FilteredPieces::Rest() const {
  return at_ == pieces_.size() ? std::vector<RowPlan::Range>() : scan_.RestOf(at_);
}

bool FilteredPieces::NextPiece() {
  next_ = 0;
  at_ = std::min(at_ + 1, pieces_.size());
  return at_ < pieces_.size();
}

}  // namespace rowan
