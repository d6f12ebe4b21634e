// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/pushdown/group_reduction.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "sql/field.h"
#include "sql/handler.h"
#include "sql/join_optimizer/access_path.h"
#include "sql/key.h"
#include "sql/range_optimizer/range_optimizer.h"
#include "sql/sql_opt_exec_shared.h"
#include "sql/table.h"

#include "plugin/handler/ha_rowan.h"
#include "plugin/handler/key_bounds.h"
#include "plugin/pushdown/index_order.h"
#include "plugin/server/instance.h"

namespace rowan {
namespace {

ha_rowan* HandlerOf(const TABLE* table) { return down_cast<ha_rowan*>(table->file); }

/// A key in which the rows of each group stand together, ordered as wished for.
struct GroupKey {
  uint key = 0;
  GroupWinners winners;
  bool is_covering = false;
  /// False: it has only the first columns of the order, and all rows that tie in those are taken.
  bool is_exact = true;
};

bool IsWhole(const KEY_PART_INFO& part) { return (part.key_part_flag & HA_PART_KEY_SEG) == 0; }

/// Whether the first parts of the key hold the columns of its table's primary key: no two rows are
/// equal in them.
bool AreUnique(const TABLE* table, const KEY& key, uint parts) {
  if (table->s->primary_key == MAX_KEY) return false;
  const KEY& primary = table->key_info[table->s->primary_key];
  for (uint i = 0; i < primary.user_defined_key_parts; ++i) {
    if (!IsWhole(primary.key_part[i])) return false;
    const auto same = [&](const KEY_PART_INFO& part) {
      return part.field == primary.key_part[i].field && IsWhole(part);
    };
    if (std::none_of(key.key_part, key.key_part + parts, same)) return false;
  }
  return true;
}

bool StartsWithGroups(const KEY& key, const Fields& groups) {
  if (key.actual_key_parts < groups.size()) return false;
  Fields seen;
  for (size_t i = 0; i < groups.size(); ++i) {
    const KEY_PART_INFO& part = key.key_part[i];
    if (!IsWhole(part) || !Contains(groups, part.field)) return false;
    AddOnce(&seen, part.field);
  }
  return seen.size() == groups.size();
}

double RowsAlike(const TABLE* table, const KEY& key, uint parts) {
  if (parts == 0) return static_cast<double>(table->file->stats.records);
  return key.has_records_per_key(parts - 1) ? key.records_per_key(parts - 1) : 1;
}

/// Few enough rows tie in the part of the order that the key has.
bool HasFewTies(const TABLE* table, const KEY& key, const GroupWinners& winners) {
  // A row found by an index costs some times as much as one of a scan.
  constexpr double kFoundCost = 4;
  const double ties = RowsAlike(table, key, winners.group_parts + winners.order_parts);
  return ties * static_cast<double>(winners.most) * kFoundCost <=
         RowsAlike(table, key, winners.group_parts);
}

/// Whether the column may be the next of the order, as far as the key goes.
bool IsNext(const KEY& key, uint next, const OrderColumn& column, GroupWinners* winners) {
  if (next >= key.actual_key_parts) return false;
  const KEY_PART_INFO& part = key.key_part[next];
  if (part.field != column.field || !IsWhole(part) || !SortsAsIndexed(part.field)) return false;
  const bool from_end = ((part.key_part_flag & HA_REVERSE_SORT) != 0) != column.descending;
  if (next > winners->group_parts && from_end != winners->from_end) return false;
  winners->from_end = from_end;
  return true;
}

/// Where the requested order, or the beginning of it, is in the key after the groups; false: it is
/// not. A row among the first by more columns is among them by fewer, if all ties are taken.
bool PlaceOrder(const TABLE* table, const KEY& key, const GroupWish& wish, GroupKey* found) {
  GroupWinners* const winners = &found->winners;
  Fields seen = wish.groups;
  winners->group_parts = static_cast<uint>(wish.groups.size());
  uint next = winners->group_parts;
  found->is_exact = true;
  for (const OrderColumn& column : wish.order) {
    if (Contains(seen, column.field)) continue;  // it is the same in all rows that are compared
    if (AreUnique(table, key, next)) break;
    found->is_exact = IsNext(key, next, column, winners);
    if (!found->is_exact) break;
    AddOnce(&seen, column.field);
    ++next;
  }
  winners->order_parts = next - winners->group_parts;
  if (!found->is_exact) {
    if (winners->count == GroupWinners::Count::kRows) winners->count = GroupWinners::Count::kRank;
    return winners->order_parts > 0 && HasFewTies(table, key, *winners);
  }
  if (AreUnique(table, key, next)) winners->count = GroupWinners::Count::kRows;  // no ties
  return winners->order_parts > 0 || winners->count == GroupWinners::Count::kRows;
}

std::optional<GroupKey> TryKey(const TABLE* table, uint number, const GroupWish& wish) {
  const KEY& key = table->key_info[number];
  if ((key.flags & (HA_SPATIAL | HA_FULLTEXT | HA_MULTI_VALUED_KEY)) != 0) return std::nullopt;
  if (!table->keys_in_use_for_query.is_set(number)) return std::nullopt;  // hints, invisible keys
  GroupKey found;
  found.key = number;
  found.winners.count = wish.takes_ties && wish.count == GroupWinners::Count::kRows
                            ? GroupWinners::Count::kRank
                            : wish.count;
  found.winners.most = wish.most;
  if (!IsSearchableKey(HandlerOf(table)->part().codec(), number, &found.winners.index_number))
    return std::nullopt;
  if (!StartsWithGroups(key, wish.groups)) return std::nullopt;
  if (!PlaceOrder(table, key, wish, &found)) return std::nullopt;
  const bool has_null = wish.passes_nulls && found.winners.order_parts == 1 &&
                        key.key_part[found.winners.group_parts].field->is_nullable();
  found.winners.passes_nulls = has_null;
  // Virtual columns are left to the server, which computes them from a row.
  found.is_covering = table->covering_keys.is_set(number) && table->vfield == nullptr;
  return found;
}

/// Which index the access opens, by how many of its parts it searches, and which way it goes.
struct KeySearch {
  uint key = MAX_KEY;
  uint parts = 0;
  bool reverse = false;
  bool is_range = false;  ///< from one key to another, so it counts which of two is the greater
};

/// What the server searches the one key by finds the same rows in the other.
bool KeySearchAlike(const TABLE* table, const KeySearch& search, uint other) {
  if (search.key == MAX_KEY || search.key == other) return true;
  const KEY_PART_INFO* const parts = table->key_info[search.key].key_part;
  return std::equal(parts, parts + search.parts, table->key_info[other].key_part,
                    [&](const KEY_PART_INFO& left, const KEY_PART_INFO& right) {
                      const int differing = left.key_part_flag ^ right.key_part_flag;
                      return left.field == right.field && IsWhole(left) && IsWhole(right) &&
                             (!search.is_range || (differing & HA_REVERSE_SORT) == 0);
                    });
}

bool IsBetter(const GroupKey& key, const GroupKey& other) {
  if (key.is_exact != other.is_exact) return key.is_exact;
  return key.is_covering && !other.is_covering;
}

/// The key to use in place of the one that the plan searches.
std::optional<GroupKey> ChooseKey(const GroupWish& wish, const KeySearch& search) {
  const TABLE* const table = wish.table;
  if (search.parts > wish.groups.size()) return std::nullopt;
  std::optional<GroupKey> chosen;
  for (uint number = 0; number < table->s->keys; ++number) {
    const std::optional<GroupKey> key = TryKey(table, number, wish);
    if (!key.has_value()) continue;
    if (number == search.key && key->is_exact) return key;
    if (!KeySearchAlike(table, search, number)) continue;
    if (!chosen.has_value() || IsBetter(*key, *chosen)) chosen = key;
  }
  return chosen;
}

uint PartsOf(key_part_map map) {
  uint parts = 0;
  for (; map != 0; map >>= 1) ++parts;
  return parts;
}

std::optional<KeySearch> RangeSearch(AccessPath* path) {
  const auto& scan = path->index_range_scan();
  if (scan.geometry || scan.need_rows_in_rowid_order) return std::nullopt;
  KeySearch search{scan.index, 0, scan.reverse, true};
  for (unsigned i = 0; i < scan.num_ranges; ++i) {
    const QUICK_RANGE* const range = scan.ranges[i];
    search.parts =
        std::max({search.parts, PartsOf(range->min_keypart_map), PartsOf(range->max_keypart_map)});
  }
  return search;
}

std::optional<KeySearch> SearchOf(AccessPath* path) {
  switch (path->type) {
    case AccessPath::TABLE_SCAN: return KeySearch();
    case AccessPath::INDEX_SCAN:
      return KeySearch{static_cast<uint>(path->index_scan().idx), 0, path->index_scan().reverse};
    case AccessPath::REF:
      return KeySearch{static_cast<uint>(path->ref().ref->key), path->ref().ref->key_parts,
                       path->ref().reverse};
    case AccessPath::INDEX_RANGE_SCAN: return RangeSearch(path);
    default: return std::nullopt;
  }
}

/// The rows come in the plan's order though the others are missing.
bool KeepsOrder(const KeySearch& search, const GroupKey& key) {
  if (search.key != key.key) return false;
  const bool one_row = key.winners.count == GroupWinners::Count::kRows && key.winners.most == 1;
  return one_row || search.reverse == key.winners.from_end;
}

/// A sort of the first rows of all groups is better than reading every row in order, unless a LIMIT
/// is reached sooner.
bool IsWorthSorting(const TableAccess& access, const GroupWish& wish, const GroupKey& key) {
  if (!access.is_sortable) return false;
  const auto rows = static_cast<double>(wish.table->file->stats.records);
  const double in_group =
      RowsAlike(wish.table, wish.table->key_info[key.key], key.winners.group_parts);
  const double groups = rows / std::max(in_group, 1.0);
  return in_group >= 2 && static_cast<double>(access.limit) * in_group > groups;
}

std::optional<GroupKey> KeyFor(const TableAccess& access, const GroupWish& wish,
                               KeySearch* search) {
  if (access.path == nullptr || !IsReducible(wish.table)) return std::nullopt;
  const std::optional<KeySearch> found = SearchOf(access.path);
  if (!found.has_value()) return std::nullopt;
  *search = *found;
  const std::optional<GroupKey> key = ChooseKey(wish, *search);
  if (!key.has_value()) return std::nullopt;
  const bool keeps_order = access.order_is_free || KeepsOrder(*search, *key);
  if (!keeps_order && !IsWorthSorting(access, wish, *key)) return std::nullopt;
  if (key->key == search->key) return key;
  // The server takes the values of virtual columns from the index that it thinks it reads.
  const bool reads_index_alone = wish.table->key_read && wish.table->vfield != nullptr;
  if (reads_index_alone) return std::nullopt;
  return key;
}

void ScanKey(AccessPath* path, TABLE* table, const GroupKey& key) {
  path->type = AccessPath::INDEX_SCAN;
  path->index_scan().table = table;
  path->index_scan().idx = static_cast<int>(key.key);
  path->index_scan().use_order = false;
  path->index_scan().reverse = key.winners.from_end;
}

std::string Describe(const TABLE* table, const GroupKey& key, uint access_key) {
  const GroupWinners& winners = key.winners;
  const std::string end = winners.from_end ? "last" : "first";
  std::string text = ", only the ";
  if (winners.count == GroupWinners::Count::kRows) {
    text += winners.most == 1 ? end + " row" : end + " " + std::to_string(winners.most) + " rows";
  } else {
    const bool dense = winners.count == GroupWinners::Count::kDenseRank;
    text += end + (dense ? " rows by dense rank up to " : " rows by rank up to ");
    text += std::to_string(winners.most);
  }
  const KEY& info = table->key_info[key.key];
  if (winners.group_parts > 0) {
    text += " of each group (";
    for (uint i = 0; i < winners.group_parts; ++i) {
      text += (i > 0 ? ", " : "") + std::string(info.key_part[i].field->field_name);
    }
    text += ")";
  }
  if (access_key != key.key) text += std::string(" by key ") + info.name;
  return text;
}

}  // namespace

bool IsReducible(const TABLE* table) {
  return table->file->ht == g_hton && table->part_info == nullptr &&
         HandlerOf(table)->ReadsSnapshot();
}

std::optional<KeyChoice> FindKey(const GroupWish& wish) {
  const std::optional<GroupKey> key = ChooseKey(wish, KeySearch());
  if (!key.has_value() || !key->is_exact) return std::nullopt;
  return KeyChoice{key->key, key->winners.group_parts, key->winners.from_end};
}

bool Reduce(const TableAccess& access, const GroupWish& wish) {
  KeySearch search;
  const std::optional<GroupKey> key = KeyFor(access, wish, &search);
  if (!key.has_value()) return false;
  AccessPath* path = access.path;
  const bool is_sorted = !access.order_is_free && !KeepsOrder(search, *key);
  if (is_sorted) path = SortInIndexOrder(access.join, path);
  if (path == nullptr) return false;
  const bool is_scan = path->type == AccessPath::TABLE_SCAN || path->type == AccessPath::INDEX_SCAN;
  if (is_scan && (access.order_is_free || is_sorted)) {
    ScanKey(path, wish.table, *key);
    search.key = key->key;
  }
  auto plan = std::make_unique<GroupPlan>();
  plan->winners = key->winners;
  plan->access_key = search.key;
  plan->group_key = key->key;
  plan->is_covering = key->is_covering;
  plan->description = Describe(wish.table, *key, search.key);
  HandlerOf(wish.table)->SetGroupPlan(std::move(plan));
  return true;
}

}  // namespace rowan
