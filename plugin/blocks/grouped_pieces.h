// SPDX-License-Identifier: GPL-2.0-only
// GroupedPieces: the groups of a block whose scan is read in pieces by several threads
// (piece_scan.h). Each strand brings the rows of its pieces together by itself, so of one group
// there may be as many parts as there are strands. Parts, and rows that are left to the server, are
// delivered by the place of their first row in the scan: whoever brings them together again meets
// each group first with its first row.
//
// Memory is bounded: when a strand has too many groups, all are delivered before the scan goes on.
// Thread safety: as PieceScan.
#pragma once

#include <memory>
#include <vector>

#include "plugin/blocks/group_states.h"
#include "plugin/blocks/piece_scan.h"

namespace rowan {

class GroupedPieces {
 public:
  /// Whether the results are those of one thread, whatever parts the groups come in.
  [[nodiscard]] static bool IsPossible(const BatchPlan& plan,
                                       const std::vector<Aggregate>& aggregates);

  GroupedPieces(const BlockReader& block, std::vector<ValueId> keys,
                std::vector<Aggregate> aggregates)
      : scan_(block), keys_(std::move(keys)), aggregates_(std::move(aggregates)) {}
  Status Open(TableCursor* reader, std::vector<RowPlan::Range> ranges);

  /// A part of a group, or a row that is left to the server. Valid until ReadOn.
  struct Part {
    const GroupStates* states = nullptr;
    uint32_t group = 0;
    bool is_row = false;
    BlockReader::StoredRow row{};
  };
  /// False: all that was read has been delivered.
  bool Next(Part* part);
  /// Forgets what was delivered, and reads on until there is something. kEndOfRange.
  Status ReadOn(TableCursor* reader);
  /// By the last ReadOn: rows, and parts to deliver.
  [[nodiscard]] uint64_t rows_read() const { return rows_read_; }
  [[nodiscard]] uint64_t parts() const { return places_.size(); }

 private:
  /// Where a group begins, or a row that is left to the server is.
  struct Place {
    uint64_t piece = 0;  ///< counted over all rounds
    uint32_t strand = 0;
    uint32_t group = 0;
    bool is_row = false;
    RowCopy row{};
  };
  struct Strand {
    Strand(const std::vector<ValueId>& keys, const std::vector<Aggregate>& aggregates)
        : states(keys, aggregates) {}
    GroupStates states;
    RowCopies rows;             ///< left to the server
    std::vector<Place> places;  ///< in order
    uint64_t rows_read = 0;
  };

  Status ReadPiece(size_t number, size_t piece);
  void AddBatch(const BlockReader& block, Place place, Strand* strand);
  static void AddRows(const BlockReader& block, std::span<const RowNumber> rows, Place place,
                      Strand* strand);
  void Arrange();

  PieceScan scan_;
  const std::vector<ValueId> keys_;
  const std::vector<Aggregate> aggregates_;
  std::vector<std::unique_ptr<Strand>> strands_;
  uint64_t pieces_before_ = 0;  ///< in earlier rounds
  std::vector<Place> places_;   ///< of all strands, in order
  size_t next_ = 0;             ///< of those
  uint64_t rows_read_ = 0;
};

}  // namespace rowan
