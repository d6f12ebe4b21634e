// SPDX-License-Identifier: GPL-2.0-only
// Statistics of a partitioned table: sums over the partitions that the statement uses; rows per key
// are those of its largest one. ANALYZE, CHECK and REPAIR, one partition at a time.
#include "plugin/server/abi_guard.h"

#include "plugin/partition/ha_rowan_part.h"

#include <algorithm>

#include "my_check_opt.h"
#include "mysql/plugin.h"
#include "sql/partition_info.h"
#include "sql/sql_alter.h"
#include "sql/sql_class.h"
#include "sql/sql_lex.h"

#include "plugin/compat/server_line.h"
#include "plugin/handler/key_bounds.h"
#include "plugin/handler/table_check.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"

namespace rowan {
namespace {

/// Ranges are measured in the largest partitions and scaled to all: an estimate needs no more, and
/// a plan over a thousand partitions must not take a thousand descents.
constexpr size_t kMeasuredPartitions = 8;

}  // namespace

template <typename Visit>
void ha_rowan_part::ForUsed(Visit visit) const {
  for (uint i = m_part_info->get_first_used_partition(); i < parts_.size();
       i = m_part_info->get_next_used_partition(i)) {
    visit(i);
  }
}

Table::Statistics ha_rowan_part::SumOfStatistics() const {
  Table::Statistics sum;
  ForUsed([&](uint part) {
    const Table::Statistics figures = partitions_->table(part)->statistics();
    sum.rows += figures.rows;
    sum.clustered_pages += figures.clustered_pages;
    sum.secondary_pages += figures.secondary_pages;
    sum.file_pages += figures.file_pages;
    sum.used_pages += figures.used_pages;
  });
  return sum;
}

uint ha_rowan_part::BiggestPart() const {
  uint biggest = 0;
  uint64_t rows = 0;
  ForUsed([&](uint part) {
    const uint64_t rows_here = partitions_->table(part)->statistics().rows;
    if (rows_here < rows) return;
    rows = rows_here;
    biggest = part;
  });
  return biggest;
}

int ha_rowan_part::info(uint flag) {
  if ((flag & HA_STATUS_ERRKEY) != 0) errkey = duplicate_key_;
  if ((flag & (HA_STATUS_CONST | kStatisticsOfUsedKeys | HA_STATUS_VARIABLE)) != 0) {
    MoveTo(BiggestPart());
    key_statistics_.Publish(*part_, (flag & HA_STATUS_CONST) != 0);
  }
  if ((flag & (HA_STATUS_VARIABLE | HA_STATUS_CONST)) != 0) {
    ShowStatistics(SumOfStatistics(), flag);
  }
  if ((flag & HA_STATUS_TIME) != 0) {
    int64_t newest = 0;
    ForUsed([&](uint part) { newest = std::max(newest, partitions_->table(part)->update_time()); });
    stats.update_time = static_cast<ulong>(newest);
  }
  if ((flag & HA_STATUS_AUTO) != 0 && table->found_next_number_field != nullptr) {
    partitions_->lock_auto_inc();
    // Unless it may be wrong.
    const bool known = partitions_->uncounted() == nullptr;
    stats.auto_increment_value = known ? partitions_->next_auto_inc_val : 0;
    partitions_->unlock_auto_inc();
  }
  return 0;
}

ha_rows ha_rowan_part::records_in_range(uint index, key_range* low, key_range* high) {
  std::vector<std::pair<uint64_t, uint>> used;
  uint64_t all_rows = 0;
  ForUsed([&](uint part) {
    const uint64_t rows = partitions_->table(part)->statistics().rows;
    all_rows += rows;
    used.emplace_back(rows, part);
  });
  if (used.empty()) return 0;  // exactly
  const size_t measured = std::min(used.size(), kMeasuredPartitions);
  std::partial_sort(used.begin(), used.begin() + static_cast<ptrdiff_t>(measured), used.end(),
                    std::greater<>());
  uint64_t found = 0;
  uint64_t measured_rows = 0;
  for (size_t i = 0; i < measured; ++i) {
    Result<uint64_t> rows = EstimateRange(parts_[used[i].second], index, low, high, &estimated_);
    if (!rows.ok()) return HA_POS_ERROR;
    found += *rows;
    measured_rows += used[i].first;
  }
  if (measured_rows == 0) return std::max<ha_rows>(found, 1);
  const double share = static_cast<double>(all_rows) / static_cast<double>(measured_rows);
  return std::max<ha_rows>(static_cast<ha_rows>(static_cast<double>(found) * share), 1);
}

double ha_rowan_part::scan_time() {
  return static_cast<double>(std::max<uint64_t>(SumOfStatistics().clustered_pages, 1));
}

double ha_rowan_part::read_time(uint index, uint ranges, ha_rows rows) {
  const bool secondary = index < table->s->keys && codec().IndexNumberOfKey(index) != 0;
  if (secondary) return handler::read_time(index, ranges, rows);
  return RowsReadTime(SumOfStatistics(), ranges, rows);
}

template <typename Count>
int ha_rowan_part::SumOver(ha_rows* sum, Count count_rows) {
  *sum = 0;
  int error = 0;
  ForUsed([&](uint part) {
    if (error != 0) return;
    Select(part);
    ha_rows rows = 0;
    error = count_rows(&rows);
    *sum += rows;
  });
  if (error != 0) *sum = HA_POS_ERROR;
  return error;
}

int ha_rowan_part::records(ha_rows* count) {
  if (CountsUnderLocks()) return handler::records(count);
  return SumOver(count, [this](ha_rows* rows) { return ha_rowan::records(rows); });
}

int ha_rowan_part::records_from_index(ha_rows* count, uint index) {
  if (CountsUnderLocks()) return handler::records_from_index(count, index);
  return SumOver(count, [&](ha_rows* rows) { return ha_rowan::records_from_index(rows, index); });
}

// --- administration ---

template <typename Action>
int ha_rowan_part::Administer(const char* operation, Action action) {
  if (set_altered_partitions()) return HA_ADMIN_INVALID;
  int result = HA_ADMIN_OK;
  ForUsed([&](uint part) {
    if (result != HA_ADMIN_OK) return;
    Select(part);
    result = action(part);
    if (result == HA_ADMIN_OK) return;
    // In InnoDB's words.
    constexpr uint kTextBytesMax = 256;
    print_admin_msg(ha_thd(), kTextBytesMax, "error", table_share->db.str, table->alias, operation,
                    "%s %s returned error", m_is_sub_partitioned ? "Subpartition" : "Partition",
                    partitions_->get_partition_name(part));
  });
  return result;
}

int ha_rowan_part::analyze(THD* thd, HA_CHECK_OPT*) {
  const int result = Administer("analyze", [&](uint) { return AnalyzeTable(thd, part_); });
  info(HA_STATUS_NO_LOCK | HA_STATUS_CONST | HA_STATUS_VARIABLE);
  return result;
}

int ha_rowan_part::check(THD* thd, HA_CHECK_OPT* options) {
  return Administer("check", [&](uint part) {
    const int result = ha_rowan::check(thd, options);
    if (result != HA_ADMIN_OK || (options->flags & (T_MEDIUM | T_EXTEND)) == 0) return result;
    AttachReader();  // the check used its own read mode
    return check_misplaced_rows(part, false);
  });
}

int ha_rowan_part::repair(THD*, HA_CHECK_OPT*) {
  return Administer("repair", [&](uint part) { return check_misplaced_rows(part, true); });
}

}  // namespace rowan
