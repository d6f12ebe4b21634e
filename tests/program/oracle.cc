// SPDX-License-Identifier: GPL-2.0-only
// Functions for a server that compare programs over stored rows (plugin/program/) with the server's
// own evaluation of the same items on the same rows:
//   program_filter(n, index, condition)   program_value(n, index, expression)
//   program_groups(n, index, expression)
// are aggregates over the rows of one table; n is the number of the function in the select list,
// from 0, and index the engine's number of the index whose entries are used. They return "not
// supported: ...", "<rows> rows, <selected>, <aside>", or what differs.
#include "plugin/server/abi_guard.h"

#include <cstring>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/format.h"
#include "my_bitmap.h"
#include "mysql/plugin.h"
#include "mysql/udf_registration_types.h"
#include "plugin/codec/table_codec.h"
#include "plugin/codec/table_layout.h"
#include "plugin/program/batch.h"
#include "plugin/program/filter_program.h"
#include "plugin/program/group_key.h"
#include "sql/field.h"
#include "sql/item.h"
#include "sql/item_sum.h"
#include "sql/sql_class.h"
#include "sql/sql_lex.h"
#include "sql/table.h"

namespace rowan {
namespace {

constexpr uint32_t kPageBytes = 16384;

/// Values off the page go nowhere: programs never read them.
class NoBlobs final : public RowCodec::BlobWriter {
 public:
  Status Write(OffPageWrite* value) override {
    value->stored.base.size_bytes = value->value.size();
    value->stored.base.birth = 1;
    return Status::Ok();
  }
};

struct Row {
  std::vector<unsigned char> record;
  std::deque<std::string> blobs;
  ByteBuffer key;
  ByteBuffer value;
};

enum class Task { kFilter, kValue, kGroups };

class Oracle {
 public:
  Oracle(Item* item, uint32_t index_number, Task task)
      : item_(item), index_(index_number), task_(task), is_filter_(task == Task::kFilter) {}

  bool Start() {
    TABLE* table = nullptr;
    WalkItem(item_, enum_walk::PREFIX, [&table](Item* part) {
      Item* const real = part->real_item();
      if (real->type() == Item::FIELD_ITEM) table = down_cast<Item_field*>(real)->field->table;
      return table != nullptr;
    });
    if (table == nullptr) return Refuse("no table");
    table_ = table;
    std::string refusal;
    auto codec = TableCodec::Make(table, kPageBytes, &refusal);
    if (!codec.ok()) return Refuse(refusal);
    codec_ = std::move(*codec);
    rows_.reserve(kBatchRowsMax);  // their BLOB values stay where they are
    bitmap_set_all(table->read_set);
    table->covering_keys.clear_all();
    return true;
  }

  void Add() {
    if (!result_.empty()) return;
    Row& row = rows_.emplace_back();
    const unsigned char* const record = table_->record[0];
    row.record.assign(record, record + table_->s->reclength);
    KeepBlobs(&row);
    if (codec_->has_primary_key()) {
      codec_->EncodeKey(record, &row.key).Ignore();
    } else {
      row.key.resize(kRowIdBytes);
    }
    NoBlobs blobs;
    if (index_ == 0) {
      if (!codec_->EncodeRow(record, row.key.size(), &blobs, &row.value).ok())
        result_ = "EncodeRow";
    } else {
      EncodedEntry entry;
      if (!codec_->EncodeEntry(index_, record, row.key, &entry).ok()) result_ = "EncodeEntry";
      row.key = entry.key;
      row.value = entry.payload;
    }
    if (rows_.size() == kBatchRowsMax) Compare();
  }

  const std::string& Finish() {
    if (result_.empty() && !rows_.empty()) Compare();
    if (result_.empty() && task_ == Task::kGroups) {
      result_ = Format("{} groups, {} aside", groups_.size(), aside_);
    } else if (result_.empty()) {
      result_ = Format("{} rows, {} selected, {} aside", row_count_, selected_, aside_);
    }
    return result_;
  }
  void Clear() {
    rows_.clear();
    if (plan_ == nullptr || result_.find("supported") == std::string::npos) result_.clear();
    groups_.clear();
    row_count_ = selected_ = aside_ = 0;
  }
  [[nodiscard]] const std::string& result() const { return result_; }

 private:
  bool Refuse(const std::string& reason) {
    result_ = "not supported: " + reason;
    return false;
  }

  /// The server reuses the memory of BLOB values for the next row.
  void KeepBlobs(Row* row) {
    for (Field** field = table_->field; *field != nullptr; ++field) {
      if (!(*field)->is_flag_set(BLOB_FLAG) || (*field)->is_null()) continue;
      auto* const blob = down_cast<Field_blob*>(*field);
      const auto offset = static_cast<size_t>(blob->field_ptr() - table_->record[0]);
      row->blobs.emplace_back(reinterpret_cast<const char*>(blob->get_blob_data()),
                              blob->get_length());
      const char* const data = row->blobs.back().data();
      std::memcpy(row->record.data() + offset + blob->pack_length_no_ptr(), &data, sizeof(data));
    }
  }

