// SPDX-License-Identifier: GPL-2.0-only
// WantedColumns: which columns a reader wants of each row, and how they are decoded. The server may
// add to its bitmap while a scan is open: then rows are decoded by the bitmap alone.
// Thread safety: constant between two calls of Set.
#pragma once

#include <vector>

#include "my_bitmap.h"

#include "plugin/codec/decode_plan.h"

namespace rowan {

class WantedColumns {
 public:
  /// From the next row on. Bitmap and layout outlive this; the layout is the same each time.
  void Set(const TableLayout& layout, const MY_BITMAP* columns) {
    const bool is_compiled = columns->n_bits == bits_ && IsAsCompiled(*columns);
    bitmap_ = columns;
    if (is_compiled) return;
    bits_ = columns->n_bits;
    compiled_.assign(columns->bitmap, columns->bitmap + no_words_in_map(columns));
    plan_.Compile(layout, columns);
  }
  [[nodiscard]] const MY_BITMAP* bitmap() const { return bitmap_; }
  /// Null: the bitmap has changed since.
  [[nodiscard]] const DecodePlan* plan() const { return IsAsCompiled(*bitmap_) ? &plan_ : nullptr; }

 private:
  [[nodiscard]] bool IsAsCompiled(const MY_BITMAP& columns) const {
    // Word by word: mostly there is one.
    for (size_t i = 0; i < compiled_.size(); ++i) {
      if (columns.bitmap[i] != compiled_[i]) return false;
    }
    return true;
  }

  const MY_BITMAP* bitmap_ = nullptr;
  uint bits_ = 0;
  std::vector<my_bitmap_map> compiled_;
  DecodePlan plan_;
};

/// Null bitmap: all columns are.
[[nodiscard]] inline bool IsWanted(const MY_BITMAP* wanted, uint field) {
  return wanted == nullptr || bitmap_is_set(wanted, field);
}

/// Null for all columns.
[[nodiscard]] inline const MY_BITMAP* BitmapOf(const WantedColumns* columns) {
  return columns == nullptr ? nullptr : columns->bitmap();
}

}  // namespace rowan
