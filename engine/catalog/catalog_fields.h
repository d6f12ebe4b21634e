// SPDX-License-Identifier: GPL-2.0-only
// The fields of catalog rows: varints, length-prefixed texts, floats.
// Thread safety: pure functions; a reader belongs to one thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "base/bytes.h"

namespace rowan {

inline void PutNumber(std::string* target, uint64_t value) {
  std::byte bytes[kVarintBytesMax];
  const std::byte* end = PutVarint(bytes, value);
  target->append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(end - bytes));
}

inline void PutText(std::string* target, const std::string& text) {
  PutNumber(target, text.size());
  target->append(text);
}

inline void PutFloat(std::string* target, float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  std::byte bytes[sizeof(bits)];
  StoreLe<uint32_t>(bytes, bits);
  target->append(reinterpret_cast<const char*>(bytes), sizeof(bytes));
}

/// Reads the fields of a row; failure is sticky, checked once at the end.
class CatalogFieldReader {
 public:
  explicit CatalogFieldReader(Bytes row) : position_(row.data()), end_(row.data() + row.size()) {}

  uint64_t Number() {
    uint64_t value = 0;
    const std::byte* next = ok_ ? GetVarint(position_, end_, &value) : nullptr;
    ok_ = next != nullptr;
    if (ok_) position_ = next;
    return value;
  }

  std::string Text() {
    const uint64_t size = Number();
    if (!Has(size)) return {};
    std::string text(reinterpret_cast<const char*>(position_), size);
    position_ += size;
    return text;
  }

  float Float() {
    if (!Has(sizeof(uint32_t))) return 0;
    const auto bits = LoadLe<uint32_t>(position_);
    float value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    position_ += sizeof(bits);
    return value;
  }

  [[nodiscard]] bool ok() const { return ok_; }

 private:
  bool Has(uint64_t bytes) {
    ok_ = ok_ && bytes <= static_cast<uint64_t>(end_ - position_);
    return ok_;
  }

  const std::byte* position_;
  const std::byte* end_;
  bool ok_ = true;
};

}  // namespace rowan
