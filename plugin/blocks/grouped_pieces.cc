// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/blocks/grouped_pieces.h"

#include <algorithm>

namespace rowan {
namespace {

/// Of a round, so that their bounds take little memory; at its end threads wait for the last ones.
constexpr size_t kPiecesOfRound = 1024;
/// Of rows that are left to the server, in a strand.
constexpr size_t kRowBytesMax = size_t{1} << 20;

}  // namespace

bool GroupedPieces::IsPossible(const BatchPlan& plan, const std::vector<Aggregate>& aggregates) {
  return std::all_of(aggregates.begin(), aggregates.end(), [&](const Aggregate& aggregate) {
    switch (aggregate.kind) {
      case Aggregate::Kind::kCountRows:
      case Aggregate::Kind::kCount:
      case Aggregate::Kind::kBitAnd:
      case Aggregate::Kind::kBitOr:
      case Aggregate::Kind::kBitXor: return true;
      case Aggregate::Kind::kSum: return plan.TypeOf(aggregate.value).kind != ValueKind::kDouble;
      case Aggregate::Kind::kMin:
      case Aggregate::Kind::kMax: {
        // Of equal texts, and of 0.0 and -0.0, the first one counts.
        const ValueKind kind = plan.TypeOf(aggregate.value).kind;
        return kind != ValueKind::kBytes && kind != ValueKind::kDouble;
      }
      default: return false;
    }
  });
}

Status GroupedPieces::Open(TableCursor* reader, std::vector<RowPlan::Range> ranges) {
  if (const Status opened = scan_.Open(reader, std::move(ranges)); !opened.ok()) return opened;
  while (strands_.size() < scan_.strands()) {
    strands_.push_back(std::make_unique<Strand>(keys_, aggregates_));
  }
  return Status::Ok();
}

Status GroupedPieces::ReadOn(TableCursor* reader) {
  places_.clear();
  next_ = 0;
  rows_read_ = 0;
  for (const std::unique_ptr<Strand>& strand : strands_) {
    strand->states.Clear();
    strand->rows.Clear();
    strand->places.clear();
    strand->rows_read = 0;
  }
  const auto is_full = [](const std::unique_ptr<Strand>& strand) {
    return strand->states.is_full() || strand->rows.bytes() > kRowBytesMax;
  };
  Status status;
  while (status.ok() && std::none_of(strands_.begin(), strands_.end(), is_full)) {
    status = scan_.Cut(kPiecesOfRound);
    if (!status.ok()) break;
    status =
        scan_.Run(reader, [this](size_t strand, size_t piece) { return ReadPiece(strand, piece); });
    pieces_before_ += scan_.pieces();
    scan_.KeepRest();
  }
  if (!status.ok() && !status.Is(Code::kEndOfRange)) return status;
  Arrange();
  return rows_read_ == 0 ? status : Status::Ok();
}

Status GroupedPieces::ReadPiece(size_t number, size_t piece) {
  Strand* const strand = strands_[number].get();
  const BlockReader* const block = scan_.StartPiece(number, piece);
  const Place place{pieces_before_ + piece, static_cast<uint32_t>(number)};
  for (;;) {
    const Status status = scan_.NextBatch(
        number, [strand](Batch* batch, Selection* rows) { strand->states.Read(batch, rows); });
    if (status.Is(Code::kEndOfRange)) return Status::Ok();
    if (!status.ok()) return status;
    strand->rows_read += block->size();
    AddBatch(*block, place, strand);
    if (!strand->states.is_full() && strand->rows.bytes() <= kRowBytesMax) continue;
    scan_.LeavePiece(number, piece);
    scan_.EndRound();
    return Status::Ok();
  }
}

void GroupedPieces::AddBatch(const BlockReader& block, Place place, Strand* strand) {
  const Selection& rows = block.rows();
  const RowNumber* first = rows.begin();
  for (const RowNumber aside : block.aside()) {
    const RowNumber* const stop = std::lower_bound(first, rows.end(), aside);
    AddRows(block, {first, stop}, place, strand);
    first = stop;
    const StoredRows& stored = block.stored();
    place.is_row = true;
    strand->rows.Keep(stored.keys[aside], stored.values[aside], {},
                      &strand->places.emplace_back(place).row);
    place.is_row = false;
  }
  AddRows(block, {first, rows.end()}, place, strand);
}

/// Notes groups that begin with these rows.
void GroupedPieces::AddRows(const BlockReader& block, std::span<const RowNumber> rows, Place place,
                            Strand* strand) {
  place.group = strand->states.size();
  strand->states.Add(block.batch(), rows);
  for (; place.group < strand->states.size(); ++place.group) strand->places.push_back(place);
}

void GroupedPieces::Arrange() {
  for (const std::unique_ptr<Strand>& strand : strands_) {
    rows_read_ += strand->rows_read;
    places_.insert(places_.end(), strand->places.begin(), strand->places.end());
  }
  std::stable_sort(places_.begin(), places_.end(),
                   [](const Place& one, const Place& other) { return one.piece < other.piece; });
}

bool GroupedPieces::Next(Part* part) {
  if (next_ == places_.size()) return false;
  const Place& place = places_[next_++];
  const Strand& strand = *strands_[place.strand];
  *part = {&strand.states, place.group, place.is_row, {}};
  if (place.is_row) part->row = {strand.rows.KeyOf(place.row), strand.rows.ValueOf(place.row)};
  return true;
}

}  // namespace rowan
