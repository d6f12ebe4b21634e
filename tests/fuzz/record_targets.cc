// SPDX-License-Identifier: GPL-2.0-only
// Targets for records inside pages and the log.
#include <algorithm>

#include "engine/catalog/table_def.h"
#include "mvcc/row/row_header.h"
#include "mvcc/row/row_undo_format.h"
#include "tests/fuzz/fuzz_target.h"
#include "wal/group.h"

namespace rowan {

void FuzzLogGroup(Bytes input) {
  uint32_t length = 0;
  (void)CheckGroup(input, Lsn(1), 0, &length);
  if (input.size() < kGroupHeaderBytes) return;
  GroupParser parser(input);
  RecordView record;
  Status status;
  while (parser.Next(&record, &status)) {
  }
}

/// Input: an undo payload; its second half also serves as the newer row.
void FuzzRowUndo(Bytes input) {
  const Bytes newer = input.subspan(input.size() / 2);
  RowUpdateUndo update;
  std::vector<std::byte> old_row;
  if (DecodeRowUpdate(input, &update)) (void)AppendOldRow(update, newer, &old_row);
  EntryUndo entry;
  if (DecodeEntryUndo(input, &entry)) (void)StripRepeat(entry.tree_key, true);
  ClusteredHeader row;
  SecondaryHeader secondary;
  Bytes rest;
  (void)ParseClustered(input, &row, &rest);
  (void)ParseSecondary(input, &secondary, &rest);
}

void FuzzTableDef(Bytes input) { (void)DecodeTableDef(input); }

}  // namespace rowan
