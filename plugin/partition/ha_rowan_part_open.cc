// SPDX-License-Identifier: GPL-2.0-only
// Opening a partitioned table, moving between its partitions, and where statements begin and end.
#include "plugin/server/abi_guard.h"

#include "plugin/partition/ha_rowan_part.h"

#include <cerrno>

#include "mysql/plugin.h"
#include "sql/dd/properties.h"
#include "sql/dd/types/partition.h"
#include "sql/dd/types/table.h"
#include "sql/partition_info.h"
#include "sql/sql_alter.h"
#include "sql/sql_base.h"
#include "sql/sql_class.h"
#include "sql/sql_lex.h"

#include "engine/engine.h"
#include "plugin/handler/discarded_table.h"
#include "plugin/server/instance.h"

namespace rowan {
namespace {

Result<std::unique_ptr<TableShare>> OpenPartition(TABLE* table, TableId id) {
  Result<std::unique_ptr<TableShare>> part = OpenShare(table, id);
  const Status why = part.status();
  // Or on a missing disk: lost until the table is reopened.
  const bool missing = why.detail() == ENOENT || why.detail() == ENODEV;
  const bool lost = (why.Is(Code::kIoError) && missing) || why.Is(Code::kCorrupt);
  if (!lost) return part;
  // The others stay usable, and it can be dropped or replaced.
  Result<std::shared_ptr<Table>> stand_in = g_engine->MakeStandIn(id);
  if (!stand_in.ok()) return why;
  Result<std::unique_ptr<TableShare>> made = ShareOf(table, std::move(stand_in).value());
  if (made.ok()) (*made)->SetLost(why);
  return made;
}

}  // namespace

void OpenAnewIfFound(THD* thd, const TableShare& part, const TABLE_SHARE& table) {
  if (part.lost().ok() || !g_engine->OpenTable(part.table()->id()).ok()) return;
  tdc_remove_table(thd, TDC_RT_REMOVE_UNUSED, table.db.str, table.table_name.str, false);
}

ha_rowan_part::ha_rowan_part(handlerton* hton, TABLE_SHARE* table_share_arg)
    : ha_rowan(hton, table_share_arg), Partition_helper(this) {}

ha_rowan_part::~ha_rowan_part() = default;

handler::Table_flags ha_rowan_part::table_flags() const {
  // Words are searched in one index at a time, and each partition has its own.
  constexpr Table_flags kWhole = HA_CAN_FULLTEXT | HA_CAN_FULLTEXT_EXT | HA_CAN_FULLTEXT_HINTS;
  return (ha_rowan::table_flags() | HA_CAN_REPAIR) & ~kWhole;
}

uint ha_rowan_part::alter_flags(uint) const {
  return HA_PARTITION_FUNCTION_SUPPORTED | HA_INPLACE_CHANGE_PARTITION;
}

bool ha_rowan_part::is_ignorable_error(int error) {
  return handler::is_ignorable_error(error) || error == HA_ERR_NO_PARTITION_FOUND ||
         error == HA_ERR_NOT_IN_LOCK_PARTITIONS;
}

void ha_rowan_part::print_error(int error, myf flags) {
  if (error == HA_ERR_AUTOINC_READ_FAILED && partitions_->uncounted() != nullptr) {
    RefuseUnreadable(*partitions_->uncounted(), *table_share);
    return;
  }
  if (print_partition_error(error)) ha_rowan::print_error(error, flags);
}

// --- open and close ---

int ha_rowan_part::open(const char* name, int, uint, const dd::Table* table_def) {
  if (m_part_info == nullptr) set_part_info_low(table->part_info, false);  // a clone
  lock_shared_ha_data();
  partitions_ = static_cast<PartitionedShare*>(get_ha_share_ptr());
  Status status;
  if (partitions_ == nullptr) status = OpenPartitions(table_def);
  unlock_shared_ha_data();
  if (!status.ok()) return FailOpen(ha_thd(), name, status);
  if (open_partitioning(partitions_)) return HA_ERR_OUT_OF_MEM;
  parts_.clear();
  for (size_t i = 0; i < partitions_->count(); ++i)
    parts_.emplace_back(table, partitions_->part(i));
  uses_.assign(parts_.size(), Use());
  MoveTo(0);
  PrepareBuffers();
  ref_length += PARTITION_BYTES_IN_POS;
  return info(HA_STATUS_NO_LOCK | HA_STATUS_VARIABLE | HA_STATUS_CONST);
}

Status ha_rowan_part::OpenPartitions(const dd::Table* table_def) {
  if (table_def == nullptr) return Status(Code::kNotFound, "it has no definition");
  std::vector<std::unique_ptr<TableShare>> parts;
  for (const dd::Partition* leaf : table_def->leaf_partitions()) {
    Result<std::unique_ptr<TableShare>> part = OpenPartition(table, TableId(leaf->se_private_id()));
    if (!part.ok()) return part.status();
    (*part)->SetDiscarded(IsDiscarded(leaf->se_private_data()));
    if (IsCounterLost(leaf->se_private_data())) (*part)->SetCounterLost();
    parts.push_back(std::move(*part));
  }
  if (parts.size() != m_part_info->get_tot_partitions()) {
    return Status(Code::kTableChanged, "the number of its partitions differs");
  }
  auto share = std::make_unique<PartitionedShare>(std::move(parts));
  const Status completed = CompleteShare(share.get());
  if (!completed.ok()) return completed;
  partitions_ = share.release();
  set_ha_share_ptr(partitions_);
  return Status::Ok();
}

Status ha_rowan_part::CompleteShare(PartitionedShare* share) {
  const Status failed(Code::kOutOfMemory, "no memory for its partitions");
  if (share->populate_partition_name_hash(m_part_info)) return failed;
  if (table->found_next_number_field == nullptr) return Status::Ok();
  if (share->init_auto_inc_mutex(table_share)) return failed;
  // No other thread has the share yet.
  share->next_auto_inc_val = share->AutoIncrement();
  share->auto_inc_initialized = true;
  return Status::Ok();
}

int ha_rowan_part::close() {
  for (const TablePart& part : parts_) {
    if (part.reader() != nullptr) part.reader()->PublishCounts();
  }
  part_ = &own_part_;
  parts_.clear();
  uses_.clear();
  touched_.clear();
  scanned_.clear();
  close_partitioning();
  partitions_ = nullptr;
  return ha_rowan::close();
}

// --- from one partition to another ---

void ha_rowan_part::MoveTo(uint part) {
  selected_ = part;
  part_ = &parts_[part];
}

void ha_rowan_part::Touch(uint part) {
  uses_[part].statement = statement_;
  touched_.push_back(part);
  if (reader() == nullptr) part_->MakeReader();
  AttachReader();
  reader()->SetSemiConsistent(semi_consistent_);
}

// --- statements ---

bool ha_rowan_part::LeavesOut(THD* thd, uint part) {
  const bool named = thd_sql_command(thd) == SQLCOM_ALTER_TABLE &&
                     (thd->lex->alter_info->flags & Alter_info::ALTER_ADMIN_PARTITION) != 0;
  return named && !set_altered_partitions() && !m_part_info->is_partition_used(part);
}

int ha_rowan_part::EnterStatementAs(THD* thd, thr_lock_type lock_type, bool writes) {
  const MY_BITMAP* used = &m_part_info->lock_partitions;
  for (uint i = bitmap_get_first_set(used); i != MY_BIT_NONE; i = bitmap_get_next_set(used, i)) {
    const TableShare& part = *partitions_->part(i);
    if (!part.readable() && !MayUseDiscarded(thd) && !LeavesOut(thd, i)) {
      OpenAnewIfFound(thd, part, *table_share);
      return RefuseUnreadable(part, *table_share);
    }
    const int error = part.lost().ok() ? CheckUsable(*part.table(), writes) : 0;
    if (error != 0) return error;
  }
  LeaveStatement();
  return BeginUse(thd, lock_type, writes);
}

void ha_rowan_part::SuspendScans() {
  ForTouched([this] { ha_rowan::SuspendScans(); });
}

void ha_rowan_part::LeaveStatement() {
  SuspendScans();
  touched_.clear();
  ++statement_;
}

int ha_rowan_part::extra(ha_extra_function operation) {
  switch (operation) {
    case HA_EXTRA_SECONDARY_SORT_ROWID: SortByReference(); return 0;
    case HA_EXTRA_KEYREAD_PRESERVE_FIELDS: preserves_fields_ = true; break;
    case HA_EXTRA_NO_KEYREAD:
    case HA_EXTRA_RESET_STATE: preserves_fields_ = false; break;
    case HA_EXTRA_BEGIN_ALTER_COPY: loading_ = true; return 0;
    case HA_EXTRA_END_ALTER_COPY: loading_ = false; return 0;
    case HA_EXTRA_EXPORT: return ExportPartitions();
    default: break;
  }
  const int error = ha_rowan::extra(operation);
  ForTouched([this] { part_->scan.prepared = false; });
  return error;
}

int ha_rowan_part::reset() {
  ForTouched([this] { part_->EndStatement(ha_thd()); });
  LeaveStatement();
  loading_ = false;
  semi_consistent_ = false;
  preserves_fields_ = false;
  for (Use& use : uses_) use.load_tried = false;
  return ha_rowan::reset();
}

void ha_rowan_part::unlock_row() {
  if (session_ == nullptr) return;
  Select(m_last_part);
  ha_rowan::unlock_row();
}

void ha_rowan_part::try_semi_consistent_read(bool yes) {
  if (session_ == nullptr) return;
  semi_consistent_ = yes && session_->isolation() <= IsolationLevel::kReadCommitted;
  ForTouched([this] { reader()->SetSemiConsistent(semi_consistent_); });
}

bool ha_rowan_part::was_semi_consistent_read() {
  if (session_ == nullptr) return false;
  Select(m_last_part);
  return ha_rowan::was_semi_consistent_read();
}

void ha_rowan_part::column_bitmaps_signal() {
  // Merged scans announce columns without memory, see ha_rowan's function.
  if (session_ == nullptr || table->read_set->bitmap == nullptr) return;
  ForTouched([this] { PrepareRead(); });
}

}  // namespace rowan
