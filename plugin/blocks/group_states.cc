// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/blocks/group_states.h"

#include <algorithm>
#include <cstring>

#include "mysql/strings/m_ctype.h"

#include "plugin/blocks/incomplete_dates.h"

namespace rowan {
namespace {

/// More of them would fall out of the processor's caches, and the server takes groups apart again
/// only by the cost of a row each.
constexpr size_t kGroupMemoryMax = size_t{16} << 20;

/// A batch of such numbers does not take a sum of at most kSumMax out of a Wide's range.
constexpr Wide kSummandMax = Wide{1} << 115;
constexpr Wide kSumMax = Wide{1} << 125;

bool IsWithin(Wide number, Wide limit) { return -limit <= number && number <= limit; }

template <typename T>
T StoredIn(Wide number) {
  T value;
  std::memcpy(&value, &number, sizeof(value));
  return value;
}

}  // namespace

void GroupStates::Read(Batch* batch, Selection* rows) {
  keys_.Read(batch, rows);
  aggregate_values_.clear();
  for (const Aggregate& aggregate : aggregates_) {
    const bool has_value = aggregate.kind != Aggregate::Kind::kCountRows;
    aggregate_values_.push_back(has_value ? &batch->Read(aggregate.value, rows) : nullptr);
    const bool sums = aggregate.kind == Aggregate::Kind::kSum;
    const bool seeks =
        aggregate.kind == Aggregate::Kind::kMin || aggregate.kind == Aggregate::Kind::kMax;
    if (seeks) {
      const ValueKind kind = batch->plan().TypeOf(aggregate.value).kind;
      PutIncompleteDatesAside(kind, *aggregate_values_.back(), batch, rows);
    }
    if (!sums || batch->plan().TypeOf(aggregate.value).kind != ValueKind::kWideDecimal) continue;
    const ValueVector& values = *aggregate_values_.back();
    rows->Retain([&](RowNumber row) {
      if (values.nulls()[row] != 0 || IsWithin(values.As<Wide>()[row], kSummandMax)) return true;
      batch->PutAside(row);
      return false;
    });
  }
}

void GroupStates::Add(const Batch& batch, std::span<const RowNumber> rows) {
  if (rows.empty()) return;
  AssignGroups(batch, rows);
  for (size_t i = 0; i < aggregates_.size(); ++i) {
    switch (aggregates_[i].kind) {
      case Aggregate::Kind::kCountRows: CountRows(i, rows); break;
      case Aggregate::Kind::kCount: CountValues(i, rows); break;
      case Aggregate::Kind::kBitAnd:
      case Aggregate::Kind::kBitOr:
      case Aggregate::Kind::kBitXor: AddBits(i, rows); break;
      default: {
        const ValueType& type = batch.plan().TypeOf(aggregates_[i].value);
        if (type.kind == ValueKind::kBytes) {
          AddExtremeText(i, type.charset, rows);
        } else {
          AddTo(i, type.kind, rows);
        }
      }
    }
  }
  KeepExtremes(batch.stored());
}

bool GroupStates::is_full() const {
  const size_t states = states_.size() * sizeof(AggregateState) + firsts_.size() * sizeof(RowCopy);
  return has_large_sum_ || table_.bytes() + copies_.bytes() + states > kGroupMemoryMax;
}

void GroupStates::Clear() {
  table_.Clear();
  copies_.Clear();
  firsts_.clear();
  states_.clear();
  last_key_.clear();
  has_large_sum_ = false;
}

// --- groups ---

void GroupStates::AssignGroups(const Batch& batch, std::span<const RowNumber> rows) {
  if (keys_.empty()) {
    if (firsts_.empty()) StartGroup(batch, rows.front());
    return;  // all are 0
  }
  for (size_t i = 0; i < rows.size(); ++i) groups_of_[i] = GroupOf(batch, rows[i]);
}

uint32_t GroupStates::GroupOf(const Batch& batch, RowNumber row) {
  keys_.Encode(batch.plan(), row, &key_);
  if (key_ == last_key_) return last_group_;  // never empty
  bool is_new = false;
  last_group_ = table_.Find(key_, &is_new);
  if (is_new) StartGroup(batch, row);
  std::swap(key_, last_key_);
  return last_group_;
}

void GroupStates::StartGroup(const Batch& batch, RowNumber row) {
  const StoredRows& stored = batch.stored();
  copies_.Keep(stored.keys[row], stored.values[row], {}, &firsts_.emplace_back());
  states_.resize(states_.size() + aggregates_.size());
}

// --- aggregates ---

void GroupStates::CountRows(size_t aggregate, std::span<const RowNumber> rows) {
  if (keys_.empty()) {
    states_[aggregate].count += rows.size();
    return;
  }
  for (size_t i = 0; i < rows.size(); ++i) ++StateAt(i, aggregate).count;
}

void GroupStates::CountValues(size_t aggregate, std::span<const RowNumber> rows) {
  const ValueVector& values = *aggregate_values_[aggregate];
  if (!values.has_nulls()) return CountRows(aggregate, rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    StateAt(i, aggregate).count += values.nulls()[rows[i]] == 0 ? 1 : 0;
  }
}

void GroupStates::AddTo(size_t aggregate, ValueKind kind, std::span<const RowNumber> rows) {
  const bool sums = aggregates_[aggregate].kind == Aggregate::Kind::kSum;
  switch (kind) {
    case ValueKind::kUnsigned:
      return sums ? AddSum<uint64_t>(aggregate, rows) : AddExtreme<uint64_t>(aggregate, rows);
    case ValueKind::kWideDecimal:
      return sums ? AddSum<Wide>(aggregate, rows) : AddExtreme<Wide>(aggregate, rows);
    case ValueKind::kDouble:
      return sums ? AddReals(aggregate, rows) : AddExtreme<double>(aggregate, rows);
    default: return sums ? AddSum<int64_t>(aggregate, rows) : AddExtreme<int64_t>(aggregate, rows);
  }
}

template <typename T>
void GroupStates::AddSum(size_t aggregate, std::span<const RowNumber> rows) {
  const ValueVector& vector = *aggregate_values_[aggregate];
  const T* const values = vector.As<T>();
  if (keys_.empty() && !vector.has_nulls()) {
    Wide sum = 0;
    for (const RowNumber row : rows) sum += values[row];
    states_[aggregate].number += sum;
    states_[aggregate].count += rows.size();
    has_large_sum_ = has_large_sum_ || !IsWithin(states_[aggregate].number, kSumMax);
    return;
  }
  const uint8_t* const nulls = vector.nulls();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (nulls[rows[i]] != 0) continue;
    AggregateState& state = StateAt(i, aggregate);
    state.number += values[rows[i]];
    ++state.count;
    if constexpr (sizeof(T) == sizeof(Wide)) {
      has_large_sum_ = has_large_sum_ || !IsWithin(state.number, kSumMax);
    }
  }
}

