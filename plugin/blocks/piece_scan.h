// SPDX-License-Identifier: GPL-2.0-only
// PieceScan: the ranges of a block's scan cut into pieces of some leaves, which the session's
// thread and those that help it (plugin/server/scan_workers.h) read at the same time, in rounds.
// They read only within Run, a call of the session's thread: between two calls no other thread has
// anything of the statement's, so a statement ends as any other, whatever ends it.
//
// All read by the session's transaction and its snapshot, which nothing changes meanwhile. Each
// thread uses one strand: a cursor, programs with their batch, and what the user of this class
// keeps by the strand's number. A strand gets pieces in the order of the scan.
//
// A piece need not be read to its end, and some need not be begun before the round is over: what is
// left of them is the user's, or the start of the next round.
// Thread safety: the session's thread; within Run, what is said below.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/status.h"
#include "engine/table_cursor.h"
#include "plugin/blocks/block_reader.h"

namespace rowan {

class PieceScan {
 public:
  /// Of what the session's reader of the block has not read yet.
  explicit PieceScan(const BlockReader& block) : block_(&block) {}

  /// `reader`: the session's, whose scan is open and prepared.
  Status Open(TableCursor* reader, std::vector<RowPlan::Range> ranges);
  [[nodiscard]] size_t strands() const { return strands_.size(); }

  /// Cuts the next pieces, at most so many; kEndOfRange: nothing is left.
  Status Cut(size_t pieces_max);
  [[nodiscard]] size_t pieces() const { return pieces_.size(); }
  /// Reads the pieces that were cut: `read` is called for each one, by any of the threads, until it
  /// fails or ends the round. What the strands counted goes to `reader`.
  using ReadPiece = std::function<Status(size_t strand, size_t piece)>;
  Status Run(TableCursor* reader, const ReadPiece& read);
  /// What was not read of the round's pieces is cut again.
  void KeepRest();
  /// Ranges that were not cut, in order. None is left here.
  [[nodiscard]] std::vector<RowPlan::Range> TakeRest();

  // --- within Run, for the strand's thread ---
  /// The strand's reader, at the start of the piece.
  BlockReader* StartPiece(size_t strand, size_t piece);
  /// Reads on. kEndOfRange: the piece, or the round because of a failure, is over.
  Status NextBatch(size_t strand, BlockReader::ReadValues read_values);
  /// The strand ends the piece after the batch read last.
  void LeavePiece(size_t strand, size_t piece);
  /// No piece is begun any more in this round.
  void EndRound() { round_is_over_.store(true, std::memory_order_relaxed); }

  /// After Run: what was not read of a piece.
  [[nodiscard]] const std::vector<RowPlan::Range>& RestOf(size_t piece) const {
    return pieces_[piece].rest;
  }

 private:
  struct Piece {
    RowPlan::Range range;
    std::vector<RowPlan::Range> rest;  ///< at most one; written by the thread that read it
  };
  struct Strand {
    std::unique_ptr<TableCursor> cursor;
    std::unique_ptr<BlockReader> block;
    std::atomic<bool> taken{false};  ///< by a thread, with all that belongs to the strand
  };

  Status Step(const ReadPiece& read);

  const BlockReader* const block_;
  std::deque<RowPlan::Range> ranges_;  ///< not cut yet
  std::vector<Piece> pieces_;          ///< of the round
  std::vector<std::unique_ptr<Strand>> strands_;
  std::atomic<size_t> next_{0};  ///< piece that no thread has begun; taken by each
  std::atomic<bool> round_is_over_{false};
  std::atomic<bool> failed_{false};  ///< set by the thread whose piece failed, read by all
};

}  // namespace rowan
