// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/alter_job.h"

#include <algorithm>
#include <utility>

#include "mysqld_error.h"
#include "sql/current_thd.h"
#include "sql/dd/properties.h"
#include "sql/dd/types/table.h"
#include "sql/derror.h"
#include "sql/sql_alter.h"
#include "sql/sql_class.h"
#include "sql/table.h"

#include "plugin/handler/alter_checks.h"
#include "plugin/handler/create_checks.h"
#include "plugin/handler/discarded_table.h"
#include "plugin/handler/spare_record.h"
#include "plugin/handler/stopword_table.h"
#include "plugin/handler/table_description.h"
#include "plugin/server/dictionary_tables.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"
#include "plugin/server/instruments.h"
#include "plugin/server/system_variables.h"
#include "plugin/server/table_statistics.h"
#include "plugin/server/thd_context.h"

namespace rowan {
namespace {

BuildLimits LimitsOfBuild(THD* thd) {
  constexpr size_t kSortMemoryBytes = size_t{64} << 20;  // shared by the indexes of one statement
  return {kSortMemoryBytes, OnlineAlterLogBytesMax(), DdlThreads(thd)};
}

void NeedColumnsOf(const KEY& key, MY_BITMAP* columns) {
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    bitmap_set_bit(columns, key.key_part[i].fieldnr - 1u);
  }
}

bool SameDefinition(const TableDef& one, const TableDef& other) {
  const auto same = [](const IndexDef& left, const IndexDef& right) {
    return left.id == right.id && left.name == right.name && left.descriptor == right.descriptor;
  };
  return one.descriptor == other.descriptor &&
         std::equal(one.indexes.begin(), one.indexes.end(), other.indexes.begin(),
                    other.indexes.end(), same);
}

}  // namespace

bool FailAlter(const TABLE& table, Status status) {
  // The server's own error, for a value that cannot be converted, has already been raised.
  if (!status.ok() && !current_thd->is_error()) {
    table.file->handler::print_error(HandlerError(current_thd, status), MYF(0));
  }
  return !status.ok();
}

// --- what is possible ---

enum_alter_inplace_result AlterJob::RefuseInPlace() const {
  info_.unsupported_reason = ReasonForCopy(current_thd, info_);
  return HA_ALTER_INPLACE_NOT_SUPPORTED;
}

enum_alter_inplace_result AlterJob::Check() {
  THD* thd = current_thd;
  if (!share_.lost().ok() || (share_.discarded() && !LeavesDiscardedRows(info_.handler_flags))) {
    RefuseUnreadable(share_, *table_->s);
    return HA_ALTER_ERROR;
  }
  ColumnMap columns;
  if (!MayDoWithoutCopy(thd, info_) || !MapColumns(*table_, *info_.alter_info, &columns)) {
    return RefuseInPlace();
  }
  // What would be refused goes through a copy, whose CREATE reports why.
  if (UnsupportedOption(thd, altered_, *info_.create_info).refuses()) return RefuseInPlace();
  std::string refusal;
  Result<std::unique_ptr<TableCodec>> made =
      TableCodec::Make(altered_, g_engine->options().storage.page_size_bytes, &refusal);
  if (!made.ok() || altered_->s->fields > kColumnsMax) return RefuseInPlace();
  codec_ = std::move(*made);
  const bool grows = std::find(columns.begin(), columns.end(), kNoColumn) != columns.end();
  if (!ChooseRebuild(std::move(columns))) return RefuseInPlace();
  FindStayingIndexes();
  const Status chosen = ChooseWords(&refusal);
  if (chosen.Is(Code::kUnsupported)) return RefuseInPlace();
  if (Fails(chosen)) return HA_ALTER_ERROR;
  const bool checks = grows || rebuilds_ || builds();
  if (checks && !codec_->CheckLimits().ok()) return RefuseInPlace();
  if (thd_sql_command(thd) != SQLCOM_OPTIMIZE) {  // otherwise CREATE does
    NoteIgnoredOptions(thd, altered_, *info_.create_info);
  }
  const bool drops = former_.size() != share_.table()->index_count();
  return rebuilds_ || builds() || drops ? HA_ALTER_INPLACE_NO_LOCK_AFTER_PREPARE
                                        : HA_ALTER_INPLACE_INSTANT;
}

