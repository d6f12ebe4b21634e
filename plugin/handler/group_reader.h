// SPDX-License-Identifier: GPL-2.0-only
// GroupReader: index scans that deliver only the first rows of each group (engine/group_scan.h),
// because the statement was found to need no others (plugin/pushdown/). The server calls it as for
// any index scan: every range that it asks for consists of whole groups, as ensured by the
// recogniser that made the plan. Thread safety: the handler's.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "my_base.h"

#include "engine/group_scan.h"
#include "plugin/handler/key_read.h"
#include "plugin/handler/table_part.h"

namespace rowan {

/// What a statement has found out about the rows that it needs: only the first ones of each group.
struct GroupPlan {
  GroupWinners winners;
  /// Index scans that the server opens on this key deliver only those rows.
  uint access_key = 0;
  /// The key that sorts by group; its first parts are those by which the server searches
  /// `access_key`.
  uint group_key = 0;
  bool is_covering = false;  ///< its entries have all columns that the statement reads
  std::string description;   ///< for EXPLAIN
  /// The scan closed last, for reuse: a subquery opens one for each outer row. Used only by the
  /// statement's thread.
  mutable std::unique_ptr<GroupScan> closed_scan;
};

class GroupReader {
 public:
  /// For the statement, until its end or the next plan; null: none.
  void SetPlan(std::unique_ptr<const GroupPlan> plan) { plan_ = std::move(plan); }
  [[nodiscard]] const GroupPlan* plan() const { return plan_.get(); }
  /// True if scans of this key read groups.
  [[nodiscard]] bool Reads(uint key) const { return plan_ != nullptr && plan_->access_key == key; }

  void Open(TablePart* part);
  /// Keeps the scan for reuse by the plan.
  void Close();
  [[nodiscard]] bool is_open() const { return scan_ != nullptr; }

  /// What the handler knows of the read that the server asks for.
  struct Read {
    TablePart* part;
    KeyRead* key_read;
    RowKeys keys;
    EntryFilter* condition;  ///< null: none. A row that fails it still counts as first
    const Session* session;
    const key_range* end;  ///< of the range that the server opens; null: none
    uchar* record;
  };
  // REQUIRES: it is open. kEndOfRange: there is no such row.
  Status First(const Read& read, GroupScan::Direction direction);
  Status Next(const Read& read);
  struct Key {
    const uchar* key;
    key_part_map parts;
    ha_rkey_function flag;
  };
  Status Search(const Read& read, const Key& key);

 private:
  void Prepare(const Read& read) const;
  Status PassCondition(const Read& read, Status found);
  key_part_map EncodeKey(const Read& read, const Key& key, ByteBuffer* encoded) const;
  Bytes EndOf(const Read& read);

  std::unique_ptr<const GroupPlan> plan_;
  std::unique_ptr<GroupScan> scan_;
  ByteBuffer low_;
  ByteBuffer after_;
  ByteBuffer end_;
};

}  // namespace rowan