void GroupStates::AddReals(size_t aggregate, std::span<const RowNumber> rows) {
  const ValueVector& vector = *aggregate_values_[aggregate];
  const double* const values = vector.As<double>();
  const uint8_t* const nulls = vector.nulls();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (nulls[rows[i]] != 0) continue;
    AggregateState& state = StateAt(i, aggregate);
    const double value = values[rows[i]];
    const double sum = state.count++ == 0 ? value : state.real() + value;
    std::memcpy(&state.number, &sum, sizeof(sum));
  }
}

void GroupStates::AddBits(size_t aggregate, std::span<const RowNumber> rows) {
  const ValueVector& values = *aggregate_values_[aggregate];
  const Aggregate::Kind kind = aggregates_[aggregate].kind;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (values.nulls()[rows[i]] != 0) continue;
    AggregateState& state = StateAt(i, aggregate);
    const uint64_t value = values.As<uint64_t>()[rows[i]];
    const auto bits = static_cast<uint64_t>(state.number);
    const bool is_first = state.count++ == 0;
    switch (kind) {
      case Aggregate::Kind::kBitAnd: state.number = Wide{is_first ? value : bits & value}; break;
      case Aggregate::Kind::kBitOr: state.number = Wide{bits | value}; break;
      default: state.number = Wide{bits ^ value};
    }
  }
}

void GroupStates::Change(AggregateState* state, RowNumber row) {
  state->row = row;
  if (state->changed) return;
  state->changed = true;
  changed_.push_back(static_cast<size_t>(state - states_.data()));
}

template <typename T>
void GroupStates::AddExtreme(size_t aggregate, std::span<const RowNumber> rows) {
  const ValueVector& vector = *aggregate_values_[aggregate];
  const T* const values = vector.As<T>();
  const uint8_t* const nulls = vector.nulls();
  const bool least = aggregates_[aggregate].kind == Aggregate::Kind::kMin;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (nulls[rows[i]] != 0) continue;
    AggregateState& state = StateAt(i, aggregate);
    const T value = values[rows[i]];
    const T best = StoredIn<T>(state.number);
    if (state.count++ != 0 && !(least ? value < best : best < value)) continue;
    std::memcpy(&state.number, &value, sizeof(value));
    Change(&state, rows[i]);
  }
}

void GroupStates::AddExtremeText(size_t aggregate, const CHARSET_INFO* charset,
                                 std::span<const RowNumber> rows) {
  const ValueVector& vector = *aggregate_values_[aggregate];
  const Bytes* const values = vector.As<Bytes>();
  const bool least = aggregates_[aggregate].kind == Aggregate::Kind::kMin;
  const auto text = [](Bytes bytes) { return reinterpret_cast<const uchar*>(bytes.data()); };
  for (size_t i = 0; i < rows.size(); ++i) {
    if (vector.nulls()[rows[i]] != 0) continue;
    AggregateState& state = StateAt(i, aggregate);
    const Bytes value = values[rows[i]];
    if (state.count++ != 0) {
      const Bytes best = state.changed ? state.text : copies_.ExtraOf(state.extreme);
      const int order =
          charset->coll->strnncollsp(charset, text(value), value.size(), text(best), best.size());
      if (least ? order >= 0 : order <= 0) continue;
    }
    state.text = value;
    Change(&state, rows[i]);
  }
}

void GroupStates::KeepExtremes(const StoredRows& stored) {
  for (const size_t number : changed_) {
    AggregateState& state = states_[number];
    copies_.Keep(stored.keys[state.row], stored.values[state.row], state.text, &state.extreme);
    state.changed = false;
    state.text = {};
  }
  changed_.clear();
}

}  // namespace rowan
