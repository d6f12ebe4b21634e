// SPDX-License-Identifier: GPL-2.0-only
// UndoPointer: the place of an undo record in the undo space; 6 bytes on disk. Zero is "no older
// version".
#pragma once

#include <compare>
#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"

namespace rowan {

struct UndoPointer {
  PageNumber page;
  uint16_t offset = 0;

  constexpr auto operator<=>(const UndoPointer&) const = default;
  [[nodiscard]] constexpr bool IsNone() const { return page == kNoPage; }
};
inline constexpr size_t kUndoPointerBytes = 6;

inline void StoreUndoPointer(std::byte* target, UndoPointer pointer) {
  StoreLe<uint32_t>(target, pointer.page.value());
  StoreLe<uint16_t>(target + 4, pointer.offset);
}
inline UndoPointer LoadUndoPointer(const std::byte* source) {
  return {PageNumber(LoadLe<uint32_t>(source)), LoadLe<uint16_t>(source + 4)};
}

}  // namespace rowan
