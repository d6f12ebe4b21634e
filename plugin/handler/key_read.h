// SPDX-License-Identifier: GPL-2.0-only
// KeyRead: which columns an index scan must read, and whether the index's entries have all of them.
// Thread safety: the handler's.
#pragma once

#include <vector>

#include "my_bitmap.h"

#include "plugin/handler/table_part.h"

namespace rowan {

class KeyRead {
 public:
  bool asked = false;   ///< the statement reads only what the index has
  bool merges = false;  ///< its scan merges rows of several engine tables by computed columns

  /// `*from_entry` becomes false if the entries do not have them all.
  const MY_BITMAP* ColumnsOf(const TablePart& part, uint index, bool* from_entry);

 private:
  MY_BITMAP columns_{};
  std::vector<my_bitmap_map> bits_;
};

/// Whether the entries of an index hold every column that the statement reads.
[[nodiscard]] bool IndexCoversRead(const TABLE& table, uint index);
/// Whether an entry has all that a row reference takes from the record.
[[nodiscard]] bool EntryHasRowReference(const TablePart& part);

}  // namespace rowan
