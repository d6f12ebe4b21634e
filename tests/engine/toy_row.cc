// SPDX-License-Identifier: GPL-2.0-only
// Stored: value, unique (4 bytes each, big-endian), reference of the blob if the highest bit of
// value is set, text.
#include "tests/engine/toy_row.h"

#include <gtest/gtest.h>

namespace rowan {
namespace {

constexpr uint32_t kHasBlob = uint32_t{1} << 31;
constexpr size_t kNumbersBytes = 8;
constexpr size_t kIdBytes = 8;

std::string BigEndian32(uint32_t value) {
  std::string bytes(4, '\0');
  StoreBe32(reinterpret_cast<std::byte*>(bytes.data()), value);
  return bytes;
}

}  // namespace

std::string ToyKey(uint64_t id) {
  std::string bytes(8, '\0');
  StoreBe64(reinterpret_cast<std::byte*>(bytes.data()), id);
  return bytes;
}

const RowCodec& ToyCodec() {
  static const StoredRowCodec codec([](uint32_t, Bytes entry_key) {
    return entry_key.size() < kIdBytes ? Bytes() : entry_key.last(kIdBytes);
  });
  return codec;
}

std::string ToyEncode(const ToyRow& row, const std::optional<BlobRef>& blob) {
  std::string reference;
  if (blob.has_value()) {
    reference.resize(kBlobRefBytes);
    StoreBlobRef(reinterpret_cast<std::byte*>(reference.data()), *blob);
  }
  const uint32_t value = row.value | (blob.has_value() ? kHasBlob : 0);
  return BigEndian32(value) + BigEndian32(row.unique) + reference + row.text;
}

ToyRow ToyDecode(Bytes row) {
  const size_t reference_bytes = ToyBlobOf(row).has_value() ? kBlobRefBytes : 0;
  if (row.size() < kNumbersBytes + reference_bytes) {
    ADD_FAILURE() << "row of " << row.size() << " bytes";
    return {};
  }
  return {.value = LoadBe32(row.data()) & ~kHasBlob,
          .unique = LoadBe32(row.data() + 4),
          .text = std::string(AsText(row.subspan(kNumbersBytes + reference_bytes)))};
}

std::optional<BlobRef> ToyBlobOf(Bytes row) {
  if (row.size() < kNumbersBytes + kBlobRefBytes) return std::nullopt;
  if ((LoadBe32(row.data()) & kHasBlob) == 0) return std::nullopt;
  return LoadBlobRef(row.data() + kNumbersBytes);
}

void FindToyBlobs(Bytes row, std::vector<BlobRef>* blobs) {
  const std::optional<BlobRef> blob = ToyBlobOf(row);
  if (blob.has_value()) blobs->push_back(*blob);
}

std::string ToyValueEntry(uint64_t id, const ToyRow& row) {
  return BigEndian32(row.value) + ToyKey(id);
}

std::string ToyUniqueEntry(uint64_t id, const ToyRow& row) {
  return BigEndian32(row.unique) + ToyKey(id);
}

}  // namespace rowan
