// SPDX-License-Identifier: GPL-2.0-only
#include "engine/catalog/catalog_rows.h"

#include <algorithm>

#include "btree/tree.h"
#include "mvcc/row/row_header.h"

namespace rowan {
namespace {

/// Stands where a definition in one row has its version.
constexpr uint8_t kInPieces = 0xFF;
constexpr size_t kTableIdBytes = 8;
constexpr size_t kPieceNumberBytes = 4;
/// Two names of 64 characters, each of five bytes at most as the server writes them into paths,
/// with a slash, and the numbers around them. Reserved in the first row for a longer name.
constexpr size_t kNameBytesMax = 700;

size_t RowBytesMax(uint32_t page_size_bytes) {
  return Tree::MaxEntryBytes(page_size_bytes) - kTableIdBytes - kPieceNumberBytes -
         kClusteredHeaderBytes;
}

/// Bytes after the name that the first of several rows holds.
size_t FirstPieceBytes(uint32_t page_size_bytes) {
  return RowBytesMax(page_size_bytes) - kNameBytesMax - 1 - kVarintBytesMax;
}

std::string PieceHeader(uint32_t rows) {
  std::byte number[kVarintBytesMax];
  const std::byte* end = PutVarint(number, rows);
  return static_cast<char>(kInPieces) +
         std::string(AsText(Bytes(number, static_cast<size_t>(end - number))));
}

}  // namespace

std::array<std::byte, 9> StatisticsKeyOf(TableId table) {
  std::array<std::byte, 9> key;
  StoreBe64(key.data(), table.value());
  key[8] = std::byte{'S'};
  return key;
}

std::string CatalogKey(TableId table, uint32_t piece) {
  std::string key(kTableIdBytes + (piece == 0 ? 0 : kPieceNumberBytes), '\0');
  auto* bytes = reinterpret_cast<std::byte*>(key.data());
  StoreBe64(bytes, table.value());
  if (piece != 0) StoreBe32(bytes + kTableIdBytes, piece);
  return key;
}

std::vector<std::string> EncodeCatalogRows(const TableDef& definition, uint32_t page_size_bytes) {
  size_t name_end = 0;
  const std::string text = EncodeTableDef(definition, &name_end);
  const size_t first = FirstPieceBytes(page_size_bytes);
  if (text.size() - name_end <= first) return {text};
  std::vector<std::string> pieces;
  const size_t piece_bytes = RowBytesMax(page_size_bytes);
  for (size_t at = name_end + first; at < text.size(); at += piece_bytes) {
    pieces.push_back(text.substr(at, piece_bytes));
  }
  pieces.insert(pieces.begin(), PieceHeader(static_cast<uint32_t>(pieces.size() + 1)) +
                                    text.substr(0, name_end + first));
  return pieces;
}

std::string EncodeFirstCatalogRow(const TableDef& definition, uint32_t page_size_bytes,
                                  uint32_t rows) {
  size_t name_end = 0;
  const std::string text = EncodeTableDef(definition, &name_end);
  if (rows == 1) return text;
  return PieceHeader(rows) + text.substr(0, name_end + FirstPieceBytes(page_size_bytes));
}

Status CatalogRowJoiner::Add(Bytes key, Bytes row) {
  if (key.size() == kTableIdBytes + kPieceNumberBytes) {
    const bool next = rows_seen_ < rows_ && AsText(key.first(kTableIdBytes)) == first_key_ &&
                      LoadBe32(key.data() + kTableIdBytes) == rows_seen_;
    if (!next) return Status::Ok();
    text_.append(AsText(row));
    ++rows_seen_;
    return Status::Ok();
  }
  const Status status = Finish();
  if (!status.ok()) return status;
  if (key.size() != kTableIdBytes || row.empty()) {
    return Status(Code::kCorrupt, "malformed catalog row");
  }
  first_key_ = AsText(key);
  rows_ = rows_seen_ = 1;
  if (static_cast<uint8_t>(row[0]) != kInPieces) {
    text_ = AsText(row);
    return Status::Ok();
  }
  uint64_t rows = 0;
  const std::byte* next = GetVarint(row.data() + 1, row.data() + row.size(), &rows);
  if (next == nullptr || rows < 2 || rows > UINT16_MAX) {
    return Status(Code::kCorrupt, "malformed catalog row");
  }
  rows_ = static_cast<uint32_t>(rows);
  text_ = AsText(row.subspan(static_cast<size_t>(next - row.data())));
  return Status::Ok();
}

Status CatalogRowJoiner::Finish() {
  if (rows_ == 0) return Status::Ok();
  if (rows_seen_ != rows_) return Status(Code::kCorrupt, "a catalog row is missing");
  Result<TableDef> definition = DecodeTableDef(AsBytes(text_));
  if (!definition.ok()) return definition.status();
  joined_.push_back({std::move(*definition), rows_});
  rows_ = 0;
  return Status::Ok();
}

}  // namespace rowan
