// SPDX-License-Identifier: GPL-2.0-only
// Finding a page's hole and omitting it. See page_hole.h.
#include "buffer/page/page_hole.h"

#include <cstring>

#include "base/assertions.h"

namespace rowan {
namespace {

constexpr size_t kUnit = PageHole::kUnitBytes;
/// One unit in each stretch of this length is examined; only if it is zero, its neighbours.
constexpr size_t kProbeBytes = 512;
static_assert(kProbeBytes % kUnit == 0);

bool UnitIsZero(const std::byte* unit) {
  uint64_t words[kUnit / sizeof(uint64_t)];
  std::memcpy(words, unit, kUnit);
  uint64_t any = 0;
  for (const uint64_t word : words) any |= word;
  return any == 0;
}

}  // namespace

PageHole FindHole(Bytes page) {
  ROWAN_CHECK(page.size() % kProbeBytes == 0);
  PageHole hole;
  for (size_t probe = 0; probe < page.size();) {
    size_t end = probe;
    while (end < page.size() && UnitIsZero(page.data() + end)) end += kUnit;
    if (end != probe) {
      // Units up to the probe before this one are not zero, or belong to a run that ended.
      size_t begin = probe;
      while (begin > 0 && UnitIsZero(page.data() + begin - kUnit)) begin -= kUnit;
      if (end - begin > hole.bytes) {
        hole = {static_cast<uint32_t>(begin), static_cast<uint32_t>(end - begin)};
      }
    }
    probe = (end / kProbeBytes + 1) * kProbeBytes;
  }
  return hole;
}

std::byte* PackImage(Bytes page, PageHole hole, std::byte* target) {
  const Bytes back = page.subspan(size_t{hole.begin} + hole.bytes);
  std::memcpy(target, page.data(), hole.begin);
  if (!back.empty()) std::memcpy(target + hole.begin, back.data(), back.size());
  return target + hole.begin + back.size();
}

void UnpackImage(Bytes packed, PageHole hole, MutableBytes page) {
  ROWAN_CHECK(packed.size() + hole.bytes == page.size());
  ROWAN_CHECK(hole.begin <= packed.size());
  const Bytes back = packed.subspan(hole.begin);
  std::memcpy(page.data(), packed.data(), hole.begin);
  std::memset(page.data() + hole.begin, 0, hole.bytes);
  if (!back.empty()) {
    std::memcpy(page.data() + hole.begin + hole.bytes, back.data(), back.size());
  }
}

}  // namespace rowan
