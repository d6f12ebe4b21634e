// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/blocks/dimension.h"

#include <xxhash.h>

#include <algorithm>
#include <string_view>

#include "mysql/strings/m_ctype.h"
#include "sql/current_thd.h"

#include "engine/table_cursor.h"
#include "plugin/blocks/incomplete_dates.h"
#include "plugin/handler/table_part.h"
#include "plugin/server/statement_kind.h"
#include "plugin/server/thd_context.h"

namespace rowan {
namespace {

/// Texts that are equal are the same bytes.
bool HasPlainEquality(const CHARSET_INFO* charset) {
  return charset == &my_charset_bin || std::string_view(charset->m_coll_name) == "utf8mb4_0900_bin";
}

}  // namespace

bool IsKeyOfSet(const ValueType& type) {
  switch (type.kind) {
    case ValueKind::kSigned:
    case ValueKind::kUnsigned:
    case ValueKind::kDecimal:
    case ValueKind::kDate:
    case ValueKind::kDatetime:
    case ValueKind::kTime: return true;
    case ValueKind::kBytes: return HasPlainEquality(type.charset);
    default: return false;  // 0 and -0 of DOUBLE
  }
}

uint64_t KeyOfSet(ValueKind kind, const ValueVector& values, RowNumber row) {
  if (kind != ValueKind::kBytes) return values.As<uint64_t>()[row];
  const Bytes text = values.As<Bytes>()[row];
  return XXH3_64bits(text.data(), text.size());
}

void Dimension::Read() {
  ThdContext* const context = ContextOf(current_thd);
  TableCursor cursor(context->session.get(), part_->table(), part_->row_codec(),
                     ReadOptions{.mode = ReadMode::kSnapshot});
  cursor.OpenScan(0);
  const Status status = ReadRows(&cursor);
  cursor.CloseScan();
  cursor.PublishCounts(KindOfStatement(current_thd), &context->reads);
  BlockReader::CountExamined(rows_);
  // What ended it early, ends the server's own reads, too.
  is_decided_ = status.Is(Code::kEndOfRange);
  keys_.Finish();
}

/// kEndOfRange: all have been read.
Status Dimension::ReadRows(TableCursor* cursor) {
  const ValueKind kind = reader_.values().TypeOf(key_).kind;
  for (;;) {
    const ValueVector* values = nullptr;
    const Status status = reader_.NextBatch(cursor, [&](Batch* batch, Selection* rows) {
      values = &batch->Read(key_, rows);
      PutIncompleteDatesAside(kind, *values, batch, rows);
    });
    if (!status.ok()) return status;
    rows_ += reader_.size();
    if (!reader_.aside().empty()) return Status::Ok();
    TakeKeys(*values);
  }
}

void Dimension::TakeKeys(const ValueVector& values) {
  const ValueKind kind = reader_.values().TypeOf(key_).kind;
  taken_ += reader_.rows().size();
  for (const RowNumber row : reader_.rows()) {
    const bool is_null = values.has_nulls() && values.nulls()[row] != 0;
    if (is_null || !is_complete_) continue;
    is_complete_ = keys_.Add(KeyOfSet(kind, values, row));
  }
}

}  // namespace rowan