bool AlterJob::ChooseRebuild(ColumnMap columns) {
  // The server has put the values of new columns into this record. Values that no row may have must
  // not appear in deleted rows either, which older snapshots read; the server itself checks whether
  // the table is empty.
  rebuilds_ = WantsRebuild(info_) || !codec().RowsStay(columns, *codec_) ||
              !codec_->InheritHistory(codec(), columns, altered_->record[0]);
  former_columns_ = std::move(columns);
  return !rebuilds_ || KeepsKeys();
}

/// Rows keep their clustered key, or get one.
bool AlterJob::KeepsKeys() const {
  // A NULL is an error in strict mode only.
  const bool checks_nulls =
      (info_.handler_flags & Alter_inplace_info::ALTER_COLUMN_NOT_NULLABLE) != 0;
  if (checks_nulls && !current_thd->is_strict_mode()) return false;
  return codec_->has_primary_key() || !codec().has_primary_key();
}

void AlterJob::FindStayingIndexes() {
  former_.assign(altered_->s->keys + (codec_->has_primary_key() ? 0 : 1), 0);
  for (uint32_t i = 1; i < former_.size() && !rebuilds_; ++i) former_[i] = IndexThatStays(i);
}

/// Number of the existing index that serves as the new one, with its words; 0: it must be built,
/// with those that ChooseWords finds. When a column becomes longer, the server lists indexes that
/// stay as dropped and added.
uint32_t AlterJob::IndexThatStays(uint32_t index_number) {
  const KEY& key = altered_->key_info[codec_->KeyOfIndexNumber(index_number)];
  const uint former_key = FormerKey(*table_, info_, key.name);
  if (former_key == MAX_KEY) return 0;
  const uint32_t former = codec().IndexNumberOfKey(former_key);
  codec_->TakeWordLimits(index_number, codec(), former);
  return codec().EntriesStay(former, former_columns_, *codec_, index_number) ? former : 0;
}

bool AlterJob::builds() const {
  return std::find(former_.begin() + 1, former_.end(), 0u) != former_.end();
}

/// FULLTEXT indexes to be built get the words of the current settings. If all stay, no stopword
/// table is read.
Status AlterJob::ChooseWords(std::string* refusal) {
  std::vector<uint32_t> built;
  for (uint32_t i = 1; i < former_.size(); ++i) {
    if (former_[i] == 0 && codec_->TextIndexAt(i) != nullptr) built.push_back(i);
  }
  if (built.empty()) return Status::Ok();
  WordLimits limits;
  const Status status = WordLimitsNow(current_thd, &limits, refusal);
  if (!status.ok()) return status;
  for (const uint32_t i : built) codec_->SetWordLimits(i, limits);
  return Status::Ok();
}

// --- before and while the table is in use ---

bool AlterJob::Prepare() {
  if (!rebuilds_ && !builds()) return false;
  ThdContext* connection = ContextOf(current_thd);
  if (Fails(EnterCatalogChange(current_thd, connection))) return true;
  Session* const session = connection->session.get();
  return rebuilds_ ? PrepareRebuild(session) : PrepareBuild(session);
}

bool AlterJob::PrepareBuild(Session* session) {
  const RowCodec* reads_rows = codec_.get();
  if (ComputedColumns::AreIn(*altered_)) {
    computed_columns_ = std::make_unique<ComputedColumns>(altered_, codec_.get());
    reads_rows = computed_columns_.get();
  }
  ChooseColumns();
  std::vector<IndexBuild::NewIndex> wanted;
  for (uint32_t i = 1; i < former_.size(); ++i) {
    if (former_[i] == 0) wanted.push_back({.index_number = i});
  }
  const IndexBuild::Rows rows{reads_rows, &wanted_, altered_->record[0], RecordMaker()};
  build_ = std::make_unique<IndexBuild>(session, share_.table()->shared_from_this(), rows,
                                        LimitsOfBuild(current_thd));
  return Fails(build_->Start(std::move(wanted)));
}

void AlterJob::ChooseColumns() {
  const uint fields = altered_->s->fields;
  column_bits_.resize(bitmap_buffer_size(fields) / sizeof(my_bitmap_map) + 1);
  bitmap_init(&columns_, column_bits_.data(), fields);
  for (uint32_t i = codec_->has_primary_key() ? 0 : 1; i < former_.size(); ++i) {
    if (i != 0 && former_[i] != 0) continue;
    NeedColumnsOf(altered_->key_info[codec_->KeyOfIndexNumber(i)], &columns_);
  }
  if (computed_columns_ != nullptr) computed_columns_->AddSources(&columns_);
  wanted_.Set(codec_->layout(), &columns_);
}