  bool Compile() {
    plan_ = std::make_unique<BatchPlan>(table_, codec_->layout(), index_);
    const char* reason = "";
    if (is_filter_) {
      filter_ = FilterProgram::Compile(item_, plan_.get(), &reason);
      if (filter_ == nullptr) return Refuse(reason);
    } else {
      const std::optional<ValueId> value = plan_->AddValue(item_, &reason);
      if (!value.has_value()) return Refuse(reason);
      value_ = *value;
    }
    if (!plan_->Prepare()) return Refuse("constants");
    batch_ = std::make_unique<Batch>(*plan_);
    return true;
  }

  void Compare() {
    if (batch_ == nullptr && !Compile()) return;
    std::vector<Bytes> keys;
    std::vector<Bytes> values;
    for (const Row& row : rows_) {
      keys.emplace_back(row.key);
      values.emplace_back(row.value);
    }
    Selection selection;
    batch_->Start({keys.data(), values.data(), static_cast<uint32_t>(rows_.size())}, &selection);
    if (task_ == Task::kGroups) {
      AddGroups(&selection);
    } else if (is_filter_) {
      filter_->Run(batch_.get(), &selection);
    } else {
      vector_ = &batch_->Read(value_, &selection);
    }
    std::vector<unsigned char> current(table_->record[0], table_->record[0] + table_->s->reclength);
    if (task_ != Task::kGroups) CompareRows(selection.AsSet());
    std::memcpy(table_->record[0], current.data(), current.size());
    row_count_ += rows_.size();
    selected_ += selection.size();
    aside_ += batch_->aside().size();
    rows_.clear();
  }

  void AddGroups(Selection* rows) {
    GroupKey group(*plan_, {value_});
    group.Read(batch_.get(), rows);
    for (const RowNumber row : *rows) {
      std::vector<std::byte> key;
      group.Append(row, &key);
      groups_.insert(std::move(key));
    }
  }

  void CompareRows(const RowSet& selected) {
    for (size_t i = 0; i < rows_.size() && result_.empty(); ++i) {
      const auto row = static_cast<RowNumber>(i);
      if (batch_->aside().Has(row)) {
        if (selected.Has(row)) result_ = Format("row {}: aside and selected", i);
        continue;
      }
      std::memcpy(table_->record[0], rows_[i].record.data(), rows_[i].record.size());
      const std::string server = is_filter_ ? ServersAnswer() : ServersValue();
      const std::string own = is_filter_ ? (selected.Has(row) ? "true" : "other") : Value(row);
      if (server != own) result_ = Format("row {}: server {}, program {}", i, server, own);
      if (current_thd->is_error()) result_ = Format("row {}: the server fails", i);
    }
  }

  std::string ServersAnswer() {
    const bool is_true = item_->val_bool();
    return is_true && !item_->null_value ? "true" : "other";
  }

  static std::string Text(Wide number) {
    const bool negative = number < 0;
    std::string digits;
    do {
      const auto digit = static_cast<int>(number % 10);
      digits.insert(digits.begin(), static_cast<char>('0' + (digit < 0 ? -digit : digit)));
      number /= 10;
    } while (number != 0);
    return negative ? "-" + digits : digits;
  }

  static std::string Hex(Bytes bytes) {
    std::string text;
    for (const std::byte byte : bytes) text += Format("{:02x}", static_cast<unsigned>(byte));
    return text;
  }

  /// Equal decimals have one text.
  static std::string Decimal(Wide number, int scale) {
    for (; scale > 0 && number % 10 == 0; --scale) number /= 10;
    return Format("{}/{}", Text(number), scale);
  }

  std::string ServersValue() {
    const ValueType& type = plan_->TypeOf(value_);
    Constant constant(item_, {.kind = type.kind, .charset = type.charset});
    if (!constant.Evaluate()) return "?";
    if (constant.is_null()) return "NULL";
    if (type.kind == ValueKind::kDouble) return Format("{}", constant.real());
    if (type.kind == ValueKind::kBytes) return Hex(constant.bytes());
    const bool is_decimal =
        type.kind == ValueKind::kDecimal || type.kind == ValueKind::kWideDecimal;
    return is_decimal ? Decimal(constant.number(), constant.scale()) : Text(constant.number());
  }

