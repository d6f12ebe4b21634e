// SPDX-License-Identifier: GPL-2.0-only
// TableCodec: descriptors and keys. Rows are in table_codec_rows.cc.
#include "plugin/codec/table_codec.h"

#include <algorithm>

#include "base/format.h"
#include "engine/catalog/limits.h"
#include "my_bitmap.h"
#include "mysql/strings/m_ctype.h"
#include "plugin/codec/layout_change.h"
#include "plugin/codec/record_poison.h"
#include "plugin/codec/row_history.h"
#include "plugin/codec/spatial_entry.h"
#include "plugin/codec/spatial_reference.h"
#include "plugin/codec/table_layout.h"
#include "plugin/codec/wanted_columns.h"
#include "sql/table.h"

namespace rowan {
namespace {

constexpr char kMalformedEntry[] = "malformed index entry";

Bytes FieldImage(const ColumnInfo& column, const unsigned char* record) {
  return column.IsNull(record) ? Bytes() : column.Value(record);
}

std::string DescribeColumns(const TableLayout& layout) {
  std::string text = Format("v1 nulls={}", layout.null_bytes);
  for (const ColumnInfo& column : layout.columns) {
    text +=
        Format("|{}:{}:{}:{}:{}", static_cast<unsigned>(column.kind), column.length,
               column.length_bytes, column.null_bit, column.charset ? column.charset->number : 0);
    if (column.is_virtual) text += ":virtual";
  }
  return text;
}

}  // namespace

TableCodec::TableCodec() : layout_(std::make_unique<TableLayout>()) {}
TableCodec::~TableCodec() = default;

Result<std::unique_ptr<TableCodec>> TableCodec::Make(const TABLE* table, uint32_t page_size_bytes,
                                                     std::string* refusal) {
  return Make(table, page_size_bytes, KeyOrder::kServer, refusal);
}

Result<std::unique_ptr<TableCodec>> TableCodec::MakeForFormat1(const TABLE* table,
                                                               uint32_t page_size_bytes,
                                                               std::string* refusal) {
  return Make(table, page_size_bytes, KeyOrder::kFormat1, refusal);
}

Result<std::unique_ptr<TableCodec>> TableCodec::Make(const TABLE* table, uint32_t page_size_bytes,
                                                     KeyOrder order, std::string* refusal) {
  std::unique_ptr<TableCodec> codec(new TableCodec());
  if (!MakeTableLayout(table, page_size_bytes, order, codec->layout_.get(), refusal)) {
    return Status(Code::kUnsupported, "table definition not supported");
  }
  codec->whole_rows_.Compile(*codec->layout_, nullptr);
  return codec;
}

Status TableCodec::CheckLimits() const { return CheckTableLimits(*layout_); }

std::string TableCodec::TableDescriptor() const {
  return DescribeColumns(*layout_) + DescribeHistory(*layout_);
}

bool TableCodec::RestoreHistory(const std::string& descriptor) {
  const std::string_view text = descriptor;
  const size_t columns = std::min(text.find_first_of(kHistoryMarks), text.size());
  const bool restored = text.substr(0, columns) == DescribeColumns(*layout_) &&
                        rowan::RestoreHistory(text.substr(columns), layout_.get());
  whole_rows_.Compile(*layout_, nullptr);
  return restored;
}

bool TableCodec::InheritHistory(const TableCodec& before, const ColumnMap& former,
                                const unsigned char* record) {
  const bool inherited = rowan::InheritHistory(*before.layout_, former, record, layout_.get());
  whole_rows_.Compile(*layout_, nullptr);
  return inherited;
}

bool TableCodec::RestoreIndex(uint32_t index_number, const std::string& descriptor) {
  TextIndex* text = layout_->indexes[index_number].text.get();
  return text == nullptr || text->Restore(descriptor);
}

bool TableCodec::HasTextIndex() const {
  return std::any_of(layout_->indexes.begin(), layout_->indexes.end(),
                     [](const IndexLayout& index) { return index.text != nullptr; });
}

void TableCodec::SetWordLimits(const WordLimits& limits) {
  for (uint32_t i = 1; i < layout_->indexes.size(); ++i) SetWordLimits(i, limits);
}

void TableCodec::SetWordLimits(uint32_t index_number, const WordLimits& limits) {
  TextIndex* text = layout_->indexes[index_number].text.get();
  if (text != nullptr) text->SetLimits(limits);
}

void TableCodec::TakeWordLimits(uint32_t index_number, const TableCodec& before,
                                uint32_t before_number) {
  const TextIndex* former = before.TextIndexAt(before_number);
  if (former != nullptr) SetWordLimits(index_number, former->limits());
}

void TableCodec::TakeWordLimits(const TableCodec& same) {
  for (uint32_t i = 1; i < layout_->indexes.size(); ++i) TakeWordLimits(i, same, i);
}

const TextIndex* TableCodec::TextIndexAt(uint32_t index_number) const {
  return layout_->indexes[index_number].text.get();
}

bool TableCodec::HasSeveralEntries(uint32_t index_number) const {
  return ElementOf(index_number) != nullptr || TextIndexAt(index_number) != nullptr;
}

Status TableCodec::VisitText(uint32_t index_number, const unsigned char* record,
                             FunctionRef<Status(Bytes text)> visit) const {
  for (const uint32_t c : layout_->indexes[index_number].text_columns) {
    const ColumnInfo& column = layout_->columns[c];
    if (column.IsNull(record)) continue;
    const Status status = visit(column.Value(record));
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status TableCodec::EncodeEntries(uint32_t index_number, const void* record, Bytes clustered_key,
                                 EncodedEntry* buffer, EntryVisit visit) const {
  const TextIndex* text = TextIndexAt(index_number);
  if (text == nullptr) {
    return RowCodec::EncodeEntries(index_number, record, clustered_key, buffer, visit);
  }
  RowWords words(text);
  const auto add = [&](Bytes one) { return words.Add(one); };
  const Status status = VisitText(index_number, static_cast<const unsigned char*>(record), add);
  if (!status.ok()) return status;
  const uint32_t page_bytes = layout_->page_size_bytes;
  const EntryRoom room{KeyBytesMax(page_bytes), EntryBytesMax(page_bytes)};
  return words.VisitEntries(clustered_key, room, buffer, visit);
}

std::string TableCodec::IndexDescriptor(uint32_t index) const {
  const IndexLayout& layout = layout_->indexes[index];
  std::string text =
      Format("v1 declared={}{}", layout.declared_parts, layout.unique ? " unique" : "");
  if (layout.spatial != nullptr) text += layout.spatial->Describe();
  for (const KeyPartCodec& part : layout.parts) {
    text += Format("|{}:{}:{}:{}{}", part.column == kNoColumn ? -1 : int64_t{part.column},
                   static_cast<unsigned>(part.encoding), part.prefix_bytes,
                   part.charset ? part.charset->number : 0, part.descending ? ":desc" : "");
  }
  if (layout.text != nullptr) {
    text += "|columns";
    for (const uint32_t column : layout.text_columns) text += Format(":{}", column);
    text += layout.text->Describe();
  }
  return text;
}

bool TableCodec::RowsStay(const ColumnMap& former, const TableCodec& after) const {
  return rowan::RowsStay(*layout_, former, *after.layout_);
}

bool TableCodec::EntriesStay(uint32_t index_number, const ColumnMap& former,
                             const TableCodec& after, uint32_t after_number) const {
  return rowan::EntriesStay(layout_->indexes[index_number], former,
                            after.layout_->indexes[after_number]);
}

bool TableCodec::has_primary_key() const { return layout_->has_primary_key; }

uint32_t TableCodec::IndexNumberOfKey(uint32_t server_key) const {
  return layout_->index_number_of_key[server_key];
}

uint32_t TableCodec::KeyOfIndexNumber(uint32_t index_number) const {
  return layout_->indexes[index_number].server_key;
}

const SpatialReference* TableCodec::SpatialReferenceOf(uint32_t index_number) const {
  return layout_->indexes[index_number].spatial.get();
}

bool TableCodec::IsSearchable(uint32_t index_number) const {
  return layout_->indexes[index_number].searchable;
}

uint32_t TableCodec::PartCount(uint32_t index_number) const {
  return static_cast<uint32_t>(layout_->indexes[index_number].parts.size());
}

Status TableCodec::EncodeKey(const void* source, ByteBuffer* key) const {
  const auto* record = static_cast<const unsigned char*>(source);
  const IndexLayout& clustered = layout_->indexes[0];
  key->clear();
  if (clustered.plain.is_whole()) [[likely]] {
    key->resize(clustered.plain.bytes());
    clustered.plain.Encode(record, key->size(), key->data());
    return Status::Ok();
  }
  for (const KeyPartCodec& part : clustered.parts) {
    const ColumnInfo& column = layout_->columns[part.column];
    part.Encode(FieldImage(column, record), column.IsNull(record), key);
  }
  const auto most = static_cast<uint32_t>(KeyBytesMax(layout_->page_size_bytes));
  return key->size() <= most ? Status::Ok() : Status(Code::kTooBig, kKeyTooLong, most);
}

Status TableCodec::EncodeEntry(uint32_t index_number, const void* record, Bytes clustered_key,
                               EncodedEntry* entry) const {
  return EncodeEntryWith(index_number, static_cast<const unsigned char*>(record), nullptr,
                         clustered_key, entry);
}

Status TableCodec::EncodeElement(uint32_t index_number, const void* record, const Bytes* value,
                                 Bytes clustered_key, EncodedEntry* entry) const {
  return EncodeEntryWith(index_number, static_cast<const unsigned char*>(record), value,
                         clustered_key, entry);
}

const ColumnInfo* TableCodec::ElementOf(uint32_t index_number) const {
  const IndexLayout& index = layout_->indexes[index_number];
  return index.array_part == kNoColumn ? nullptr : &index.element;
}

uint32_t TableCodec::ArrayColumnOf(uint32_t index_number) const {
  const IndexLayout& index = layout_->indexes[index_number];
  return index.parts[index.array_part].column;
}

Status TableCodec::EncodeEntryWith(uint32_t index_number, const unsigned char* record,
                                   const Bytes* element, Bytes clustered_key,
                                   EncodedEntry* entry) const {
  const IndexLayout& index = layout_->indexes[index_number];
  ByteBuffer* const key = &entry->key;
  ByteBuffer* const payload = &entry->payload;
  if (index.spatial != nullptr) [[unlikely]] {
    entry->unique_prefix_bytes = 0;
    return EncodeSpatialEntry(*layout_, index, record, clustered_key, key, payload);
  }
  payload->clear();
  const bool plain = index.plain.is_whole();
  key->clear();
  bool has_null = false;
  if (plain) [[likely]] {
    key->resize(index.plain.declared_bytes());
    index.plain.Encode(record, key->size(), key->data());
  }
  for (uint32_t i = 0; i < index.declared_parts && !plain; ++i) {
    const KeyPartCodec& part = index.parts[i];
    const ColumnInfo& column = layout_->columns[part.column];
    const bool is_null = column.IsNull(record);
    has_null = has_null || is_null;
    const bool is_element = i == index.array_part && element != nullptr;
    part.Encode(is_element ? *element : FieldImage(column, record), is_null, key);
  }
  entry->unique_prefix_bytes = index.unique && !has_null ? static_cast<uint32_t>(key->size()) : 0;
  if (index.clustered_is_tail) {
    key->insert(key->end(), clustered_key.begin(), clustered_key.end());
  } else {
    for (uint32_t i = index.declared_parts; i < index.parts.size(); ++i) {
      const ColumnInfo& column = layout_->columns[index.parts[i].column];
      index.parts[i].Encode(FieldImage(column, record), column.IsNull(record), key);
    }
  }
  for (const uint32_t c : index.payload_columns) {
    const ColumnInfo& column = layout_->columns[c];
    if (column.IsNull(record)) continue;
    const Bytes value = column.Value(record);
    std::byte size[kVarintBytesMax];
    payload->insert(payload->end(), size, PutVarint(size, value.size()));
    payload->insert(payload->end(), value.begin(), value.end());
  }
  const auto most = static_cast<uint32_t>(KeyBytesMax(layout_->page_size_bytes));
  if (key->size() > most) return Status(Code::kTooBig, kKeyTooLong, most);
  // An entry that has no room for its values omits them: they are read from the row.
  if (key->size() + payload->size() > EntryBytesMax(layout_->page_size_bytes)) payload->clear();
  return Status::Ok();
}

const KeyPartCodec& TableCodec::FirstPart(uint32_t index_number) const {
  return layout_->indexes[index_number].parts[0];
}

Result<uint64_t> TableCodec::FirstPartAsNumber(uint32_t index_number, Bytes key) const {
  const KeyPartCodec& part = FirstPart(index_number);
  const size_t size = part.Size(key);
  uint64_t number = 0;
  if (size == 0 || !part.DecodeNumber(key.first(size), &number)) {
    return Status(Code::kCorrupt, kMalformedEntry);
  }
  return number;
}

Result<Bytes> TableCodec::ClusteredKeyOf(uint32_t index_number, Bytes entry_key,
                                         ByteBuffer* scratch) const {
  const IndexLayout& index = layout_->indexes[index_number];
  if (index.clustered_is_tail && index.plain.is_plain()) [[likely]] {
    if (entry_key.size() < index.plain.bytes()) return Status(Code::kCorrupt, kMalformedEntry);
    return entry_key.subspan(index.plain.declared_bytes());
  }
  return FindClusteredKey(index, entry_key, scratch);
}

Result<Bytes> TableCodec::FindClusteredKey(const IndexLayout& index, Bytes entry_key,
                                           ByteBuffer* scratch) const {
  std::array<std::pair<size_t, size_t>, 64> places;  // offset and size of each part
  size_t at = 0;
  for (size_t i = 0; i < index.parts.size(); ++i) {
    if (index.clustered_is_tail && i == index.declared_parts) return entry_key.subspan(at);
    const size_t size = index.parts[i].Size(entry_key.subspan(at));
    if (size == 0 || i >= places.size()) return Status(Code::kCorrupt, kMalformedEntry);
    places[i] = {at, size};
    at += size;
  }
  scratch->clear();
  for (size_t i = 0; i < index.clustered_parts.size(); ++i) {
    const uint32_t place = index.clustered_parts[i];
    const Bytes part = entry_key.subspan(places[place].first, places[place].second);
    const size_t start = scratch->size();
    scratch->insert(scratch->end(), part.begin(), part.end());
    if (index.parts[place].descending == layout_->indexes[0].parts[i].descending) continue;
    for (size_t b = start; b < scratch->size(); ++b) (*scratch)[b] ^= std::byte{0xFF};
  }
  return Bytes(*scratch);
}

Status TableCodec::DecodeEntry(uint32_t index_number, const VersionView& entry, const void* columns,
                               void* target) const {
  const IndexLayout& index = layout_->indexes[index_number];
  auto* record = static_cast<unsigned char*>(target);
  PoisonRecord(record, layout_->record_bytes);
  if (index.plain.is_plain() && index.payload_columns.empty()) [[likely]] {
    if (entry.key.size() < index.plain.bytes()) return Status(Code::kCorrupt, kMalformedEntry);
    index.plain.Decode(entry.key, record);
    return Status::Ok();
  }
  const MY_BITMAP* wanted = BitmapOf(static_cast<const WantedColumns*>(columns));
  return DecodeEntryByParts(index, entry, wanted, record);
}

Status TableCodec::DecodeEntryByParts(const IndexLayout& index, const VersionView& entry,
                                      const MY_BITMAP* wanted, unsigned char* record) const {
  const auto& [key, payload] = entry;
  size_t at = 0;
  for (uint32_t i = 0; i < index.parts.size(); ++i) {
    const KeyPartCodec& part = index.parts[i];
    const size_t size = part.Size(key.subspan(at));
    if (size == 0) return Status(Code::kCorrupt, kMalformedEntry);
    const Bytes bytes = key.subspan(at, size);
    at += size;
    if (part.column == kNoColumn || i == index.array_part) continue;
    const ColumnInfo& column = layout_->columns[part.column];
    if (part.reversible) {
      if (!IsWanted(wanted, column.field)) continue;
      if (!part.Decode(bytes, column, record)) {
        return Status(Code::kCorrupt, kMalformedEntry);
      }
    } else if (column.nullable()) {
      const bool is_null = (bytes[0] ^ part.mask()) == std::byte{0};
      record[column.null_offset] =
          static_cast<unsigned char>(is_null ? record[column.null_offset] | column.null_bit
                                             : record[column.null_offset] & ~column.null_bit);
    }
    if (column.IsNull(record)) layout_->FillNull(column, record);
  }
  const std::byte* position = payload.data();
  const std::byte* end = position + payload.size();
  for (const uint32_t c : index.payload_columns) {
    const ColumnInfo& column = layout_->columns[c];
    if (column.IsNull(record)) continue;
    if (payload.empty()) return Status(Code::kUnsupported, "the entry has no room for its values");
    uint64_t size = 0;
    position = GetVarint(position, end, &size);
    if (position == nullptr || size > static_cast<uint64_t>(end - position) ||
        !column.Store({position, size}, record)) {
      return Status(Code::kCorrupt, kMalformedEntry);
    }
    position += size;
  }
  return Status::Ok();
}

void TableCodec::EncodeSearchKey(uint32_t server_key, const unsigned char* image,
                                 unsigned long keypart_map, ByteBuffer* prefix,
                                 bool* complete) const {
  const IndexLayout& index = layout_->indexes[IndexNumberOfKey(server_key)];
  if (index.plain.is_whole()) [[likely]] {
    const size_t bytes = index.plain.BytesOf(keypart_map);
    *complete = bytes == index.plain.bytes();
    if (prefix->size() != bytes) prefix->resize(bytes);
    index.plain.EncodeImage(image, bytes, prefix->data());
    return;
  }
  prefix->clear();
  const auto* position = reinterpret_cast<const std::byte*>(image);
  size_t used = 0;
  for (const KeyPartCodec& part : index.parts) {
    if ((keypart_map & 1) == 0 || part.column == kNoColumn) break;
    keypart_map >>= 1;
    const bool is_element = used == index.array_part;
    ++used;
    const ColumnInfo& column = is_element ? index.element : layout_->columns[part.column];
    bool is_null = false;
    if (part.nullable) is_null = *position++ != std::byte{0};
    Bytes value(position, part.prefix_bytes);
    const bool length_prefixed =
        column.kind == ColumnKind::kVarchar || column.kind == ColumnKind::kBlob;
    if (length_prefixed) {
      value = Bytes(position + 2, std::min<size_t>(LoadLe<uint16_t>(position), part.prefix_bytes));
      position += 2;
    } else if (column.kind == ColumnKind::kChar) {
      value = WithoutPadding(column.charset, value);
    }
    position += part.prefix_bytes;
    part.Encode(value, is_null, prefix);
  }
  *complete = used == index.parts.size();
}

uint32_t TableCodec::EqualParts(uint32_t index_number, Bytes left, Bytes right) const {
  // Documents are found by their words, not by equal values: each counts as one of its own.
  if (TextIndexAt(index_number) != nullptr) return 0;
  uint32_t equal = 0;
  for (const KeyPartCodec& part : layout_->indexes[index_number].parts) {
    const size_t left_size = part.Size(left);
    const size_t right_size = part.Size(right);
    if (left_size == 0 || right_size == 0) break;
    if (!EqualBytes(left.first(left_size), right.first(right_size))) break;
    left = left.subspan(left_size);
    right = right.subspan(right_size);
    ++equal;
  }
  return equal;
}

KeyParts::GroupKey TableCodec::SplitKey(uint32_t index_number, Bytes key, GroupParts parts) const {
  const std::vector<KeyPartCodec>& all = layout_->indexes[index_number].parts;
  GroupKey split;
  for (uint32_t i = 0; i < parts.group + parts.order && i < all.size(); ++i) {
    const Bytes rest = key.subspan(split.ordered_bytes);
    if (i == parts.group) split.order_is_null = all[i].IsNull(rest);
    split.ordered_bytes += all[i].Size(rest);
    if (i < parts.group) split.group_bytes = split.ordered_bytes;
  }
  return split;
}

}  // namespace rowan
