// SPDX-License-Identifier: GPL-2.0-only
// What a table cursor does without records: see table_cursor.h.
#include "engine/table_cursor.h"

#include <utility>

#include "base/assertions.h"
#include "btree/range_cutter.h"

namespace rowan {

Status TableCursor::LockRow(Bytes clustered_key, ByteBuffer* row) {
  return OrOutOfMemory([&] { return TryLockRow(clustered_key, row); });
}

Status TableCursor::TryLockRow(Bytes clustered_key, ByteBuffer* row) {
  ReadOptions options;
  options.mode = ReadMode::kLockExclusive;
  if (const Status prepared = PrepareRead(options.mode, 0); !prepared.ok()) return prepared;
  VersionCursor cursor(txns_);
  cursor.Open(session_->txn(), table_->index(0), options);
  VersionView view;
  const Status status = cursor.Get(clustered_key, &view);
  if (status.ok()) row->assign(view.value.begin(), view.value.end());
  return status;
}

Result<uint64_t> TableCursor::CountEntries(uint32_t index, Bytes from, Bytes end) {
  return OrOutOfMemory([&] { return TryCountEntries(index, from, end); });
}

Result<uint64_t> TableCursor::TryCountEntries(uint32_t index, Bytes from, Bytes end) {
  if (const Status status = PrepareRead(options_.mode, index); !status.ok()) return status;
  EntryKeys keys;
  VersionCursor cursor(txns_);
  cursor.Open(session_->txn(), table_->index(index), OptionsFor(&keys, index, options_));
  Result<uint64_t> count = cursor.CountRange(from, end);
  if (!Salvages(count.status())) return count;
  const Result<bool> found = FindDetour(index);
  if (!found.ok()) return found.status();
  cursor.Open(session_->txn(), table_->index(index), OptionsFor(&keys, index, options_));
  return cursor.CountRange(from, end);
}

Status TableCursor::VisitEntries(uint32_t index, const EntryRange& range, EntryVisit visit) {
  return OrOutOfMemory([&] { return TryVisitEntries(index, range, visit); });
}

Status TableCursor::TryVisitEntries(uint32_t index, const EntryRange& range, EntryVisit visit) {
  ReadOptions options;
  if (options_.mode == ReadMode::kReadUncommitted) options.mode = options_.mode;
  const Status prepared = PrepareRead(options.mode, index);
  if (!prepared.ok()) return prepared;
  EntryKeys keys;
  VersionCursor cursor(txns_);
  cursor.Open(session_->txn(), table_->index(index), OptionsFor(&keys, index, options));
  if (!range.end.empty()) cursor.SetEnd(range.end);
  VersionView view;
  Status moved =
      range.from.empty() ? cursor.SeekFirst(&view) : cursor.SeekAtLeast(range.from, &view);
  for (; moved.ok(); moved = cursor.Next(&view)) {
    const Status visited = visit(view.key, view.value);
    if (!visited.ok()) return visited;
    if (session_->interrupted()) return Status(Code::kInterrupted);
  }
  return moved.Is(Code::kEndOfRange) ? Status::Ok() : moved;
}

// --- in batches ---

Status TableCursor::FirstBatch(const EntryRange& range, size_t entries, EntryBatch* batch) {
  return OrLetGo([&] {
    if (const Status opened = OpenCursor(); !opened.ok()) return opened;
    cursor_.SetFirstBatch(entries);
    cursor_.SetEnd(range.end);
    const Status moved =
        range.from.empty() ? cursor_.SeekFirst(&view_) : cursor_.SeekAtLeast(range.from, &view_);
    cursor_.SetFirstBatch(1);
    return TakeBatch(moved, batch);
  });
}

Status TableCursor::NextBatch(EntryBatch* batch) {
  return OrLetGo([&] { return TakeBatch(cursor_.Next(&view_), batch); });
}

Status TableCursor::TakeBatch(Status moved, EntryBatch* batch) {
  if (!moved.ok()) {
    view_ = {};
    return moved;
  }
  *batch = cursor_.TakeBatch();
  return session_->interrupted() ? Status(Code::kInterrupted) : moved;
}

Result<std::unique_ptr<TableCursor>> TableCursor::NewHelper() {
  ROWAN_CHECK(MayHaveHelpers());
  // Opens the snapshot, if need be: from here on, reads leave the transaction as it is.
  if (const Status opened = OpenCursor(); !opened.ok()) return opened;
  auto helper = std::make_unique<TableCursor>(session_, table_, codec_, options_);
  helper->OpenScan(index_);
  if (const Status opened = helper->OpenCursor(); !opened.ok()) return opened;
  return helper;
}

Status TableCursor::CutRange(const EntryRange& range, size_t most, std::vector<ByteBuffer>* ends,
                             bool* done) {
  RangeCutter cutter(&table_->index(index_)->tree, range.from, range.end);
  *done = false;
  for (size_t piece = 0; piece < most && !*done; ++piece) {
    if (const Status status = cutter.Next(); !status.ok()) return status;
    ends->emplace_back(cutter.end().begin(), cutter.end().end());
    *done = cutter.done();
  }
  return Status::Ok();
}

}  // namespace rowan
