// SPDX-License-Identifier: GPL-2.0-only
// ALTER TABLE without a copy (docs/alter.md). What is possible is found by comparing what the old
// and the new definition make of the stored bytes: rows that read the same stay, indexes whose
// entries do stay, others are built in place while the table is in use. What needs neither is
// INSTANT. Rows that do not read the same, but whose values keep their meaning, go into a new table
// while the former one is in use. The catalog changes in the server's commit phase, in the
// transaction of the dictionary.
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "my_bitmap.h"
#include "mysqld_error.h"
#include "sql/create_field.h"
#include "sql/current_thd.h"
#include "sql/dd/properties.h"
#include "sql/dd/types/table.h"
#include "sql/derror.h"
#include "sql/sql_alter.h"
#include "sql/sql_class.h"

#include "engine/build/index_build.h"
#include "engine/build/table_rebuild.h"
#include "plugin/codec/table_layout.h"
#include "plugin/handler/create_checks.h"
#include "plugin/handler/discarded_table.h"
#include "plugin/handler/field_conversion.h"
#include "plugin/handler/stopword_table.h"
#include "plugin/handler/table_description.h"
#include "plugin/server/dictionary_tables.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"
#include "plugin/server/instruments.h"
#include "plugin/server/system_variables.h"
#include "plugin/server/table_statistics.h"

