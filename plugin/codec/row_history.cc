// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/row_history.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/format.h"

namespace rowan {
namespace {

/// One bit of a row's first byte has another meaning.
constexpr size_t kGenerationsMax = 127;
constexpr char kHistoryMark = '@';
/// Of what a version wrote that knew columns added at the end only.
constexpr char kAddedOnlyMark = '#';
constexpr char kNullHistoryMark = 'n';
constexpr char kHexDigits[] = "0123456789abcdef";

/// Letters of the descriptor for columns that were dropped.
constexpr char kFixed = 'f';
constexpr char kVariable = 'v';

std::string Hex(Bytes bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += kHexDigits[static_cast<uint8_t>(byte) >> 4];
    text += kHexDigits[static_cast<uint8_t>(byte) & 15];
  }
  return text;
}

bool ParseHex(std::string_view text, std::vector<std::byte>* bytes) {
  if (text.size() % 2 != 0) return false;
  for (size_t i = 0; i < text.size(); i += 2) {
    uint8_t value = 0;
    const char* end = text.data() + i + 2;
    const auto [stop, error] = std::from_chars(text.data() + i, end, value, 16);
    if (error != std::errc() || stop != end) return false;
    bytes->push_back(std::byte{value});
  }
  return true;
}

/// Takes a character off the front if it is there.
bool Take(std::string_view* text, char wanted) {
  if (!text->starts_with(wanted)) return false;
  text->remove_prefix(1);
  return true;
}

/// Takes a number and the character behind it off the front.
bool TakeHistoryNumber(std::string_view* text, char behind, uint32_t* number) {
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, *number);
  if (error != std::errc() || stop == end || *stop != behind) return false;
  text->remove_prefix(static_cast<size_t>(stop - text->data()) + 1);
  return true;
}

/// Takes a value and the character behind it off the front.
bool TakeValue(std::string_view* text, char behind, AddedValue* value) {
  const size_t end = text->find(behind);
  if (end == std::string_view::npos) return false;
  value->is_null = text->starts_with(kNullHistoryMark);
  if (!value->is_null && !ParseHex(text->substr(0, end), &value->bytes)) return false;
  text->remove_prefix(end + 1);
  return true;
}

std::string DescribeValue(const AddedValue& value) {
  return value.is_null ? std::string(1, kNullHistoryMark) : Hex(value.bytes);
}

bool MayHold(const ColumnInfo& column, const AddedValue& value) {
  if (value.is_null) return column.nullable();
  const size_t bytes = value.bytes.size();
  return column.variable() ? bytes <= column.length : bytes == column.length;
}

SlotForm FormOf(const ColumnInfo& column) {
  if (!column.in_row()) return SlotForm::kNothing;
  return column.variable() ? SlotForm::kVariable : SlotForm::kFixed;
}

ColumnSlot SlotOf(const TableLayout& layout, uint32_t column) {
  const ColumnInfo& info = layout.columns[column];
  ColumnSlot slot;
  slot.form = FormOf(info);
  slot.nullable = info.nullable() && !info.is_virtual;
  slot.length = slot.form == SlotForm::kFixed ? info.length : 0;
  slot.column = column;
  return slot;
}

std::vector<ColumnSlot> SlotsOf(const TableLayout& layout) {
  std::vector<ColumnSlot> slots;
  for (uint32_t i = 0; i < layout.columns.size(); ++i) slots.push_back(SlotOf(layout, i));
  return slots;
}

uint32_t NullBytes(uint32_t bits) { return (bits + 7) / 8; }

/// The number of the first null bit that is a column's. The server keeps the bit before it for
/// itself in some records. False when its columns have their bits in another way.
bool FindFirstNullBit(const TableLayout& layout, uint8_t* first) {
  uint32_t columns = 0;
  *first = layout.null_bytes == 0 ? 0 : 1;
  for (const ColumnInfo& column : layout.columns) {
    if (!column.nullable() || column.is_virtual) continue;
    uint32_t bit = column.null_offset * 8;
    while (bit % 8 < 7 && column.null_bit != 1u << bit % 8) ++bit;
    if (columns == 0) *first = static_cast<uint8_t>(std::min(bit, 2u));
    if (bit != *first + columns) return false;
    ++columns;
  }
  return *first <= 1 && NullBytes(*first + columns) == layout.null_bytes;
}

/// Where the parts of a row of some generation stand.
class FormerRowMaker {
 public:
  FormerRowMaker(const TableLayout& layout, uint32_t first_null_bit)
      : layout_(layout), null_bits_(first_null_bit) {}

