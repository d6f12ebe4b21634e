// SPDX-License-Identifier: GPL-2.0-only
#include "space/space_pages.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace rowan {
namespace {

using namespace space_layout;  // NOLINT: offsets of the formats this file writes

/// 64 bits from bit `word` x 64 on.
uint64_t Word(Bytes page, uint32_t word) {
  return LoadLe<uint64_t>(page.data() + kBitsOffset + size_t{word} * 8);
}

/// Bits [first, last) of a word, as a mask; both within 0..64.
uint64_t Mask(uint32_t first, uint32_t last) {
  if (first >= last) return 0;
  const uint64_t upper = last == 64 ? ~uint64_t{0} : (uint64_t{1} << last) - 1;
  return upper & (~uint64_t{0} << first);
}

bool IsClear(Bytes page, uint32_t first, uint32_t last) {
  for (uint32_t word = first / 64; word * 64 < last; ++word) {
    const uint32_t base = word * 64;
    const uint32_t low = first > base ? first - base : 0;
    if ((Word(page, word) & Mask(low, std::min<uint32_t>(64, last - base))) != 0) return false;
  }
  return true;
}

}  // namespace

namespace {

uint64_t NextFileSize(uint32_t file_pages, uint32_t page_size_bytes) {
  // Small tables stay small; large ones grow in steps that keep files in few pieces.
  const uint32_t mib = ExtentPages(page_size_bytes);
  if (file_pages < mib) return std::min(mib, std::max<uint32_t>(file_pages * 2, 4));
  uint32_t step = 16 * mib;
  if (file_pages < 1024 * mib) step = 4 * mib;
  if (file_pages < 32 * mib) step = mib;
  return (uint64_t{file_pages} / step + 1) * step;
}

}  // namespace

std::optional<SpaceSize> PlanGrowth(const SpaceSize& now, uint32_t pages, uint32_t page_size_bytes,
                                    uint32_t pages_max) {
  if (now.file_pages >= pages_max) return std::nullopt;
  const uint64_t group_end = uint64_t{now.groups} * GroupPages(page_size_bytes);
  SpaceSize next = now;
  uint64_t target = 0;
  if (now.file_pages >= group_end) {
    // The last group is full: the next one begins with its own bitmap page.
    target = uint64_t{now.file_pages} + std::max(pages + 2, ExtentPages(page_size_bytes));
    if (target > pages_max) return std::nullopt;
    ++next.groups;
  } else {
    target =
        std::min({group_end, NextFileSize(now.file_pages, page_size_bytes), uint64_t{pages_max}});
  }
  next.file_pages = static_cast<uint32_t>(target);
  return next;
}

void InitSpaceHeader(MutableBytes page, PageId id, const InstanceId& instance) {
  InitPageHeader(page, id, PageType::kSpaceHeader, kHeaderVersion, IndexId(0));
  StoreLe<uint64_t>(page.data() + kMagicOffset, kMagic);
  std::memcpy(page.data() + kInstanceOffset, instance.data(), instance.size());
  StoreLe<uint32_t>(page.data() + kPageSizeOffset, static_cast<uint32_t>(page.size()));
  StoreLe<uint32_t>(page.data() + kBitmapPagesOffset, 1);
}

void InitBitmap(MutableBytes page, PageId id, uint32_t group) {
  InitPageHeader(page, id, PageType::kSpaceBitmap, kBitmapVersion, IndexId(0));
  StoreLe<uint32_t>(page.data() + kGroupOffset, group);
  BitmapSet(page, 1, true);
  if (group == 0) BitmapSet(page, 0, true);
}

bool BitmapTest(Bytes page, uint32_t bit) {
  return bit < GroupPages(page.size()) &&
         ((static_cast<uint8_t>(page[kBitsOffset + bit / 8]) >> (bit % 8)) & 1) != 0;
}

void BitmapSet(MutableBytes page, uint32_t bit, bool value) {
  std::byte& target = page[kBitsOffset + bit / 8];
  const auto mask = static_cast<std::byte>(1u << (bit % 8));
  target = value ? target | mask : target & ~mask;
}

uint32_t BitmapCount(Bytes page, uint32_t limit) {
  uint32_t count = 0;
  for (uint32_t word = 0; word * 64 < limit; ++word) {
    const uint32_t last = std::min<uint32_t>(64, limit - word * 64);
    count += static_cast<uint32_t>(std::popcount(Word(page, word) & Mask(0, last)));
  }
  return count;
}

void BitmapAppend(Bytes page, std::vector<uint64_t>* words) {
  for (uint32_t word = 0; word < GroupPages(page.size()) / 64; ++word) {
    words->push_back(Word(page, word));
  }
}

uint32_t BitmapEnd(Bytes page) {
  for (uint32_t word = GroupPages(page.size()) / 64; word-- > 0;) {
    const uint64_t bits = Word(page, word);
    if (bits != 0) return word * 64 + 64 - static_cast<uint32_t>(std::countl_zero(bits));
  }
  return 0;
}

std::optional<uint32_t> FirstClear(Bytes page, uint32_t first, uint32_t last) {
  last = std::min(last, GroupPages(page.size()));
  while (first < last) {
    const uint32_t word = first / 64;
    const uint32_t end = std::min<uint32_t>(64, last - word * 64);
    const uint64_t clear = ~Word(page, word) & Mask(first % 64, end);
    if (clear != 0) return word * 64 + static_cast<uint32_t>(std::countr_zero(clear));
    first = (word + 1) * 64;
  }
  return std::nullopt;
}

std::optional<uint32_t> FirstClearExtent(Bytes page, uint32_t first, uint32_t last) {
  const uint32_t extent = ExtentPages(page.size());
  last = std::min(last, GroupPages(page.size()));
  for (uint32_t begin = (first + extent - 1) / extent * extent; begin + extent <= last;
       begin += extent) {
    if (IsClear(page, begin, begin + extent)) return begin;
  }
  return std::nullopt;
}

}  // namespace rowan