  std::string Value(RowNumber row) {
    const ValueType& type = plan_->TypeOf(value_);
    if (vector_->has_nulls() && vector_->nulls()[row] != 0) return "NULL";
    switch (type.kind) {
      case ValueKind::kUnsigned: return Text(Wide{vector_->As<uint64_t>()[row]});
      case ValueKind::kDouble: return Format("{}", vector_->As<double>()[row]);
      case ValueKind::kBytes: return Hex(vector_->As<Bytes>()[row]);
      case ValueKind::kDecimal: return Decimal(vector_->As<int64_t>()[row], type.scale);
      case ValueKind::kWideDecimal: return Decimal(vector_->As<Wide>()[row], type.scale);
      default: return Text(vector_->As<int64_t>()[row]);
    }
  }

  Item* const item_;
  const uint32_t index_;
  const Task task_;
  const bool is_filter_;
  TABLE* table_ = nullptr;
  std::unique_ptr<TableCodec> codec_;
  std::unique_ptr<BatchPlan> plan_;
  std::unique_ptr<FilterProgram> filter_;
  std::unique_ptr<Batch> batch_;
  ValueId value_{};
  const ValueVector* vector_ = nullptr;
  std::vector<Row> rows_;
  std::string result_;
  std::set<std::vector<std::byte>> groups_;
  size_t row_count_ = 0;
  size_t selected_ = 0;
  size_t aside_ = 0;
};

/// The n-th function of the select list that is called so.
Item* ItemOf(long long number) {
  long long at = 0;
  for (Item* item : current_thd->lex->current_query_block()->fields) {
    if (at++ != number) continue;
    if (item->type() != Item::SUM_FUNC_ITEM) return nullptr;
    return *down_cast<Item_sum*>(item)->get_arg_ptr(2);
  }
  return nullptr;
}

bool Init(UDF_INIT* init, UDF_ARGS* args, char* message, Task task) {
  const bool has_numbers = args->arg_count == 3 && args->arg_type[0] == INT_RESULT &&
                           args->arg_type[1] == INT_RESULT && args->args[0] != nullptr &&
                           args->args[1] != nullptr;
  Item* const item = has_numbers ? ItemOf(*reinterpret_cast<long long*>(args->args[0])) : nullptr;
  if (item == nullptr) {
    std::strcpy(message, "arguments: number in the select list, index, item");
    return true;
  }
  const auto index = static_cast<uint32_t>(*reinterpret_cast<long long*>(args->args[1]));
  auto oracle = std::make_unique<Oracle>(item, index, task);
  oracle->Start();
  init->maybe_null = false;
  init->max_length = 255;
  init->ptr = reinterpret_cast<char*>(oracle.release());
  return false;
}

Oracle* OracleOf(UDF_INIT* init) { return reinterpret_cast<Oracle*>(init->ptr); }

char* ResultOf(UDF_INIT* init, unsigned long* length) {
  const std::string& text = OracleOf(init)->Finish();
  *length = text.size();
  return const_cast<char*>(text.data());
}

}  // namespace
}  // namespace rowan

#define ROWAN_EXPORT extern "C" __attribute__((visibility("default")))
// The functions that the server looks up for each of ours.
#define ROWAN_AGGREGATE(name, task)                                                                \
  ROWAN_EXPORT bool name##_init(UDF_INIT* init, UDF_ARGS* args, char* message) {                   \
    return rowan::Init(init, args, message, task);                                                 \
  }                                                                                                \
  ROWAN_EXPORT void name##_deinit(UDF_INIT* init) { delete rowan::OracleOf(init); }                \
  ROWAN_EXPORT void name##_clear(UDF_INIT* init, unsigned char*, unsigned char*) {                 \
    rowan::OracleOf(init)->Clear();                                                                \
  }                                                                                                \
  ROWAN_EXPORT void name##_add(UDF_INIT* init, UDF_ARGS*, unsigned char*, unsigned char*) {        \
    rowan::OracleOf(init)->Add();                                                                  \
  }                                                                                                \
  ROWAN_EXPORT char* name(UDF_INIT* init, UDF_ARGS*, char*, unsigned long* length, unsigned char*, \
                          unsigned char*) {                                                        \
    return rowan::ResultOf(init, length);                                                          \
  }

ROWAN_AGGREGATE(program_filter, rowan::Task::kFilter)
ROWAN_AGGREGATE(program_value, rowan::Task::kValue)
ROWAN_AGGREGATE(program_groups, rowan::Task::kGroups)

namespace {

struct st_mysql_daemon daemon_information = {MYSQL_DAEMON_INTERFACE_VERSION};

}  // namespace

// As a plugin, so that the server hands out its services.
mysql_declare_plugin(rowan_program_oracle){MYSQL_DAEMON_PLUGIN,
                                           &daemon_information,
                                           "rowan_program_oracle",
                                           "Rowan",
                                           "compares programs",
                                           PLUGIN_LICENSE_GPL,
                                           nullptr,
                                           nullptr,
                                           nullptr,
                                           0x0001,
                                           nullptr,
                                           nullptr,
                                           nullptr,
                                           0} mysql_declare_plugin_end;
