// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/transport_rows.h"

#include "sql/field.h"
#include "sql/key.h"
#include "sql/table.h"

#include "base/logging.h"
#include "plugin/handler/table_description.h"

namespace rowan {
namespace {

std::string DescribeColumn(const Field& field) {
  StringBuffer<128> type;
  field.sql_type(type);
  std::string text = std::string("column ") + field.field_name + " ";
  text.append(type.ptr(), type.length());
  if (field.has_charset()) text += std::string(" ") + field.charset()->m_coll_name;
  return text + (field.is_nullable() ? " NULL" : " NOT NULL");
}

std::string DescribePart(const KEY_PART_INFO& part) {
  const bool descending = (part.key_part_flag & HA_REVERSE_SORT) != 0;
  return std::string("primary key part ") + part.field->field_name + " of " +
         std::to_string(part.length) + " bytes" + (descending ? " DESC" : "");
}

/// The meaning of rows, a line for each stored column and each part of the primary key. An import
/// rebuilds other indexes.
std::string DescribeSchema(const TABLE& table) {
  std::string text;
  for (uint i = 0; i < table.s->fields; ++i) {
    if (!table.field[i]->is_virtual_gcol()) text += DescribeColumn(*table.field[i]) + "\n";
  }
  if (table.s->primary_key == MAX_KEY) return text;
  const KEY& key = table.key_info[table.s->primary_key];
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    text += DescribePart(key.key_part[i]) + "\n";
  }
  return text;
}

std::string TakeLine(std::string_view* text) {
  const std::string_view line = text->substr(0, text->find('\n'));
  text->remove_prefix(std::min(text->size(), line.size() + 1));
  return line.empty() ? "nothing" : std::string(line);
}

}  // namespace

Status RowTransport::Prepare(uint32_t page_size_bytes, const TableCodec& own) {
  std::string refusal;
  Result<std::unique_ptr<TableCodec>> made = TableCodec::Make(table_, page_size_bytes, &refusal);
  if (!made.ok()) {
    LogError("Rowan does not support {}.", refusal);
    return made.status();
  }
  codec_ = std::move(*made);
  codec_->TakeWordLimits(own);
  if (ComputedColumns::AreIn(*table_)) {
    computed_columns_ = std::make_unique<ComputedColumns>(table_, codec_.get());
  }
  return Status::Ok();
}

const RowCodec& RowTransport::codec() const {
  if (computed_columns_ != nullptr) return *computed_columns_;
  return *codec_;
}

ExportHeader RowTransport::Header() const {
  // The part of the table's descriptor that rows depend on: the columns that they hold.
  constexpr std::string_view kVirtual = ":virtual";
  const std::string descriptor = codec_->TableDescriptor();
  std::string layout = descriptor.substr(0, descriptor.find(' '));  // its version
  for (size_t at = descriptor.find('|'); at != std::string::npos;) {
    const size_t end = descriptor.find('|', at + 1);
    const std::string column = descriptor.substr(at, end == std::string::npos ? end : end - at);
    if (!column.ends_with(kVirtual)) layout += column;
    at = end;
  }
  return {DescribeSchema(*table_), layout + "|" + codec_->IndexDescriptor(0)};
}

std::string RowTransport::Difference(const ExportHeader& header) const {
  const ExportHeader own = Header();
  if (header.schema == own.schema) {
    return header.layout == own.layout ? "" : "the file encodes rows in another way";
  }
  std::string_view here = own.schema;
  std::string_view there = header.schema;
  for (;;) {
    const std::string one = TakeLine(&here);
    const std::string other = TakeLine(&there);
    if (one != other) return "the table has " + one + ", the file has " + other;
  }
}

TableDef RowTransport::Definition(const std::string& name) const {
  return DescribeTable(table_, *codec_, name);
}

Status RowTransport::Pack(Bytes key, ExportedRow* row) {
  value_count_ = 0;
  const Status status = codec_->EncodeRow(table_->record[0], key.size(), this, &row_);
  if (!status.ok()) return status;
  *row = {.key = key, .row = row_};
  for (size_t i = 0; i < value_count_; ++i) row->values.push_back(values_[i]);
  return Status::Ok();
}

Status RowTransport::Unpack(const ExportedRow& row) {
  unpacked_ = &row;
  const Status status = codec_->DecodeRow({row.key, row.row}, nullptr, this, table_->record[0]);
  if (!status.ok()) return status;
  if (computed_columns_ != nullptr && !computed_columns_->Compute(table_->record[0])) {
    return Status(Code::kUnsupported, "a generated column cannot be computed");
  }
  return Status::Ok();
}

Status RowTransport::Write(OffPageWrite* value) {
  if (values_.size() == value_count_) values_.emplace_back();
  values_[value_count_].assign(value->value.begin(), value->value.end());
  value->stored.base = {SpaceId(0), PageNumber(static_cast<uint32_t>(value_count_++)),
                        value->value.size(), 0};
  return Status::Ok();
}

Result<Bytes> RowTransport::Read(const OffPageValue& value, uint32_t /*column*/) {
  const size_t number = value.base.first_page.value();
  if (number >= unpacked_->values.size() || value.is_changed() ||
      unpacked_->values[number].size() != value.size_bytes()) {
    return Status(Code::kCorrupt, "an exported row lacks a value");
  }
  return unpacked_->values[number];
}

}  // namespace rowan
