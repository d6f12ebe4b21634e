// SPDX-License-Identifier: GPL-2.0-only
// Stored: value, unique (4 bytes each, big-endian), length (2 bytes) and reference of the blob if
// the highest bit of value is set, text.
#include "tests/engine/toy_row.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "btree/tree.h"
#include "mvcc/row/row_header.h"

namespace rowan {
namespace {

constexpr uint32_t kHasBlob = uint32_t{1} << 31;
constexpr size_t kNumbersBytes = 8;
constexpr size_t kLengthBytes = 2;
constexpr size_t kIdBytes = 8;

std::string BigEndian32(uint32_t value) {
  std::string bytes(4, '\0');
  StoreBe32(reinterpret_cast<std::byte*>(bytes.data()), value);
  return bytes;
}

/// Length and reference of the blob.
Bytes ReferenceIn(Bytes row) {
  if (row.size() < kNumbersBytes + kLengthBytes) return {};
  if ((LoadBe32(row.data()) & kHasBlob) == 0) return {};
  const size_t size = kLengthBytes + LoadLe<uint16_t>(row.data() + kNumbersBytes);
  return row.size() < kNumbersBytes + size ? Bytes() : row.subspan(kNumbersBytes, size);
}

}  // namespace

std::string ToyKey(uint64_t id) {
  std::string bytes(8, '\0');
  StoreBe64(reinterpret_cast<std::byte*>(bytes.data()), id);
  return bytes;
}

Bytes ToyKeyOf(uint32_t /*index*/, Bytes entry_key) {
  return entry_key.size() < kIdBytes ? Bytes() : entry_key.last(kIdBytes);
}

const RowCodec& ToyCodec() {
  static const StoredRowCodec codec(ToyKeyOf);
  return codec;
}

std::string ToyEncode(const ToyRow& row, const std::optional<OffPageValue>& blob) {
  std::string reference;
  if (blob.has_value()) {
    std::vector<std::byte> bytes(kLengthBytes);
    AppendReference(*blob, &bytes);
    StoreLe<uint16_t>(bytes.data(), static_cast<uint16_t>(bytes.size() - kLengthBytes));
    reference = AsText(bytes);
  }
  const uint32_t value = row.value | (blob.has_value() ? kHasBlob : 0);
  return BigEndian32(value) + BigEndian32(row.unique) + reference + row.text;
}

size_t ToyReferenceRoom(const ToyRow& row, uint32_t page_size_bytes) {
  const size_t taken = kIdBytes + kClusteredHeaderBytes + kNumbersBytes + kLengthBytes;
  const size_t most = Tree::MaxEntryBytes(page_size_bytes) - taken;
  return std::max(kBlobRefBytes, most - std::min(most, row.text.size()));
}

ToyRow ToyDecode(Bytes row) {
  const size_t reference_bytes = ReferenceIn(row).size();
  if (row.size() < kNumbersBytes + reference_bytes) {
    ADD_FAILURE() << "row of " << row.size() << " bytes";
    return {};
  }
  return {.value = LoadBe32(row.data()) & ~kHasBlob,
          .unique = LoadBe32(row.data() + 4),
          .text = std::string(AsText(row.subspan(kNumbersBytes + reference_bytes)))};
}

std::optional<OffPageValue> ToyBlobOf(Bytes row) {
  const Bytes reference = ReferenceIn(row);
  if (reference.size() < kLengthBytes || !CanBeReference(reference.size() - kLengthBytes)) {
    return std::nullopt;
  }
  return LoadReference(reference.subspan(kLengthBytes));
}

void FindToyBlobs(Bytes row, std::vector<BlobRef>* blobs) {
  const std::optional<OffPageValue> blob = ToyBlobOf(row);
  if (blob.has_value()) AppendBlobsOf(*blob, blobs);
}

std::string ToyValueEntry(uint64_t id, const ToyRow& row) {
  return BigEndian32(row.value) + ToyKey(id);
}

std::string ToyUniqueEntry(uint64_t id, const ToyRow& row) {
  return BigEndian32(row.unique) + ToyKey(id);
}

}  // namespace rowan
