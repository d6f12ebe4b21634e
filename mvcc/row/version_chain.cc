// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/version_chain.h"

#include "base/counters.h"
#include "mvcc/row/row_undo_format.h"
#include "mvcc/undo/undo_damage.h"

namespace rowan {

Status VersionChain::StepBack() {
  if (header_.undo.IsNone()) return Status(Code::kNotFound);
  const Status status = undo_->Read(header_.undo, &record_);
  if (!status.ok()) return status;
  RowUpdateUndo update;
  std::vector<std::byte>& target = buffers_[next_buffer_];
  target.clear();
  if (record_.type != UndoType::kClusteredUpdate || !DecodeRowUpdate(record_.payload, &update) ||
      !AppendOldRow(update, row_, &target)) {
    return ReportDamagedRecord(undo_->pool(), record_);
  }
  next_buffer_ ^= 1;
  header_ = update.old_header;
  row_ = target;
  AddCounter(Counter::kVersionsBuilt);
  return Status::Ok();
}

}  // namespace rowan
