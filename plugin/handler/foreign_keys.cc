// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/foreign_keys.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "sql/current_thd.h"
#include "sql/dd/types/column.h"
#include "sql/dd/types/foreign_key.h"
#include "sql/field.h"
#include "sql/sql_class.h"
#include "sql/sql_lex.h"
#include "sql/table.h"

#include "plugin/compat/server_line.h"
#include "plugin/handler/computed_columns.h"
#include "plugin/server/error_map.h"

namespace rowan {
namespace {

/// What decides how the values of two columns can be compared.
enum class Family : uint8_t {
  kInteger,  ///< the same size and sign
  kText,     ///< the same collation
  kBytes,    ///< any two lengths
  kOther     ///< the same type, size and scale
};

Family FamilyOf(const Ha_fk_column_type& column) {
  using Type = dd::enum_column_types;
  switch (column.type) {
    case Type::TINY:
    case Type::SHORT:
    case Type::INT24:
    case Type::LONG:
    case Type::LONGLONG:
    case Type::YEAR:
    case Type::NEWDATE:
    case Type::ENUM:
    case Type::SET: return Family::kInteger;
    case Type::STRING:
    case Type::VAR_STRING:
    case Type::VARCHAR:
      return column.field_charset == &my_charset_bin ? Family::kBytes : Family::kText;
    default: return Family::kOther;
  }
}

size_t SizeBytes(const Ha_fk_column_type& column) {
  return calc_pack_length(column.type, column.char_length, column.elements_count, true,
                          column.numeric_scale, column.is_unsigned);
}

bool IsUnsigned(const Ha_fk_column_type& column) {
  using Type = dd::enum_column_types;
  // Their numbers are unsigned, though the dictionary does not say so.
  if (column.type == Type::ENUM || column.type == Type::SET || column.type == Type::YEAR) {
    return true;
  }
  return column.type != Type::NEWDATE && column.is_unsigned;
}

/// The rule of InnoDB, except that InnoDB also accepts columns whose values it stores as bytes of
/// different meanings, where no row ever finds its parent.
bool AreComparable(const Ha_fk_column_type* child, const Ha_fk_column_type* parent,
                   bool check_charsets) {
  const Family family = FamilyOf(*child);
  if (family != FamilyOf(*parent)) return false;
  switch (family) {
    case Family::kText: return !check_charsets || child->field_charset == parent->field_charset;
    case Family::kBytes: return true;
    case Family::kInteger:
      return SizeBytes(*child) == SizeBytes(*parent) && IsUnsigned(*child) == IsUnsigned(*parent);
    case Family::kOther: break;
  }
  return child->type == parent->type && SizeBytes(*child) == SizeBytes(*parent) &&
         child->numeric_scale == parent->numeric_scale;
}

/// For a key from the child's or the parent's table.
template <typename Key>
bool ChangesChildren(const Key& key) {
  const auto changes = [](dd::Foreign_key::enum_rule rule) {
    return rule == dd::Foreign_key::RULE_CASCADE || rule == dd::Foreign_key::RULE_SET_NULL;
  };
  return changes(key.update_rule) || changes(key.delete_rule);
}

bool ChangesItsChildren(const TABLE_SHARE& share) {
  const std::span keys(share.foreign_key_parent, share.foreign_key_parents);
  return std::any_of(keys.begin(), keys.end(),
                     ChangesChildren<TABLE_SHARE_FOREIGN_KEY_PARENT_INFO>);
}

/// Compares a column's values in two records, at offsets from record[0].
bool IsSame(Field* field, ptrdiff_t one, ptrdiff_t other) {
  const bool null = field->is_null(one);
  if (null != field->is_null(other)) return false;
  return null || field->cmp_binary(field->field_ptr() + one, field->field_ptr() + other) == 0;
}

void CopyValue(Field* field, ptrdiff_t from, ptrdiff_t to) {
  if (field->is_null(from)) {
    field->set_null(to);
  } else {
    field->set_notnull(to);
  }
  memcpy(field->field_ptr() + to, field->field_ptr() + from, field->pack_length());
}

}  // namespace

void SetForeignKeyHooks(handlerton* hton) {
  hton->flags |= HTON_SUPPORTS_FOREIGN_KEYS | kServerChecksForeignKeys;
  hton->foreign_keys_flags =
      HTON_FKS_WITH_PREFIX_PARENT_KEYS | HTON_FKS_NEED_DIFFERENT_PARENT_AND_SUPPORTING_KEYS;
  hton->check_fk_column_compat = AreComparable;
  // InnoDB's, so that a table coming from there keeps the names of its keys: statements use them,
  // and RENAME TABLE renames those with this suffix.
  hton->fk_name_suffix = {STRING_WITH_LEN("_ibfk_")};
}

UncheckedKeys UncheckedForeignKeys(THD* thd, const TABLE_SHARE& share) {
  if (share.foreign_keys == 0 && share.foreign_key_parents == 0) return UncheckedKeys::kNone;
  if (ChecksForeignKeys(thd)) return UncheckedKeys::kNone;
  if (thd_test_options(thd, OPTION_NO_FOREIGN_KEY_CHECKS) != 0) return UncheckedKeys::kNone;
  // ALTER copies rows that have been checked.
  if (share.tmp_table != NO_TMP_TABLE) return UncheckedKeys::kNone;
  if (!thd->lex->is_stmt_row_injection()) return UncheckedKeys::kAll;
  // The server that sent these rows has checked them. But it did not log its engine's changes of
  // the children's rows.
  return ChangesItsChildren(share) ? UncheckedKeys::kCascades : UncheckedKeys::kNone;
}

bool CascadesMayReturn(const TABLE_SHARE& share) {
  const std::span keys(share.foreign_key, share.foreign_keys);
  const bool cascades_arrive =
      std::any_of(keys.begin(), keys.end(), ChangesChildren<TABLE_SHARE_FOREIGN_KEY_INFO>);
  // They start from this table's own row, or from a parent that a trigger of this table changes.
  return cascades_arrive && (ChangesItsChildren(share) || HasTriggers(share));
}

Status KeepStoredValues(TABLE* table, const uchar* read, const uchar* stored, uchar* changed) {
  const ptrdiff_t read_offset = read - table->record[0];
  const ptrdiff_t stored_offset = stored - table->record[0];
  const ptrdiff_t changed_offset = changed - table->record[0];
  std::vector<bool> kept(table->s->fields);
  for (uint i = 0; i < table->s->fields; ++i) {
    Field* field = table->field[i];
    if (field->is_virtual_gcol() || !IsSame(field, read_offset, changed_offset)) continue;
    // A value still where it was read stays there: that is how it is recognised.
    if (IsSame(field, read_offset, stored_offset)) continue;
    CopyValue(field, stored_offset, changed_offset);
    kept[i] = true;
  }
  if (ComputedColumns::ComputeFrom(std::move(kept), table, changed)) return Status::Ok();
  return Status(Code::kUnsupported, "a generated column cannot be computed");
}

int RefuseUnchecked() { return RefuseUnsupported(kRefusedChanges); }

int RaiseInCascade(const TABLE& table, int error) {
  if (error == 0 || error == HA_ERR_END_OF_FILE || !IsOpenForCascade(table)) return error;
  // Between a child's first and last row the server reports only duplicates. After anything else (a
  // deadlock, a lock not granted) it would leave the parent's row as it is and go on with the next
  // one, as with IGNORE, but with some of the children changed.
  if (error != HA_ERR_FOUND_DUPP_KEY && !current_thd->is_error()) {
    table.file->print_error(error, MYF(0));
  }
  return error;
}

void RepairCascadeCount(THD* thd) {
  // Server 9.7 counts the tables of a cascade, and subtracts a table that refers to itself without
  // having counted it. A negative count is too many for it: error 6575, for a tree of two levels.
  if (CascadeCountIsWrong(thd)) ResetCascadeCount(thd);
}

}  // namespace rowan
