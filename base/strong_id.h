// SPDX-License-Identifier: GPL-2.0-only
// Typed integers: an id or position of one kind cannot be passed where another is meant.
// Conversions are named: `value()` out, the explicit constructor in. Thread safety: plain values.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace rowan {

template <typename Tag, typename Integer>
class StrongId {
 public:
  using Raw = Integer;

  constexpr StrongId() = default;
  constexpr explicit StrongId(Integer value) : value_(value) {}

  [[nodiscard]] constexpr Integer value() const { return value_; }
  constexpr auto operator<=>(const StrongId&) const = default;

 private:
  Integer value_ = 0;
};

}  // namespace rowan

template <typename Tag, typename Integer>
struct std::hash<rowan::StrongId<Tag, Integer>> {
  size_t operator()(rowan::StrongId<Tag, Integer> id) const noexcept {
    return std::hash<Integer>{}(id.value());
  }
};
