// SPDX-License-Identifier: GPL-2.0-only
// VersionChain: walks from a clustered row's newest version to older ones, one undo record at a
// time, assembling each in one of two buffers that are kept between rows.
//
// When a step is safe: the caller knows that the undo record still exists. That is so while it
// holds the row's leaf latch (rollback changes the row and drops the record in one group under that
// latch), or when the version's writer is committed and not visible to the caller's open snapshot
// (purge waits for it). Thread safety: one thread.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "mvcc/row/row_header.h"
#include "mvcc/undo/undo_log.h"

namespace rowan {

class VersionChain {
 public:
  explicit VersionChain(UndoLog* undo) : undo_(undo) {}

  /// Starts at a version; `row` must stay valid until the first StepBack returned.
  void Start(const ClusteredHeader& header, Bytes row) {
    header_ = header;
    row_ = row;
  }
  /// Moves to the next older version. kNotFound: there is none (the row did not exist before).
  Status StepBack();

  [[nodiscard]] const ClusteredHeader& header() const { return header_; }
  /// Valid until the next StepBack or Start.
  [[nodiscard]] Bytes row() const { return row_; }

 private:
  UndoLog* const undo_;
  ClusteredHeader header_;
  Bytes row_;
  UndoRecordCopy record_;
  std::vector<std::byte> buffers_[2];
  unsigned next_buffer_ = 0;
};

}  // namespace rowan
