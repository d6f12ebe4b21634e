// SPDX-License-Identifier: GPL-2.0-only
#include "btree/node_search.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/thread_annotations.h"
#include "btree/node.h"

namespace rowan {
namespace {

// Has its own loads and compares, all exempt from ThreadSanitizer: shared inline helpers and memcmp
// would be instrumented.

template <typename T>
ROWAN_OPTIMISTIC_READ T RacyLoad(const std::byte* source) {
  T value;
  __builtin_memcpy(&value, source, sizeof(T));
  return value;
}

/// One load of what may change: used after it was checked, it is still what was checked.
template <typename T>
ROWAN_OPTIMISTIC_READ T LoadOnce(const std::byte* source) {
  T value = RacyLoad<T>(source);
  asm volatile("" : "+r"(value));
  return value;
}

/// Orders numbers as the bytes that they were loaded from.
template <typename T>
ROWAN_OPTIMISTIC_READ int CompareLoaded(T left, T right) {
  if constexpr (sizeof(T) == 4) {
    left = __builtin_bswap32(left);
    right = __builtin_bswap32(right);
  } else {
    left = __builtin_bswap64(left);
    right = __builtin_bswap64(right);
  }
  return left < right ? -1 : (left > right ? 1 : 0);
}

/// Of `sizeof(T)` to twice as many bytes: the first ones, then the last ones.
template <typename T>
ROWAN_OPTIMISTIC_READ int CompareEnds(const std::byte* left, const std::byte* right,
                                      size_t size_bytes) {
  const int order = CompareLoaded(RacyLoad<T>(left), RacyLoad<T>(right));
  if (order != 0) return order;
  const size_t rest = size_bytes - sizeof(T);
  return CompareLoaded(RacyLoad<T>(left + rest), RacyLoad<T>(right + rest));
}

/// One to three bytes as a number; those of equally many bytes compare as they do.
[[maybe_unused]] ROWAN_OPTIMISTIC_READ uint32_t UpToThreeBytes(const std::byte* bytes,
                                                               size_t size_bytes) {
  return static_cast<uint32_t>(RacyLoad<uint8_t>(bytes)) << 16 |
         static_cast<uint32_t>(RacyLoad<uint8_t>(bytes + size_bytes / 2)) << 8 |
         RacyLoad<uint8_t>(bytes + size_bytes - 1);
}

ROWAN_OPTIMISTIC_STEP int RacyCompare(const std::byte* left, const std::byte* right,
                                      size_t size_bytes) {
#if defined(__SANITIZE_THREAD__)
  for (size_t i = 0; i < size_bytes; ++i) {
    if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
  }
  return 0;
#else
  // Without a call for what most prefixes and suffixes are.
  if (size_bytes == 0) return 0;
  if (size_bytes < 4) {
    const uint32_t left_number = UpToThreeBytes(left, size_bytes);
    const uint32_t right_number = UpToThreeBytes(right, size_bytes);
    return left_number < right_number ? -1 : (left_number > right_number ? 1 : 0);
  }
  if (size_bytes <= 8) return CompareEnds<uint32_t>(left, right, size_bytes);
  if (size_bytes <= 16) return CompareEnds<uint64_t>(left, right, size_bytes);
  return std::memcmp(left, right, size_bytes);
#endif
}

ROWAN_OPTIMISTIC_READ void RacyCopy(std::byte* target, const std::byte* source, size_t size_bytes) {
#if defined(__SANITIZE_THREAD__)
  for (size_t i = 0; i < size_bytes; ++i) {
    const_cast<volatile std::byte*>(target)[i] = source[i];  // keeps the compiler from using memcpy
  }
#else
  if (size_bytes != 0) std::memcpy(target, source, size_bytes);
#endif
}

/// The few header fields a search needs, clamped.
struct NodeLook {
  const std::byte* page;
  size_t page_bytes;
  size_t count;
  size_t prefix_bytes;
  size_t high_key_bytes;
  uint8_t level;