namespace rowan {
namespace {

using Changes = Alter_inplace_info;

/// What the dictionary alone knows of, or what the comparison decides about.
constexpr Changes::HA_ALTER_FLAGS kDictionaryChanges =
    Changes::ADD_STORED_BASE_COLUMN | Changes::ADD_VIRTUAL_COLUMN | Changes::DROP_STORED_COLUMN |
    Changes::DROP_VIRTUAL_COLUMN | Changes::ALTER_STORED_COLUMN_ORDER |
    Changes::ALTER_VIRTUAL_COLUMN_ORDER | Changes::ALTER_COLUMN_NAME |
    Changes::ALTER_COLUMN_DEFAULT | Changes::ALTER_COLUMN_EQUAL_PACK_LENGTH |
    Changes::ALTER_STORED_COLUMN_TYPE | Changes::ALTER_COLUMN_INDEX_LENGTH |
    Changes::ALTER_COLUMN_STORAGE_TYPE | Changes::ALTER_COLUMN_COLUMN_FORMAT |
    Changes::ALTER_COLUMN_VISIBILITY | Changes::ALTER_COLUMN_MASKING |
    Changes::CHANGE_CREATE_OPTION | Changes::ALTER_RENAME | Changes::RENAME_INDEX |
    Changes::ALTER_INDEX_COMMENT | Changes::CHANGE_INDEX_OPTION | Changes::ADD_CHECK_CONSTRAINT |
    Changes::DROP_CHECK_CONSTRAINT | Changes::SUSPEND_CHECK_CONSTRAINT | Changes::DROP_FOREIGN_KEY;
/// Changes made in place, though not instantly.
constexpr Changes::HA_ALTER_FLAGS kIndexChanges = Changes::ADD_INDEX | Changes::ADD_UNIQUE_INDEX |
                                                  Changes::ADD_SPATIAL_INDEX | Changes::DROP_INDEX |
                                                  Changes::DROP_UNIQUE_INDEX;
/// Changes that make a new table of the existing rows.
constexpr Changes::HA_ALTER_FLAGS kRebuildChanges =
    Changes::RECREATE_TABLE | Changes::ADD_PK_INDEX | Changes::DROP_PK_INDEX |
    Changes::ALTER_COLUMN_NULLABLE | Changes::ALTER_COLUMN_NOT_NULLABLE;

/// Shared by the indexes of one statement.
constexpr size_t kSortMemoryBytes = size_t{64} << 20;

/// Whether the server says that values keep their meaning. It denies that for a VARCHAR that comes
/// to need two length bytes in its records, which ours never have.
bool ValuesStay(Field* before, const Create_field& after) {
  if (before->is_gcol() != after.is_gcol()) return false;
  if (before->is_equal(&after) != IS_EQUAL_NO) return true;
  return before->real_type() == MYSQL_TYPE_VARCHAR && after.sql_type == MYSQL_TYPE_VARCHAR &&
         before->charset() == after.charset &&
         after.max_display_width_in_bytes() >= before->field_length && !before->is_gcol();
}

/// A new column that has one value in all rows there are, or is computed from others.
bool HasOneValue(const Create_field& column) {
  if (column.is_virtual_gcol()) return true;
  return column.m_default_val_expr == nullptr && (column.auto_flags & Field::NEXT_NUMBER) == 0 &&
         column.gcol_info == nullptr;
}

/// What each column was before. False when one means something else now, or has a value for each
/// row.
bool MapColumns(const TABLE& table, const Alter_info& alter, ColumnMap* former) {
  for (const Create_field& column : alter.create_list) {
    const bool is_new = column.field == nullptr;
    const uint32_t before = is_new ? kNoColumn : column.field->field_index();
    former->push_back(before);
    if (is_new ? !HasOneValue(column) : !ValuesStay(table.field[before], column)) return false;
  }
  return true;
}

/// For the error that ALGORITHM=INPLACE, INSTANT or LOCK=NONE gets: 1846 with it, 1845 without.
const char* ReasonForCopy(THD* thd, const Alter_inplace_info& info) {
  const auto flags = info.handler_flags;
  const bool instant =
      info.alter_info->requested_algorithm == Alter_info::ALTER_TABLE_ALGORITHM_INSTANT;
  if ((flags & Changes::ADD_FOREIGN_KEY) != 0) {
    return ER_THD(thd, ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_FK_CHECK);
  }
  if ((flags & Changes::ALTER_STORED_COLUMN_TYPE) != 0) {
    return instant ? ER_THD(thd, ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_COLUMN_TYPE_INSTANT)
                   : ER_THD(thd, ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_COLUMN_TYPE);
  }
  const auto pk = flags & (Changes::ADD_PK_INDEX | Changes::DROP_PK_INDEX);
  if (pk == Changes::DROP_PK_INDEX) {
    return ER_THD(thd, ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_NOPK);
  }
  if ((flags & Changes::ALTER_COLUMN_NOT_NULLABLE) != 0 && !thd->is_strict_mode()) {
    return ER_THD(thd, ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_NOT_NULL);
  }
  return nullptr;
}

bool SameName(const char* one, const char* other) {
  return my_strcasecmp(system_charset_info, one, other) == 0;
}

/// What the index with this name was called before; null: another one had the name.
const char* FormerName(const Alter_inplace_info& info, const char* name) {
  const char* former = name;
  for (uint i = 0; i < info.index_rename_count; ++i) {
    const KEY_PAIR& renamed = info.index_rename_buffer[i];
    if (SameName(renamed.new_key->name, name)) return renamed.old_key->name;
    if (SameName(renamed.old_key->name, name)) former = nullptr;
  }
  return former;
}

/// Number of the index that stays as the new definition's, with its words; 0: it has to be built,
/// with those that ChooseWords finds. The server also lists indexes as dropped and added that stay,
/// when a column becomes longer.
uint32_t IndexNumberThatStays(const TABLE& table, const TableCodec& before, const char* former,
                              const ColumnMap& columns, uint32_t after_number, TableCodec* after) {
  for (uint i = 0; former != nullptr && i < table.s->keys; ++i) {
    if (!SameName(table.key_info[i].name, former)) continue;
    const uint32_t index_number = before.IndexNumberOfKey(i);
    after->TakeWordLimits(after_number, before, index_number);
    const bool stays = before.EntriesStay(index_number, columns, *after, after_number);
    return stays ? index_number : 0;
  }
  return 0;
}

BuildLimits LimitsOfBuild(THD* thd) {
  return {kSortMemoryBytes, OnlineAlterLogBytesMax(), DdlThreads(thd)};
}

/// What an ALTER does, between the server's calls.
class AlterContext : public inplace_alter_handler_ctx {
 public:
  std::unique_ptr<TableCodec> codec;  ///< of the new definition
  std::vector<uint32_t> former;       ///< by its numbers: the index that stays, 0 = to be built
  std::vector<my_bitmap_map> column_bits;
  MY_BITMAP columns{};                                ///< that the build needs
  std::unique_ptr<ComputedColumns> computed_columns;  ///< null: none is in an index
  std::unique_ptr<IndexBuild> build;                  ///< null: nothing to build
  bool rebuilds = false;                              ///< rows go into a new table
  uint64_t changed_by = 0;  ///< the transaction that changed the engine's definition; 0: none
  ColumnMap former_columns;
  std::unique_ptr<FieldConversion> conversion;
  std::unique_ptr<TableRebuild> rebuild;  ///< null unless it rebuilds