  void Add(const ColumnSlot& slot) {
    if (slot.form == SlotForm::kNothing) return;
    const uint32_t null_bit = slot.nullable ? null_bits_++ : 0;
    const RowNullBit bit{slot.nullable, null_bit / 8, static_cast<uint8_t>(1u << null_bit % 8),
                         slot.column};
    const bool wanted = slot.column != kNoColumn;
    if (slot.nullable && wanted) form_.null_bits.push_back(bit);
    if (slot.form == SlotForm::kVariable) {
      form_.variables.push_back(bit);
      return;
    }
    if (wanted) {
      form_.runs.push_back({layout_.columns[slot.column].offset, form_.fixed_bytes, slot.length});
    }
    form_.fixed_bytes += slot.length;
  }
  void Lack(uint32_t slot) { form_.lacking.push_back(slot); }
  FormerRow Take() {
    form_.null_bytes = NullBytes(null_bits_);
    return std::move(form_);
  }

 private:
  const TableLayout& layout_;
  FormerRow form_;
  uint32_t null_bits_;
};

/// Everything that follows from the slots.
void MakeFormerRows(TableLayout* layout) {
  layout->generation = static_cast<uint32_t>(layout->first_null_bits.size());
  layout->former_rows.clear();
  for (uint32_t generation = 0; generation < layout->generation; ++generation) {
    FormerRowMaker maker(*layout, layout->first_null_bits[generation]);
    for (uint32_t i = 0; i < layout->slots.size(); ++i) {
      const ColumnSlot& slot = layout->slots[i];
      if (slot.from <= generation && generation < slot.until) {
        maker.Add(slot);
      } else if (slot.column != kNoColumn) {
        maker.Lack(i);
      }
    }
    layout->former_rows.push_back(maker.Take());
  }
}

std::string DescribeSlot(const ColumnSlot& slot) {
  if (slot.column != kNoColumn) {
    return slot.from == 0 ? "+;" : Format("+{}:{};", slot.from, DescribeValue(slot.value));
  }
  const char form = slot.form == SlotForm::kFixed ? kFixed : kVariable;
  return Format("-{}{}{}:{}:{};", form, slot.nullable ? "n" : "", slot.length, slot.from,
                slot.until);
}

bool ParseDropped(std::string_view* text, uint32_t generation, ColumnSlot* slot) {
  const bool fixed = Take(text, kFixed);
  if (!fixed && !Take(text, kVariable)) return false;
  slot->form = fixed ? SlotForm::kFixed : SlotForm::kVariable;
  slot->nullable = Take(text, kNullHistoryMark);
  return TakeHistoryNumber(text, ':', &slot->length) && TakeHistoryNumber(text, ':', &slot->from) &&
         TakeHistoryNumber(text, ';', &slot->until) && slot->from < slot->until &&
         slot->until <= generation;
}

bool ParseKept(std::string_view* text, uint32_t generation, const TableLayout& layout,
               uint32_t column, ColumnSlot* slot) {
  *slot = SlotOf(layout, column);
  if (Take(text, ';')) return true;
  if (slot->form == SlotForm::kNothing || !TakeHistoryNumber(text, ':', &slot->from)) return false;
  return slot->from > 0 && slot->from <= generation && TakeValue(text, ';', &slot->value) &&
         MayHold(layout.columns[column], slot->value);
}

bool ParseHistory(std::string_view text, TableLayout* layout) {
  while (text.starts_with('0') || text.starts_with('1')) {
    layout->first_null_bits.push_back(text.front() == '1' ? 1 : 0);
    text.remove_prefix(1);
  }
  const auto generation = static_cast<uint32_t>(layout->first_null_bits.size());
  if (generation == 0 || !Take(&text, ':')) return false;
  uint32_t column = 0;
  while (!text.empty()) {
    ColumnSlot& slot = layout->slots.emplace_back();
    if (Take(&text, '-')) {
      if (!ParseDropped(&text, generation, &slot)) return false;
    } else {
      if (!Take(&text, '+') || column >= layout->columns.size()) return false;
      if (!ParseKept(&text, generation, *layout, column, &slot)) return false;
      ++column;
    }
  }
  return column == layout->columns.size();
}

/// For each former generation the number of columns and null bytes, then the values.
bool ParseAddedOnly(std::string_view text, TableLayout* layout) {
  uint8_t first_null_bit = 0;
  if (!FindFirstNullBit(*layout, &first_null_bit)) return false;
  std::vector<uint32_t> columns;
  do {
    uint32_t null_bytes = 0;
    uint32_t& count = columns.emplace_back();
    if (!TakeHistoryNumber(&text, ':', &count) || !TakeHistoryNumber(&text, ':', &null_bytes))
      return false;
    const bool grows = count > (columns.size() == 1 ? 0 : columns[columns.size() - 2]);
    if (!grows || count >= layout->columns.size()) return false;
  } while (Take(&text, kAddedOnlyMark));
  layout->first_null_bits.assign(columns.size(), first_null_bit);
  layout->slots = SlotsOf(*layout);
  for (ColumnSlot& slot : layout->slots) {
    const auto has = std::upper_bound(columns.begin(), columns.end(), slot.column);
    slot.from = static_cast<uint32_t>(has - columns.begin());
    if (slot.from == 0) continue;
    if (!TakeValue(&text, ',', &slot.value)) return false;
    if (!MayHold(layout->columns[slot.column], slot.value)) return false;
  }
  return text.empty();
}