  [[nodiscard]] size_t fence_bytes() const { return std::max(prefix_bytes, high_key_bytes); }
  [[nodiscard]] const std::byte* fence() const { return page + page_bytes - fence_bytes(); }
  [[nodiscard]] size_t record_header() const {
    return level == 0 ? node_layout::kLeafRecordHeader : node_layout::kInnerRecordHeader;
  }
};

ROWAN_OPTIMISTIC_STEP NodeLook LookAt(Bytes page) {
  const size_t heap_max = page.size() - node_layout::kSlots;
  NodeLook look;
  look.page = page.data();
  look.page_bytes = page.size();
  look.count = std::min<size_t>(RacyLoad<uint16_t>(look.page + node_layout::kCount),
                                heap_max / node_layout::kSlotBytes);
  look.prefix_bytes =
      std::min<size_t>(RacyLoad<uint16_t>(look.page + node_layout::kPrefixLength), heap_max);
  look.high_key_bytes =
      std::min<size_t>(RacyLoad<uint16_t>(look.page + node_layout::kHighKeyLength), heap_max);
  look.level = RacyLoad<uint8_t>(look.page + node_layout::kLevel);
  return look;
}

ROWAN_OPTIMISTIC_READ const std::byte* SlotOf(const NodeLook& look, size_t slot) {
  return look.page + node_layout::kSlots + node_layout::kSlotBytes * slot;
}

ROWAN_OPTIMISTIC_READ uint32_t HeadOf(const NodeLook& look, size_t slot) {
  return RacyLoad<uint32_t>(SlotOf(look, slot) + node_layout::kSlotHead);
}

struct Range {
  const std::byte* data;
  size_t size;
};

ROWAN_OPTIMISTIC_READ Range SuffixOf(const NodeLook& look, size_t slot) {
  const std::byte* entry = SlotOf(look, slot);
  const size_t offset = RacyLoad<uint16_t>(entry) + look.record_header();
  const size_t size = RacyLoad<uint16_t>(entry + node_layout::kSlotSuffixLength);
  if (offset > look.page_bytes || size > look.page_bytes - offset) return {look.page, 0};
  return {look.page + offset, size};
}

/// Order of a slot's suffix against `suffix`.
ROWAN_OPTIMISTIC_READ int CompareSuffix(const NodeLook& look, size_t slot, Bytes suffix) {
  const Range mine = SuffixOf(look, slot);
  const size_t other = suffix.size();
  const int order = RacyCompare(mine.data, suffix.data(), mine.size < other ? mine.size : other);
  if (order != 0) return order;
  return mine.size < other ? -1 : (mine.size > other ? 1 : 0);
}

/// The same, by the heads alone where they differ.
ROWAN_OPTIMISTIC_READ int CompareBySlot(const NodeLook& look, size_t slot, Bytes suffix) {
  const uint32_t mine = HeadOf(look, slot);
  const uint32_t other = NodeHead(suffix);
  if (mine != other) return mine < other ? -1 : 1;
  return CompareSuffix(look, slot, suffix);
}

/// Slots whose lines are all fetched at once: 16 cache lines, about what a core keeps in flight.
constexpr size_t kFetchSlots = 128;
constexpr size_t kSlotsPerLine = 8;

ROWAN_OPTIMISTIC_READ void PrefetchSlots(const NodeLook& look, size_t low, size_t length) {
  for (size_t slot = low; slot < low + length; slot += kSlotsPerLine) {
    __builtin_prefetch(SlotOf(look, slot));
  }
}

/// First of `length` > 0 slots from `low` on whose head is >= `head`; after them if none.
/// Branch-free: each step is one conditional move.
ROWAN_OPTIMISTIC_READ size_t FirstAmong(const NodeLook& look, size_t low, size_t length,
                                        uint32_t head) {
  while (length > 1) {
    const size_t half = length / 2;
    low = HeadOf(look, low + half - 1) < head ? low + half : low;
    length -= half;
  }
  return low + (HeadOf(look, low) < head ? 1 : 0);
}

/// The same among 2^n slots, of which the last has such a head.
template <size_t kLength>
ROWAN_OPTIMISTIC_READ size_t FirstAmongFew(const NodeLook& look, size_t low, uint32_t head) {
  static_assert(std::has_single_bit(kLength));
  for (size_t half = kLength / 2; half != 0; half /= 2) {
    low = HeadOf(look, low + half - 1) < head ? low + half : low;
  }
  return low;
}

/// Slots around the place that a head would have if heads were spread evenly: two or three cache
/// lines. Keys that were counted up, and random ones, are nearly always there.
constexpr size_t kGuessedSlots = 16;

/// First slot whose head is >= `head`, which some head is. Cache misses overlap: for a long range
/// the lines of the next three steps are fetched together, for a short one all lines.
ROWAN_OPTIMISTIC_REST size_t FirstHeadAmongAll(const NodeLook& look, uint32_t head) {
  size_t low = 0;
  size_t length = look.count;
  while (length > kFetchSlots) {
    for (size_t eighth = 1; eighth < 8; ++eighth) {
      __builtin_prefetch(SlotOf(look, low + length * eighth / 8 - 1));
    }
    for (int step = 0; step < 3; ++step) {
      const size_t half = length / 2;
      low = HeadOf(look, low + half - 1) < head ? low + half : low;
      length -= half;
    }
  }
  PrefetchSlots(look, low, length);
  return FirstAmong(look, low, length, head);
}

/// First slot whose head is >= `head`. Looks around the guessed place first, else everywhere.
ROWAN_OPTIMISTIC_STEP size_t FirstHeadAtLeast(const NodeLook& look, uint32_t head) {
  const size_t length = look.count;
  if (length == 0) return 0;
  const auto first = LoadOnce<uint32_t>(SlotOf(look, 0) + node_layout::kSlotHead);
  const auto last = LoadOnce<uint32_t>(SlotOf(look, length - 1) + node_layout::kSlotHead);
  if (head <= first) return 0;
  if (head > last) return length;
  if (length > kGuessedSlots) {
    // The quotient is below `length`, as first < head <= last.
    const size_t place =
        static_cast<size_t>(uint64_t{head - first} * (length - 1) / (last - first));
    const size_t start =
        std::min(place - std::min(place, kGuessedSlots / 2), length - kGuessedSlots);
    if (HeadOf(look, start) < head && HeadOf(look, start + kGuessedSlots - 1) >= head) {
      return FirstAmongFew<kGuessedSlots>(look, start, head);
    }
  }
  return FirstHeadAmongAll(look, head);
}

/// Fetches the records of a few slots at once, so that their misses overlap.
ROWAN_OPTIMISTIC_READ void PrefetchRecords(const NodeLook& look, size_t low, size_t high) {
  constexpr size_t kRecordsMax = 16;
  if (high - low > kRecordsMax) return;
  for (size_t slot = low; slot < high; ++slot) {
    const size_t offset = RacyLoad<uint16_t>(SlotOf(look, slot));
    __builtin_prefetch(look.page + (offset < look.page_bytes ? offset : 0));
  }
}

/// Past the run of slots from `low` on that have this head: not more than twice as far as needed.
ROWAN_OPTIMISTIC_READ size_t RunLimit(const NodeLook& look, size_t low, uint32_t head) {
  size_t step = 0;
  while (low + step < look.count && HeadOf(look, low + step) == head) step = 2 * step + 1;
  return std::min(look.count, low + step);
}

/// Order of a slot's suffix against `suffix`, whose head is no larger. If the heads are equal and
/// `suffix` is no longer than one, one of the two is the other and more: the record need not be
/// looked at.
ROWAN_OPTIMISTIC_READ int CompareFrom(const NodeLook& look, size_t slot, uint32_t head,
                                      Bytes suffix) {
  if (HeadOf(look, slot) != head) return 1;
  if (suffix.size() > sizeof(head)) return CompareSuffix(look, slot, suffix);
  const size_t size = RacyLoad<uint16_t>(SlotOf(look, slot) + node_layout::kSlotSuffixLength);
  return size < suffix.size() ? -1 : (size > suffix.size() ? 1 : 0);
}

/// `low`: the first slot whose head is at least that of `suffix`. The first slot whose suffix is.
ROWAN_OPTIMISTIC_READ SlotSearch SearchEqualHeads(const NodeLook& look, size_t low, uint32_t head,
                                                  Bytes suffix) {
  const int first = CompareFrom(look, low, head, suffix);  // as a rule no other has this head
  if (first >= 0) return {static_cast<uint16_t>(low), first == 0};
  ++low;
  size_t high = RunLimit(look, low, head);
  PrefetchRecords(look, low, high);
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const int order = CompareFrom(look, middle, head, suffix);
    if (order == 0) return {static_cast<uint16_t>(middle), true};
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return {static_cast<uint16_t>(low), false};
}

/// First slot from `low` on whose head is >= `head`: the next two are looked at first.
ROWAN_OPTIMISTIC_REST size_t NextHeadAtLeast(const NodeLook& look, size_t low, uint32_t head) {
  const size_t near = std::min(look.count, low + 2);
  for (; low < near; ++low) {
    if (HeadOf(look, low) >= head) return low;
  }
  return low >= look.count ? look.count : FirstHeadAtLeast(look, head);
}

/// NodeHead, of the few bytes that most suffixes have, without a loop.
ROWAN_OPTIMISTIC_READ uint32_t HeadOfSuffix(Bytes suffix) {
  uint32_t head = 0;
  switch (suffix.size()) {
    default: return LoadBe32(suffix.data());
    case 3: head |= static_cast<uint32_t>(suffix[2]) << 8; [[fallthrough]];
    case 2: head |= static_cast<uint32_t>(suffix[1]) << 16; [[fallthrough]];
    case 1: head |= static_cast<uint32_t>(suffix[0]) << 24; [[fallthrough]];
    case 0: return head;
  }
}

/// `from`: all slots before it have keys below `key`.
ROWAN_OPTIMISTIC_READ SlotSearch Search(const NodeLook& look, Bytes key, size_t from = 0) {
  const size_t common = std::min(key.size(), look.prefix_bytes);
  const int order = RacyCompare(key.data(), look.fence(), common);
  if (order > 0) return {static_cast<uint16_t>(look.count), false};
  if (order < 0 || key.size() < look.prefix_bytes) return {static_cast<uint16_t>(from), false};
  const Bytes suffix = key.subspan(look.prefix_bytes);
  const uint32_t head = HeadOfSuffix(suffix);
  const size_t low = from == 0 ? FirstHeadAtLeast(look, head) : NextHeadAtLeast(look, from, head);
  if (low == look.count) return {static_cast<uint16_t>(low), false};
  return SearchEqualHeads(look, low, head, suffix);
}

ROWAN_OPTIMISTIC_READ PageNumber ChildOf(const NodeLook& look, size_t index) {
  if (index == 0) {
    return PageNumber(RacyLoad<uint32_t>(look.page + node_layout::kFirstChild));
  }
  const size_t offset = RacyLoad<uint16_t>(SlotOf(look, index - 1));
  if (offset + node_layout::kInnerRecordHeader > look.page_bytes) return kNoPage;
  return PageNumber(RacyLoad<uint32_t>(look.page + offset));
}

ROWAN_OPTIMISTIC_READ bool IsNodeOf(Bytes page, IndexId index) {
  return RacyLoad<uint8_t>(page.data() + 4) == static_cast<uint8_t>(PageType::kTreeNode) &&
         RacyLoad<uint64_t>(page.data() + 24) == index.value();
}

/// As NodeView::HeaderIsSane.
ROWAN_OPTIMISTIC_READ bool HasSaneHeader(const NodeLook& look) {
  const size_t count = RacyLoad<uint16_t>(look.page + node_layout::kCount);
  const size_t heap = RacyLoad<uint16_t>(look.page + node_layout::kHeapBytes);
  const size_t garbage = RacyLoad<uint16_t>(look.page + node_layout::kGarbageBytes);
  return node_layout::kSlots + node_layout::kSlotBytes * count + heap <= look.page_bytes &&
         look.fence_bytes() + garbage <= heap;
}

ROWAN_OPTIMISTIC_READ size_t IndexFor(const NodeLook& look, Aim aim, Bytes key) {
  if (aim == Aim::kFirst) return 0;
  if (aim == Aim::kLast) return look.count;
  const SlotSearch found = Search(look, key);
  return found.slot + (aim == Aim::kOwner && found.exact ? 1 : 0);
}

/// Of a node with a stored high key.
ROWAN_OPTIMISTIC_READ bool IsBelowHighKey(const NodeLook& look, Bytes key) {
  const size_t common = std::min(key.size(), look.high_key_bytes);
  const int order = RacyCompare(key.data(), look.fence(), common);
  return order < 0 || (order == 0 && key.size() < look.high_key_bytes);
}

/// As far as the node itself knows; the key is above its entries.
ROWAN_OPTIMISTIC_READ bool IsBelowUpperBound(const NodeLook& look, Bytes key) {
  if (look.high_key_bytes != 0) return IsBelowHighKey(look, key);
  return (RacyLoad<uint16_t>(look.page + 6) & kNodeRightmost) != 0;
}

}  // namespace

ROWAN_OPTIMISTIC_READ SlotSearch SearchNode(Bytes page, Bytes key) {
  const NodeLook look = LookAt(page);
  return Search(look, key);
}

ROWAN_OPTIMISTIC_READ SlotSearch SearchNodeFrom(Bytes page, uint16_t from, Bytes key) {
  const NodeLook look = LookAt(page);
  return Search(look, key, from);
}

ROWAN_OPTIMISTIC_READ ChildChoice UnlatchedChooseChild(Bytes page, IndexId index, Aim aim,
                                                       Bytes key) {
  const NodeLook look = LookAt(page);
  ChildChoice choice;
  choice.level = look.level;
  choice.is_node = IsNodeOf(page, index);
  if (look.level == 0) return choice;
  const size_t position = IndexFor(look, aim, key);
  choice.index = static_cast<uint16_t>(position);
  choice.children = static_cast<uint16_t>(look.count + 1);
  choice.child = ChildOf(look, position);
  return choice;
}

ROWAN_OPTIMISTIC_READ OwnerChild UnlatchedOwner(Bytes page, Bytes key) {
  const NodeLook look = LookAt(page);
  const SlotSearch found = Search(look, key);
  const size_t index = found.slot + (found.exact ? 1u : 0u);
  return {.child = ChildOf(look, index),
          .index = static_cast<uint16_t>(index),
          .between = index != 0 && index < look.count};
}

ROWAN_OPTIMISTIC_READ ChildChoice UnlatchedChild(Bytes page, IndexId index, uint64_t child_index) {
  const NodeLook look = LookAt(page);
  ChildChoice choice;
  choice.level = look.level;
  choice.is_node = IsNodeOf(page, index);
  if (look.level == 0) return choice;
  choice.children = static_cast<uint16_t>(look.count + 1);
  choice.index = static_cast<uint16_t>(std::min<uint64_t>(child_index, look.count));
  choice.child = ChildOf(look, choice.index);
  return choice;
}

ROWAN_OPTIMISTIC_READ void UnlatchedCopyKey(Bytes page, uint16_t slot,
                                            std::vector<std::byte>* key) {
  const NodeLook look = LookAt(page);
  if (slot >= look.count) {
    key->clear();
    return;
  }
  const Range suffix = SuffixOf(look, slot);
  key->resize(look.prefix_bytes + suffix.size);
  RacyCopy(key->data(), look.fence(), look.prefix_bytes);
  RacyCopy(key->data() + look.prefix_bytes, suffix.data, suffix.size);
}

ROWAN_OPTIMISTIC_READ LeafRank UnlatchedRank(Bytes page, IndexId index, uint16_t from, Bytes key) {
  const NodeLook look = LookAt(page);
  LeafRank rank;
  rank.is_leaf = look.level == 0 && IsNodeOf(page, index);
  rank.right = PageNumber(RacyLoad<uint32_t>(look.page + node_layout::kRight));
  rank.entries = rank.below = look.count;
  rank.reaches = rank.right == kNoPage;
  if (key.empty() || (look.high_key_bytes != 0 && !IsBelowHighKey(look, key))) return rank;
  rank.below = Search(look, key, std::min<size_t>(from, look.count)).slot;
  rank.reaches = rank.reaches || look.high_key_bytes != 0 || rank.below < look.count;
  return rank;
}

ROWAN_OPTIMISTIC_READ LeafEntry UnlatchedFind(Bytes page, IndexId index, Bytes key) {
  const NodeLook look = LookAt(page);
  LeafEntry entry;
  entry.is_leaf = look.level == 0 && IsNodeOf(page, index) && HasSaneHeader(look);
  const SlotSearch found = Search(look, key);
  entry.exists = found.exact;
  entry.within = found.exact || (found.slot != 0 && found.slot < look.count);
  if (!found.exact) return entry;
  const std::byte* slot = SlotOf(look, found.slot);
  const size_t offset = LoadOnce<uint16_t>(slot);
  const size_t value = offset + node_layout::kLeafRecordHeader +
                       LoadOnce<uint16_t>(slot + node_layout::kSlotSuffixLength);
  if (value > look.page_bytes) return entry;
  const size_t value_bytes = LoadOnce<uint16_t>(look.page + offset);
  if (value_bytes <= look.page_bytes - value) entry.value = page.subspan(value, value_bytes);
  return entry;
}

ROWAN_OPTIMISTIC_READ void UnlatchedCopy(Bytes value, std::byte* target) {
  RacyCopy(target, value.data(), value.size());
}

ROWAN_OPTIMISTIC_READ NodeUse UnlatchedUse(Bytes page) {
  const NodeLook look = LookAt(page);
  const size_t heap = RacyLoad<uint16_t>(page.data() + node_layout::kHeapBytes);
  const size_t garbage = RacyLoad<uint16_t>(page.data() + node_layout::kGarbageBytes);
  const size_t slots = node_layout::kSlots + look.count * node_layout::kSlotBytes;
  return {slots + heap - std::min(heap, garbage), look.count};
}

ROWAN_OPTIMISTIC_READ bool UnlatchedCovers(Bytes page, Bytes key) {
  const NodeLook look = LookAt(page);
  if (look.level == 0 || look.count == 0) return false;
  const SlotSearch found = Search(look, key);
  if (found.slot == 0 && !found.exact) return false;
  return found.slot < look.count || IsBelowUpperBound(look, key);
}

ROWAN_OPTIMISTIC_READ bool UnlatchedOwns(Bytes page, IndexId index, Bytes key) {
  const NodeLook look = LookAt(page);
  if (look.level != 0 || look.count == 0 || !IsNodeOf(page, index)) return false;
  if (key.size() < look.prefix_bytes ||
      RacyCompare(key.data(), look.fence(), look.prefix_bytes) != 0) {
    return false;
  }
  const Bytes suffix = key.subspan(look.prefix_bytes);
  return CompareBySlot(look, 0, suffix) <= 0 &&
         (CompareBySlot(look, look.count - 1, suffix) >= 0 || IsBelowUpperBound(look, key));
}

}  // namespace rowan
