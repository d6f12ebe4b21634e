// SPDX-License-Identifier: GPL-2.0-only
// ValueVector: the values of a column or an expression for rows of one batch, by the number of the
// row. Values of rows that were not read, or are NULL, can be read and mean nothing.
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "plugin/program/selection.h"

struct CHARSET_INFO;

namespace rowan {

using Wide = __int128;

enum class ValueKind : uint8_t {
  kSigned,       ///< int64_t
  kUnsigned,     ///< uint64_t; ENUM and SET as their numbers, YEAR as the server's number
  kDecimal,      ///< int64_t: the value times 10^scale; at most 18 digits
  kWideDecimal,  ///< Wide: likewise, at most 38 digits
  kDouble,       ///< double
  kDate,         ///< int64_t: (year * 16 + month) * 32 + day, as the server's Date_val
  kDatetime,     ///< int64_t, packed: the server's TIME_to_longlong_datetime_packed
  kTime,         ///< int64_t: the server's Time_val::for_comparison()
  kBytes,        ///< Bytes, of text or of binary data
};

/// Most digits of a kDecimal and of a kWideDecimal.
inline constexpr uint32_t kDecimalDigits = 18;
inline constexpr uint32_t kWideDigits = 38;

struct ValueType {
  ValueKind kind = ValueKind::kSigned;
  uint8_t scale = 0;                      ///< of decimals: digits after the point
  uint8_t precision = 0;                  ///< of decimals and integers: most digits in all
  bool nullable = false;                  ///< some value may be NULL
  const CHARSET_INFO* charset = nullptr;  ///< of kBytes: the value's character set and collation
};

class ValueVector {
 public:
  ValueVector() : data_(new Data()) {}

  /// T is what the kind says.
  template <typename T>
  [[nodiscard]] T* As() {
    static_assert(sizeof(T) <= kValueBytesMax && alignof(T) <= alignof(Data));
    return reinterpret_cast<T*>(data_->values);
  }
  template <typename T>
  [[nodiscard]] const T* As() const {
    return reinterpret_cast<const T*>(data_->values);
  }
  /// 1: NULL. All 0 unless has_nulls().
  [[nodiscard]] uint8_t* nulls() { return data_->nulls; }
  [[nodiscard]] const uint8_t* nulls() const { return data_->nulls; }
  /// False: no row that was read is NULL.
  [[nodiscard]] bool has_nulls() const { return has_nulls_; }
  void set_has_nulls(bool has_nulls) { has_nulls_ = has_nulls; }
  /// Of the batch before.
  void ForgetNulls() {
    if (std::exchange(has_nulls_, false)) std::memset(data_->nulls, 0, sizeof(data_->nulls));
  }

 private:
  static constexpr size_t kValueBytesMax = 16;
  struct alignas(64) Data {
    std::byte values[kBatchRowsMax * kValueBytesMax];
    uint8_t nulls[kBatchRowsMax];
  };

  const std::unique_ptr<Data> data_;
  bool has_nulls_ = false;
};

}  // namespace rowan
