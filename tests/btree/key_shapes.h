// SPDX-License-Identifier: GPL-2.0-only
// Kinds of keys and values that trees meet, for random programs. Thread safety: plain functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "btree/node.h"

namespace rowan {

/// How keys and values of one test program look.
struct KeyShape {
  enum class Kind {
    kShort,
    kBigEndian,
    kLongPrefix,
    kSharedPrefix,
    kUrl,
    kMixed,
    kHuge,
    kLargeRow
  };

  Kind kind;
  uint32_t page_bytes;

  [[nodiscard]] std::string Make(Random* random) const;
  [[nodiscard]] std::string MakeValue(Random* random) const;
  [[nodiscard]] std::string Number(uint64_t number, size_t bytes) const;
};

inline constexpr size_t kKeyShapes = 8;

inline std::string KeyShape::Number(uint64_t number, size_t bytes) const {
  std::string text(8, '\0');
  StoreBe64(reinterpret_cast<std::byte*>(text.data()), number);
  return text.substr(8 - bytes);
}

inline std::string KeyShape::Make(Random* random) const {
  switch (kind) {
    case Kind::kShort: return Number(random->Below(4096), random->Between(1, 3));
    case Kind::kBigEndian: return Number(random->Below(100000), 8);
    case Kind::kLargeRow: return Number(random->Below(1000), 8);
    case Kind::kLongPrefix: return std::string(300, 'p') + Number(random->Below(3000), 4);
    case Kind::kSharedPrefix:
      return std::string(random->Below(4) * 40, static_cast<char>('a' + random->Below(3))) +
             Number(random->Below(300), 2);
    case Kind::kUrl:
      return "https://example.org/" + std::to_string(random->Below(20)) + "/article/" +
             std::to_string(random->Below(500));
    case Kind::kMixed: {
      std::string key(random->Below(12), '\0');
      for (char& c : key) c = static_cast<char>(random->OneIn(2) ? 0 : random->Below(256));
      return key;
    }
    case Kind::kHuge: {
      const size_t limit = NodeMaxKeyBytes(page_bytes);
      const size_t size = random->OneIn(3) ? limit - 2 : random->Below(limit - 2);
      return std::string(size, random->OneIn(2) ? 'h' : 'i') + Number(random->Below(1000), 2);
    }
  }
  return {};
}

inline std::string KeyShape::MakeValue(Random* random) const {
  if (kind == Kind::kLargeRow) {
    const size_t largest = NodeMaxEntryBytes(page_bytes) - 8;
    const size_t large = random->OneIn(2) ? largest : largest - random->Below(page_bytes / 16);
    return std::string(random->OneIn(8) ? random->Below(200) : large, 'r');
  }
  const size_t limit =
      kind == Kind::kHuge ? NodeMaxEntryBytes(page_bytes) - NodeMaxKeyBytes(page_bytes) : 120;
  const size_t size = random->OneIn(4) ? 0 : random->Below(limit + 1);
  return std::string(size, static_cast<char>('A' + random->Below(26)));
}

inline const std::vector<KeyShape>& AllKeyShapes(uint32_t page_bytes) {
  using Kind = KeyShape::Kind;
  static const std::vector<KeyShape> shapes = {
      {Kind::kShort, page_bytes},      {Kind::kBigEndian, page_bytes},
      {Kind::kLongPrefix, page_bytes}, {Kind::kSharedPrefix, page_bytes},
      {Kind::kUrl, page_bytes},        {Kind::kMixed, page_bytes},
      {Kind::kHuge, page_bytes},       {Kind::kLargeRow, page_bytes}};
  return shapes;
}

}  // namespace rowan
