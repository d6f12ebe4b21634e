// SPDX-License-Identifier: GPL-2.0-only
// Rows of the toy table and how they are stored: {value, unique, text, blob}; index 1 is on value,
// index 2 unique on `unique`. The blob is an off-page value, stored if it is not empty.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "engine/session.h"
#include "engine/stored_row.h"
#include "space/off_page_value.h"

namespace rowan {

struct ToyRow {
  uint32_t value = 0;  ///< below 2^31
  uint32_t unique = 0;
  std::string text;
  std::string blob{};
  bool operator==(const ToyRow&) const = default;
};
using ToyRows = std::map<uint64_t, ToyRow>;

inline constexpr uint32_t kToyUniqueBytes = 4;

std::string ToyKey(uint64_t id);
/// The row's key inside that of an entry.
Bytes ToyKeyOf(uint32_t index, Bytes entry_key);
/// Toy rows as they are stored.
const RowCodec& ToyCodec();
/// `blob` is where the row's blob went.
std::string ToyEncode(const ToyRow& row, const std::optional<OffPageValue>& blob = std::nullopt);
/// What a row of `table`'s page size may still take of a blob's reference beside the rest of it.
size_t ToyReferenceRoom(const ToyRow& row, uint32_t page_size_bytes);
/// All but the blob.
ToyRow ToyDecode(Bytes row);
std::optional<OffPageValue> ToyBlobOf(Bytes row);
/// For Engine::CheckSpace.
void FindToyBlobs(Bytes row, std::vector<BlobRef>* blobs);
std::string ToyValueEntry(uint64_t id, const ToyRow& row);
std::string ToyUniqueEntry(uint64_t id, const ToyRow& row);

/// The secondary entries of a row.
class ToyEntries {
 public:
  ToyEntries(uint64_t id, const ToyRow& row)
      : value_(ToyValueEntry(id, row)), unique_(ToyUniqueEntry(id, row)) {}
  ToyEntries(const ToyEntries&) = delete;
  ToyEntries& operator=(const ToyEntries&) = delete;
  [[nodiscard]] std::span<const IndexEntry> images() const { return images_; }

 private:
  const std::string value_;
  const std::string unique_;
  const std::array<IndexEntry, 2> images_{
      {{1, AsBytes(value_), {}, 0}, {2, AsBytes(unique_), {}, kToyUniqueBytes}}};
};

}  // namespace rowan