/// For threads other than the server's. Null if rows have computed columns: only the server's
/// thread can compute them, in the table's own record.
std::function<std::shared_ptr<void>()> AlterJob::RecordMaker() const {
  if (computed_columns_ != nullptr) return nullptr;
  return [share = altered_->s] { return NewSpareRecord(*share); };
}

bool AlterJob::PrepareRebuild(Session* session) {
  conversion_ = std::make_unique<FieldConversion>(*table_, altered_, former_columns_, codec_.get());
  const bool same_keys = codec().has_primary_key() == codec_->has_primary_key() &&
                         codec().EntriesStay(0, former_columns_, *codec_, 0);
  rebuild_ = std::make_unique<TableRebuild>(
      session, share_.table()->shared_from_this(),
      OnlineScan::Rows{&codec(), nullptr, table_->record[0]}, conversion_.get(),
      same_keys ? TableRebuild::Keys::kSame : TableRebuild::Keys::kOther,
      LimitsOfBuild(current_thd));
  return Fails(rebuild_->Start(DescribeTable(altered_, *codec_, share_.table()->name())));
}

bool AlterJob::Build() {
  const StatementStages stages(current_thd, ContextOf(current_thd)->session.get());
  Status status;
  if (rebuild_ != nullptr) status = rebuild_->Build();
  if (build_ != nullptr) status = build_->Build();
  return FailsToBuild(status);
}

bool AlterJob::FailsToBuild(Status status) {
  if (!status.Is(Code::kDuplicate)) return Fails(status);
  const Status shown =
      rebuilds_ ? rebuild_->ReadDuplicate(status.detail()) : build_->ReadDuplicate(status.detail());
  if (Fails(shown)) return true;
  KEY* key = &altered_->key_info[codec_->KeyOfIndexNumber(status.detail())];
  print_keydup_error(altered_, key, ER_THD(current_thd, ER_DUP_ENTRY_WITH_KEY_NAME), MYF(0),
                     table_->s->table_name.str);
  return true;
}

// --- in the dictionary's transaction ---

void AlterJob::Undo() {
  build_.reset();
  rebuild_.reset();
}

bool AlterJob::Finish(const dd::Table& old_def, dd::Table* new_def) {
  std::shared_ptr<Table> now;
  if (rebuilds_) {
    const uint64_t next = sets_auto_increment() ? info_.create_info->auto_increment_value : 0;
    if (FailsToBuild(rebuild_->Finish(next))) return true;
    now = rebuild_->table();
    rebuild_.reset();
  } else if (FinishInPlace(&now)) {
    return true;
  }
  new_def->set_se_private_id(now->id().value());
  new_def->set_se_private_data(old_def.se_private_data());
  if (changed_by_ != 0) new_def->se_private_data().set(kChangedByProperty, changed_by_);
  RememberForStatistics(*altered_, new_def);
  return false;
}

/// The table's definition with its new names and indexes.
TableDef AlterJob::DefinitionAfter() const {
  const TableDef& before = share_.table()->definition();
  TableDef after = DescribeTable(altered_, *codec_, before.name);
  after.id = before.id;
  after.space = before.space;
  for (uint32_t i = 0; i < after.indexes.size(); ++i) {
    const IndexDef& stays = before.indexes[former_[i]];
    after.indexes[i].id = stays.id;
    after.indexes[i].root = stays.root;
  }
  if (build_ == nullptr) return after;
  for (const IndexBuild::NewIndex& built : build_->indexes()) {
    after.indexes[built.index_number].id = built.id;
    after.indexes[built.index_number].root = built.root;
  }
  return after;
}

bool AlterJob::FinishInPlace(std::shared_ptr<Table>* now) {
  if (build_ != nullptr && FailsToBuild(build_->Finish())) return true;
  *now = share_.table()->shared_from_this();
  TableDef after = DefinitionAfter();
  if (!SameDefinition((*now)->definition(), after)) {
    ThdContext* connection = ContextOf(current_thd);
    if (Fails(EnterCatalogChange(current_thd, connection))) return true;
    Result<std::shared_ptr<Table>> made =
        g_engine->AlterTable(connection->session.get(), std::move(after));
    if (!made.ok()) return Fails(made.status());
    *now = std::move(*made);
    changed_by_ = connection->session->txn_number();
  }
  if (!sets_auto_increment()) return false;
  // Too small a value is raised above the column's largest when the table is next opened.
  return Fails((*now)->SetAutoIncrement(info_.create_info->auto_increment_value));
}

}  // namespace rowan
