// SPDX-License-Identifier: GPL-2.0-only
// What a recogniser (plugin/pushdown/counted_rows.h) asks of a handler for one statement: to count
// the rows of some ranges of an index instead of delivering them, or to skip the first rows of a
// scan. The visibility map does that where it suffices (docs/visibility_map.md); else, when the
// plan's condition does not hold for a whole range, it is done row by row. Thread safety: a plan is
// constant once the handler has it; the functions are the handler's.
#pragma once

#include <cstdint>
#include <vector>

#include "my_base.h"

#include "base/bytes.h"
#include "plugin/handler/table_part.h"

class Item;

namespace rowan {

struct RowPlan {
  /// Keys of the index: [from, end); empty: no bound.
  struct Range {
    ByteBuffer from;
    ByteBuffer end;
  };
  enum class Kind : uint8_t { kCount, kSkip };

  Kind kind = Kind::kCount;
  uint key = MAX_KEY;  ///< the server's number; MAX_KEY: the rows themselves
  std::vector<Range> ranges;
  /// Conditions on the rows, each of which, if it holds for two rows, holds for all between them;
  /// null: none. Rows for which one does not hold do not count.
  Item* condition = nullptr;
  Item* index_condition = nullptr;
  [[nodiscard]] bool has_condition() const {
    return condition != nullptr || index_condition != nullptr;
  }

  // For kSkip, which has one range.
  uint64_t skip = 0;
  bool forward = true;
  ha_rows* skipped_rows = nullptr;  ///< the number of skipped rows is added to it
};

// REQUIRES: a scan of the plan's key is open and prepared.
/// Adds the rows of all ranges to `*rows`.
Status CountPlannedRows(const RowPlan& plan, TablePart* part, uint64_t* rows);
/// Moves to the first row after the skipped ones; the scan stays within the plan's range. `filter`:
/// the scan's; null: none.
Status SkipPlannedRows(const RowPlan& plan, TablePart* part, EntryFilter* filter,
                       unsigned char* record);

}  // namespace rowan
