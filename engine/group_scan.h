// SPDX-License-Identifier: GPL-2.0-only
// GroupScan: reads only the first (or last) rows of each group of an index. A group is all entries
// that share the leading `group_parts` of the key; within a group the next `order_parts` are the
// order in which its rows are ranked. The scan seeks from group to group, so what it reads of a
// group does not depend on its size. Where groups turn out to be small it steps over the rest of
// one: that reads whole leaves, and no more than `kStepsMax` superfluous entries before it seeks
// after all.
//
// The first row is the first that the reader's snapshot shows: a seek of the TableCursor skips the
// others. A scan covers a range of whole groups, in either direction.
// Thread safety: one thread at a time, like TableCursor.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "engine/catalog/cardinalities.h"
#include "engine/row_codec.h"
#include "engine/table_cursor.h"

namespace rowan {

/// Which rows of each group to deliver.
struct GroupWinners {
  enum class Count : uint8_t {
    kRows,       ///< the first `most` rows
    kRank,       ///< those with fewer than `most` rows before them; ties share a rank
    kDenseRank,  ///< those with the first `most` values of the order
  };
  uint32_t index_number = 0;
  uint32_t group_parts = 0;
  uint32_t order_parts = 0;  ///< at least 1 unless kRows
  bool from_end = false;     ///< the last rows of the group instead of the first
  Count count = Count::kRows;
  uint64_t most = 1;  ///< at least 1
  /// Rows whose order is NULL count only if the group has no others. REQUIRES: order_parts is 1.
  bool passes_nulls = false;

  bool operator==(const GroupWinners&) const = default;
};

class GroupScan : private EntryGate {
 public:
  static constexpr uint32_t kStepsMax = 8;  // a seek on the leaf costs as much as 5 to 10 steps

  /// Entries in [low, high), neither bound within a group; empty: no bound.
  struct Range {
    Bytes low{};
    Bytes high{};
    bool is_group = false;  ///< `low` is the prefix of one whole group, and `high` is just after it
  };
  using Direction = rowan::Direction;

  /// Both outlive the scan. The cursor's scan is opened and closed by its owner, on the index.
  GroupScan(TableCursor* cursor, const KeyParts* parts, const GroupWinners& winners)
      : cursor_(cursor), parts_(parts), winners_(winners) {}

  [[nodiscard]] const GroupWinners& winners() const { return winners_; }
  /// The first row of the first group in the direction. Errors: those of TableCursor.
  Status Begin(const Range& range, Direction direction, void* record);
  /// REQUIRES: Begin, and no error since. kEndOfRange: there are no more.
  Status Next(void* record);

 private:
  /// Groups are reached at the end where their first row is.
  [[nodiscard]] bool aligned() const { return forward_ != winners_.from_end; }
  bool Admits(Bytes key, Bytes payload, Bytes* go_on) override;
  Status EnterGroup(Status found, void* record);
  Status SeekBehindNulls(void* record);
  Status GoToNextGroup(void* record);
  Status StepToNextGroup(void* record);
  Status SeekBehind(Bytes prefix, bool forwards, void* record);
  Status SeekFirstOf(Bytes prefix, bool forwards, void* record);
  /// False: the rank of the cursor's row is not wanted. Otherwise the row is counted.
  bool Wants();
  [[nodiscard]] KeyParts::GroupKey Split() const;

  TableCursor* const cursor_;
  const KeyParts* const parts_;
  const GroupWinners winners_;
  bool forward_ = true;
  bool is_group_ = false;       ///< the range is one group
  bool stepping_ = false;       ///< to the next group: entries of this one are not admitted
  uint32_t stepped_ = 0;        ///< entries that were not admitted
  uint32_t steps_most_ = 2;     ///< entries of a group to step over before a seek
  uint32_t seeks_to_come_ = 0;  ///< groups to seek before steps are tried again
  ByteBuffer group_;            ///< key prefix of the group that is being delivered
  ByteBuffer order_;            ///< group and order parts of the row delivered last
  ByteBuffer seek_;
  uint64_t rows_ = 0;    ///< delivered of the group
  uint64_t values_ = 0;  ///< distinct order values among them
};

}  // namespace rowan