  [[nodiscard]] bool builds() const {
    return std::find(former.begin() + 1, former.end(), 0u) != former.end();
  }
  /// An index goes or comes.
  [[nodiscard]] bool changes_indexes(size_t indexes_before) const {
    return builds() || former.size() != indexes_before;
  }
};

void NeedColumnsOf(const KEY& key, MY_BITMAP* columns) {
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    bitmap_set_bit(columns, key.key_part[i].fieldnr - 1u);
  }
}

void ChooseColumns(const TABLE& altered, AlterContext* context) {
  const uint fields = altered.s->fields;
  context->column_bits.resize(bitmap_buffer_size(fields) / sizeof(my_bitmap_map) + 1);
  bitmap_init(&context->columns, context->column_bits.data(), fields);
  const TableCodec& codec = *context->codec;
  if (codec.has_primary_key()) {
    NeedColumnsOf(altered.key_info[codec.KeyOfIndexNumber(0)], &context->columns);
  }
  for (uint32_t i = 1; i < context->former.size(); ++i) {
    if (context->former[i] != 0) continue;
    NeedColumnsOf(altered.key_info[codec.KeyOfIndexNumber(i)], &context->columns);
  }
  if (context->computed_columns != nullptr) {
    context->computed_columns->AddSources(&context->columns);
  }
}

/// For threads other than the server's. Null where rows have columns that are computed: only the
/// server's thread can do that, in the table's own record.
std::function<std::shared_ptr<void>()> RecordMaker(const TABLE& altered,
                                                   const AlterContext& context) {
  if (context.computed_columns != nullptr) return nullptr;
  return [share = altered.s]() -> std::shared_ptr<void> {
    const std::shared_ptr<uchar[]> record(new uchar[share->rec_buff_length]);
    std::copy_n(share->default_values, share->reclength, record.get());
    return {record, record.get()};
  };
}

/// Rows keep their clustered key, or get one.
bool CanRebuild(const Alter_inplace_info& info, const TableCodec& before, const TableCodec& after) {
  // A NULL is an error in strict mode only.
  const bool checks_nulls = (info.handler_flags & Changes::ALTER_COLUMN_NOT_NULLABLE) != 0;
  if (checks_nulls && !current_thd->is_strict_mode()) return false;
  return after.has_primary_key() || !before.has_primary_key();
}

void FindFormerIndexes(const Alter_inplace_info& info, const TABLE& table, const TableCodec& before,
                       const TABLE& altered, AlterContext* context) {
  TableCodec& after = *context->codec;
  const uint32_t indexes = altered.s->keys + (after.has_primary_key() ? 0 : 1);
  context->former.assign(indexes, 0);
  for (uint32_t i = 1; i < indexes && !context->rebuilds; ++i) {
    const KEY& key = altered.key_info[after.KeyOfIndexNumber(i)];
    context->former[i] = IndexNumberThatStays(table, before, FormerName(info, key.name),
                                              context->former_columns, i, &after);
  }
}

/// FULLTEXT indexes that are to be built get the words of today's settings. Where all stay, a
/// stopword table is not looked at.
Status ChooseWords(THD* thd, AlterContext* context, std::string* refusal) {
  TableCodec* after = context->codec.get();
  std::vector<uint32_t> built;
  for (uint32_t i = 1; i < context->former.size(); ++i) {
    if (context->former[i] == 0 && after->TextIndexAt(i) != nullptr) built.push_back(i);
  }
  if (built.empty()) return Status::Ok();
  WordLimits limits;
  const Status status = WordLimitsNow(thd, &limits, refusal);
  if (!status.ok()) return status;
  for (const uint32_t i : built) after->SetWordLimits(i, limits);
  return Status::Ok();
}

/// The table with its new names and indexes.
TableDef DefinitionAfter(const TableDef& before, const TABLE& altered,
                         const AlterContext& context) {
  TableDef after = DescribeTable(&altered, *context.codec, before.name);
  after.id = before.id;
  after.space = before.space;
  for (uint32_t i = 0; i < after.indexes.size(); ++i) {
    const IndexDef& stays = before.indexes[context.former[i]];
    after.indexes[i].id = stays.id;
    after.indexes[i].root = stays.root;
  }
  if (context.build == nullptr) return after;
  for (const IndexBuild::NewIndex& built : context.build->indexes()) {
    after.indexes[built.index_number].id = built.id;
    after.indexes[built.index_number].root = built.root;
  }
  return after;
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

enum_alter_inplace_result ha_rowan::check_if_supported_inplace_alter(TABLE* altered_table,
                                                                     Alter_inplace_info* info) {
  THD* thd = ha_thd();
  if (!part_->share()->lost().ok() ||
      (part_->share()->discarded() && !LeavesDiscardedRows(info->handler_flags))) {
    RefuseUnreadable(*part_->share(), *table_share);
    return HA_ALTER_ERROR;
  }
  const auto unsupported = [&] {
    info->unsupported_reason = ReasonForCopy(thd, *info);
    return HA_ALTER_INPLACE_NOT_SUPPORTED;
  };
  auto possible = kDictionaryChanges | kIndexChanges | kRebuildChanges;
  // Foreign keys are in the server's dictionary alone. Only rows that are to be checked are copied.
  if (thd_test_options(thd, OPTION_NO_FOREIGN_KEY_CHECKS) != 0) {
    possible |= Changes::ADD_FOREIGN_KEY;
  }
  if ((info->handler_flags & ~possible) != 0) return unsupported();
  ColumnMap columns;
  if (!MapColumns(*table, *info->alter_info, &columns)) return unsupported();
  // What would be refused goes through a copy, whose CREATE says why.
  if (UnsupportedOption(thd, altered_table, *info->create_info).refuses()) {
    return unsupported();
  }
  std::string refusal;
  Result<std::unique_ptr<TableCodec>> made =
      TableCodec::Make(altered_table, g_engine->options().storage.page_size_bytes, &refusal);
  if (!made.ok() || altered_table->s->fields > kColumnsMax) return unsupported();
  auto* context = new (thd->mem_root) AlterContext();
  if (context == nullptr) return HA_ALTER_ERROR;
  info->handler_ctx = context;
  context->codec = std::move(*made);
  // The server has put the values of new columns into this record. Those that no row may have are
  // not to be seen in deleted rows either, which older snapshots read; the server itself checks
  // whether the table is empty.
  context->rebuilds = (info->handler_flags & kRebuildChanges) != 0 || info->error_if_not_empty ||
                      !codec().RowsStay(columns, *context->codec) ||
                      !context->codec->InheritHistory(codec(), columns, altered_table->record[0]);
  const bool grows = std::find(columns.begin(), columns.end(), kNoColumn) != columns.end();
  context->former_columns = std::move(columns);
  if (context->rebuilds && !CanRebuild(*info, codec(), *context->codec)) return unsupported();
  FindFormerIndexes(*info, *table, codec(), *altered_table, context);
  const Status chosen = ChooseWords(thd, context, &refusal);
  if (chosen.Is(Code::kUnsupported)) return unsupported();
  if (FailAlter(chosen)) return HA_ALTER_ERROR;
  const bool checks = grows || context->rebuilds || context->builds();
  if (checks && !context->codec->CheckLimits().ok()) return unsupported();
  if (thd_sql_command(thd) != SQLCOM_OPTIMIZE) {  // otherwise CREATE does
    NoteIgnoredOptions(thd, altered_table, *info->create_info);
  }
  const bool instant =
      !context->rebuilds && !context->changes_indexes(engine_table()->index_count());
  return instant ? HA_ALTER_INPLACE_INSTANT : HA_ALTER_INPLACE_NO_LOCK_AFTER_PREPARE;
}

bool ha_rowan::FailAlter(Status status) {
  // The server's own error, of a value that cannot be converted, has been raised already.
  if (!status.ok() && !ha_thd()->is_error()) handler::print_error(Fail(status), MYF(0));
  return !status.ok();
}

bool ha_rowan::prepare_inplace_alter_table(TABLE* altered_table, Alter_inplace_info* info,
                                           const dd::Table*, dd::Table*) {
  auto* context = static_cast<AlterContext*>(info->handler_ctx);
  if (context->rebuilds) return PrepareRebuild(altered_table, info);
  if (!context->builds()) return false;
  ThdContext* connection = ContextOf(ha_thd());
  const Status entered = EnterCatalogChange(ha_thd(), connection);
  if (!entered.ok()) return FailAlter(entered);
  const RowCodec* reads_rows = context->codec.get();
  if (ComputedColumns::AreIn(*altered_table)) {
    context->computed_columns =
        std::make_unique<ComputedColumns>(altered_table, context->codec.get());
    reads_rows = context->computed_columns.get();
  }
  ChooseColumns(*altered_table, context);
  std::vector<IndexBuild::NewIndex> wanted;
  for (uint32_t i = 1; i < context->former.size(); ++i) {
    if (context->former[i] == 0) wanted.push_back({.index_number = i});
  }
  const IndexBuild::Rows rows{reads_rows, &context->columns, altered_table->record[0],
                              RecordMaker(*altered_table, *context)};
  context->build = std::make_unique<IndexBuild>(
      connection->session.get(), engine_table()->shared_from_this(), rows, LimitsOfBuild(ha_thd()));
  return FailAlter(context->build->Start(std::move(wanted)));
}

bool ha_rowan::PrepareRebuild(TABLE* altered_table, Alter_inplace_info* info) {
  auto* context = static_cast<AlterContext*>(info->handler_ctx);
  ThdContext* connection = ContextOf(ha_thd());
  const Status entered = EnterCatalogChange(ha_thd(), connection);
  if (!entered.ok()) return FailAlter(entered);
  const TableCodec& after = *context->codec;
  context->conversion =
      std::make_unique<FieldConversion>(*table, altered_table, context->former_columns, &after);
  const bool same_keys = codec().has_primary_key() == after.has_primary_key() &&
                         codec().EntriesStay(0, context->former_columns, after, 0);
  context->rebuild = std::make_unique<TableRebuild>(
      connection->session.get(), engine_table()->shared_from_this(),
      OnlineScan::Rows{&codec(), nullptr, table->record[0]}, context->conversion.get(),
      same_keys ? TableRebuild::Keys::kSame : TableRebuild::Keys::kOther, LimitsOfBuild(ha_thd()));
  return FailAlter(
      context->rebuild->Start(DescribeTable(altered_table, after, engine_table()->name())));
}

bool ha_rowan::FailBuild(Status status, TABLE* altered_table, const Alter_inplace_info& info) {
  auto* context = static_cast<AlterContext*>(info.handler_ctx);
  if (!status.Is(Code::kDuplicate)) return FailAlter(status);
  const Status shown = context->rebuilds ? context->rebuild->ReadDuplicate(status.detail())
                                         : context->build->ReadDuplicate(status.detail());
  if (!shown.ok()) return FailAlter(shown);
  KEY* key = &altered_table->key_info[context->codec->KeyOfIndexNumber(status.detail())];
  print_keydup_error(altered_table, key, ER_THD(ha_thd(), ER_DUP_ENTRY_WITH_KEY_NAME), MYF(0),
                     table_share->table_name.str);
  return true;
}

bool ha_rowan::inplace_alter_table(TABLE* altered_table, Alter_inplace_info* info, const dd::Table*,
                                   dd::Table*) {
  auto* context = static_cast<AlterContext*>(info->handler_ctx);
  const StatementStages stages(ha_thd(), ContextOf(ha_thd())->session.get());
  Status status;
  if (context->rebuild != nullptr) status = context->rebuild->Build();
  if (context->build != nullptr) status = context->build->Build();
  return !status.ok() && FailBuild(status, altered_table, *info);
}

bool ha_rowan::commit_inplace_alter_table(TABLE* altered_table, Alter_inplace_info* info,
                                          bool commit, const dd::Table* old_def,
                                          dd::Table* new_def) {
  auto* context = static_cast<AlterContext*>(info->handler_ctx);
  if (!commit) {
    // What it made disappears with the transaction, which is about to be rolled back.
    if (context != nullptr) context->build.reset();
    if (context != nullptr) context->rebuild.reset();
    return false;
  }
  std::shared_ptr<Table> now;
  const bool failed = context->rebuilds ? FinishRebuild(altered_table, info, &now)
                                        : FinishInPlace(altered_table, info, &now);
  if (failed) return true;
  new_def->set_se_private_id(now->id().value());
  new_def->set_se_private_data(old_def->se_private_data());
  if (context->changed_by != 0) {
    new_def->se_private_data().set(kChangedByProperty, context->changed_by);
  }
  RememberForStatistics(*altered_table, new_def);
  return false;
}

bool ha_rowan::FinishRebuild(TABLE* altered_table, Alter_inplace_info* info,
                             std::shared_ptr<Table>* now) {
  auto* context = static_cast<AlterContext*>(info->handler_ctx);
  const bool numbered = (info->create_info->used_fields & HA_CREATE_USED_AUTO) != 0;
  const Status status =
      context->rebuild->Finish(numbered ? info->create_info->auto_increment_value : 0);
  if (!status.ok()) return FailBuild(status, altered_table, *info);
  *now = context->rebuild->table();
  context->rebuild.reset();
  return false;
}

bool ha_rowan::FinishInPlace(TABLE* altered_table, Alter_inplace_info* info,
                             std::shared_ptr<Table>* altered) {
  auto* context = static_cast<AlterContext*>(info->handler_ctx);
  if (context->build != nullptr) {
    const Status status = context->build->Finish();
    if (!status.ok()) return FailBuild(status, altered_table, *info);
  }
  std::shared_ptr<Table> now = engine_table()->shared_from_this();
  TableDef after = DefinitionAfter(now->definition(), *altered_table, *context);
  if (!SameDefinition(now->definition(), after)) {
    ThdContext* connection = ContextOf(ha_thd());
    const Status entered = EnterCatalogChange(ha_thd(), connection);
    if (!entered.ok()) return FailAlter(entered);
    Result<std::shared_ptr<Table>> made =
        g_engine->AlterTable(connection->session.get(), std::move(after));
    if (!made.ok()) return FailAlter(made.status());
    now = std::move(*made);
    context->changed_by = connection->session->txn_number();
  }
  *altered = now;
  if ((info->create_info->used_fields & HA_CREATE_USED_AUTO) == 0) return false;
  // Too small a value is raised above the column's largest one when the table is next opened.
  return FailAlter(now->SetAutoIncrement(info->create_info->auto_increment_value));
}

}  // namespace rowan
