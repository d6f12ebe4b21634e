// SPDX-License-Identifier: GPL-2.0-only
// FilteredPieces: the rows of a block that meet its condition, of a scan that is read in pieces by
// several threads (piece_scan.h), in the order of the scan. Rounds grow, so that a scan which ends
// early has read little in vain. The rows of a round are copied; if they are many, the others of
// its pieces are left to whoever delivers them: then the scan is no longer what takes the time.
// Thread safety: as PieceScan.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "plugin/blocks/piece_scan.h"
#include "plugin/blocks/row_copies.h"
#include "plugin/blocks/row_reduction.h"

namespace rowan {

class FilteredPieces {
 public:
  /// `reduction`: the scan's, which has met no rows that come before these; null: none.
  FilteredPieces(const BlockReader& block, const RowReduction* reduction)
      : scan_(block), reduction_(reduction) {}
  Status Open(TableCursor* reader, std::vector<RowPlan::Range> ranges);

  struct Row {
    BlockReader::StoredRow stored{};
    bool is_aside = false;  ///< it may pass
    uint64_t number = 0;    ///< among the rows that were read, from 0
  };
  /// The next row of the piece; false: none is left of those that were read.
  bool Next(Row* row);
  /// Rows that were read of the piece, and what was not.
  [[nodiscard]] uint64_t rows_read() const {
    return at_ == pieces_.size() ? 0 : pieces_[at_].rows_read;
  }
  [[nodiscard]] std::vector<RowPlan::Range> Rest() const;
  /// False: all of the round has been delivered.
  bool NextPiece();
  /// Reads the next round. kEndOfRange.
  Status ReadOn(TableCursor* reader);
  /// There were rests in the round: another one is not worth it.
  [[nodiscard]] bool has_many_rows() const { return has_rest_; }
  /// All that is behind the round.
  [[nodiscard]] std::vector<RowPlan::Range> TakeRest() { return scan_.TakeRest(); }

 private:
  struct Kept {
    RowCopy row;
    uint64_t number = 0;
    bool is_aside = false;
  };
  /// What was read of one.
  struct Piece {
    std::vector<Kept> kept;
    RowCopies copies;
    uint64_t rows_read = 0;
  };

  Status ReadPiece(size_t strand, size_t number);
  void KeepRows(const BlockReader& block, Piece* piece);

  PieceScan scan_;
  const RowReduction* const reduction_;
  std::vector<std::unique_ptr<RowReduction>> reductions_;  ///< by strand
  std::vector<Piece> pieces_;                              ///< of the round
  size_t pieces_max_ = 0;
  size_t at_ = 0;    ///< the piece that is delivered
  size_t next_ = 0;  ///< of its rows
  bool has_rest_ = false;
  std::atomic<size_t> bytes_{0};  ///< of copies of the round; each thread adds its own
};

}  // namespace rowan
