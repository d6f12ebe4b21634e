// SPDX-License-Identifier: GPL-2.0-only
// PageHole: the longest run of zeros in a page image, which the doublewrite file omits. Free space
// of a B-tree node is zero (only a rebuild reclaims it), and so is unused space of any page; the
// hole is found by scanning, so no page type has to report it.
//
// The checksum covers the hole, so it shows whether an image was reassembled correctly.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace rowan {

struct PageHole {
  /// Begin and length are multiples of this.
  static constexpr uint32_t kUnitBytes = 64;
  /// Longer runs of zeros are always found.
  static constexpr uint32_t kSureBytes = 512 + 2 * kUnitBytes;

  uint32_t begin = 0;
  uint32_t bytes = 0;
};

/// REQUIRES: the page size is a multiple of 512.
PageHole FindHole(Bytes page);
/// Copies `page` without its hole to `target`; returns the bytes after it.
std::byte* PackImage(Bytes page, PageHole hole, std::byte* target);
/// The reverse; `packed` has page.size() - hole.bytes bytes. REQUIRES: the hole is within the page.
void UnpackImage(Bytes packed, PageHole hole, MutableBytes page);

}  // namespace rowan