AddedValue ValueIn(const ColumnInfo& column, const unsigned char* record) {
  AddedValue value;
  value.is_null = column.IsNull(record);
  if (value.is_null) return value;
  const Bytes bytes = column.Value(record);
  value.bytes.assign(bytes.begin(), bytes.end());
  return value;
}

/// The columns of `before`, dropped ones included, with those of `after` in their places.
std::vector<ColumnSlot> MergeSlots(std::vector<ColumnSlot> before, const ColumnMap& former,
                                   const unsigned char* record, const TableLayout& after,
                                   uint32_t generation) {
  std::vector<ColumnSlot> slots;
  auto next = before.begin();
  const auto drop_until = [&](auto stays) {
    for (; next != before.end() && !stays(*next); ++next) {
      if (next->form == SlotForm::kNothing) continue;
      ColumnSlot& slot = slots.emplace_back(std::move(*next));
      slot.until = std::min(slot.until, generation);
      slot.column = kNoColumn;
      slot.value = {};
    }
  };
  for (uint32_t i = 0; i < after.columns.size(); ++i) {
    ColumnSlot slot = SlotOf(after, i);
    if (former[i] != kNoColumn) {
      drop_until([&](const ColumnSlot& one) { return one.column == former[i]; });
      slot.from = next->from;
      slot.value = std::move(next->value);
      ++next;
    } else if (slot.form != SlotForm::kNothing) {
      slot.from = generation;
      slot.value = ValueIn(after.columns[i], record);
    }
    slots.push_back(std::move(slot));
  }
  drop_until([](const ColumnSlot&) { return false; });
  return slots;
}

/// Whether rows of one definition have another form than those of the other.
bool RowsChange(const TableLayout& before, const ColumnMap& former, const TableLayout& after,
                uint8_t first_before, uint8_t first_after) {
  const auto in_row = [](const TableLayout& layout) {
    return std::count_if(layout.columns.begin(), layout.columns.end(),
                         [](const ColumnInfo& column) { return column.in_row(); });
  };
  for (uint32_t i = 0; i < after.columns.size(); ++i) {
    if (former[i] == kNoColumn && after.columns[i].in_row()) return true;
  }
  return in_row(before) != in_row(after) || before.null_bytes != after.null_bytes ||
         first_before != first_after;
}

}  // namespace

std::string DescribeHistory(const TableLayout& layout) {
  if (layout.generation == 0) return {};
  std::string text(1, kHistoryMark);
  for (const uint8_t bit : layout.first_null_bits) text += bit == 0 ? '0' : '1';
  text += ':';
  for (const ColumnSlot& slot : layout.slots) text += DescribeSlot(slot);
  return text;
}

bool RestoreHistory(std::string_view text, TableLayout* layout) {
  const bool parsed = Take(&text, kHistoryMark)     ? ParseHistory(text, layout)
                      : Take(&text, kAddedOnlyMark) ? ParseAddedOnly(text, layout)
                                                    : text.empty();
  if (!parsed || layout->first_null_bits.size() > kGenerationsMax) return false;
  MakeFormerRows(layout);
  return true;
}

bool InheritHistory(const TableLayout& before, const ColumnMap& former, const unsigned char* record,
                    TableLayout* after) {
  uint8_t first_before = 0;
  uint8_t first_after = 0;
  if (!FindFirstNullBit(before, &first_before) || !FindFirstNullBit(*after, &first_after)) {
    return false;
  }
  after->first_null_bits = before.first_null_bits;
  if (RowsChange(before, former, *after, first_before, first_after)) {
    after->first_null_bits.push_back(first_before);
  }
  const auto generation = static_cast<uint32_t>(after->first_null_bits.size());
  if (generation > kGenerationsMax) return false;
  if (generation == 0) return true;
  std::vector<ColumnSlot> slots = before.generation == 0 ? SlotsOf(before) : before.slots;
  after->slots = MergeSlots(std::move(slots), former, record, *after, generation);
  MakeFormerRows(after);
  return true;
}

void FillFromFormerRow(const TableLayout& layout, const FormerRow& form, Bytes row,
                       unsigned char* record) {
  std::fill(record, record + layout.null_bytes, static_cast<unsigned char>(0));
  for (const RowNullBit& bit : form.null_bits) {
    const ColumnInfo& column = layout.columns[bit.column];
    if (bit.IsSet(row)) record[column.null_offset] |= column.null_bit;
  }
  const std::byte* fixed = row.data() + 1 + form.null_bytes;
  for (const CopyRun& run : form.runs) {
    std::memcpy(record + run.record_offset, fixed + run.row_offset, run.length);
  }
  for (const uint32_t number : form.lacking) {
    const ColumnSlot& slot = layout.slots[number];
    const ColumnInfo& column = layout.columns[slot.column];
    if (slot.value.is_null) {
      record[column.null_offset] |= column.null_bit;
    } else {
      // It fits: looked at when the history was restored or made.
      static_cast<void>(column.Store(slot.value.bytes, record));
    }
  }
}

}  // namespace rowan
