// SPDX-License-Identifier: GPL-2.0-only
#include "space/value_changes.h"

#include <algorithm>
#include <cstring>

namespace rowan {
namespace {

/// Equal bytes are skipped in steps of this size, which memcmp handles fast.
constexpr size_t kStepBytes = 512;
/// Memory that ranges may always take.
constexpr uint64_t kRangesBytesMin = 4096;
/// A separate change costs two numbers, two to eight bytes: shorter equal runs are included.
constexpr uint64_t kJoinedGapMax = 3;

/// Calls `visit(offset, bytes)` for each change. False: malformed or beyond the value.
template <typename Visit>
bool ForEachChange(Bytes changes, uint64_t value_bytes, Visit visit) {
  const std::byte* position = changes.data();
  const std::byte* const end = changes.data() + changes.size();
  uint64_t offset = 0;
  while (position != end) {
    uint64_t gap = 0;
    uint64_t size = 0;
    position = GetVarint(position, end, &gap);
    if (position == nullptr || gap > value_bytes - offset) return false;
    offset += gap;
    position = GetVarint(position, end, &size);
    if (position == nullptr || size == 0 || size > value_bytes - offset) return false;
    if (size > static_cast<uint64_t>(end - position)) return false;
    visit(offset, Bytes(position, size));
    position += size;
    offset += size;
  }
  return true;
}

/// Differences within one step; `offset` is where it begins in the value. `*ranges` is joined and
/// ends before.
void AddDifferencesIn(Bytes before, Bytes after, uint64_t offset, ByteRanges* ranges) {
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] == after[i]) continue;
    const uint64_t at = offset + i;
    if (!ranges->empty() && at <= ranges->back().end + kJoinedGapMax) {
      ranges->back().end = at + 1;
    } else {
      ranges->push_back({at, at + 1});
    }
  }
}

/// The list's bytes for the ranges from one on.
uint64_t ChangesBytesFrom(const ByteRanges& ranges, size_t first) {
  uint64_t bytes = 0;
  uint64_t end = first == 0 ? 0 : ranges[first - 1].end;
  for (size_t i = first; i < ranges.size(); ++i) {
    const uint64_t size = ranges[i].end - ranges[i].begin;
    bytes += VarintSize(ranges[i].begin - end) + VarintSize(size) + size;
    end = ranges[i].end;
  }
  return bytes;
}

}  // namespace

bool FindDifferences(Bytes before, Bytes after, uint64_t bytes_max, ByteRanges* ranges) {
  uint64_t list_bytes = 0;
  for (size_t offset = 0; offset < before.size(); offset += kStepBytes) {
    const size_t size = std::min(kStepBytes, before.size() - offset);
    if (std::memcmp(before.data() + offset, after.data() + offset, size) == 0) continue;
    // The last one may grow.
    const size_t known = ranges->empty() ? 0 : ranges->size() - 1;
    list_bytes -= ChangesBytesFrom(*ranges, known);
    AddDifferencesIn(before.subspan(offset, size), after.subspan(offset, size), offset, ranges);
    list_bytes += ChangesBytesFrom(*ranges, known);
    const uint64_t memory_bytes = ranges->size() * sizeof(ByteRange);
    if (list_bytes > bytes_max || memory_bytes > std::max(bytes_max, kRangesBytesMin)) return false;
  }
  return true;
}

bool AppendRangesOf(Bytes changes, uint64_t value_bytes, ByteRanges* ranges) {
  return ForEachChange(changes, value_bytes, [ranges](uint64_t offset, Bytes bytes) {
    ranges->push_back({offset, offset + bytes.size()});
  });
}

void JoinRanges(ByteRanges* ranges) {
  std::sort(ranges->begin(), ranges->end(),
            [](const ByteRange& left, const ByteRange& right) { return left.begin < right.begin; });
  size_t kept = 0;
  for (const ByteRange& range : *ranges) {
    if (kept > 0 && range.begin <= (*ranges)[kept - 1].end + kJoinedGapMax) {
      (*ranges)[kept - 1].end = std::max((*ranges)[kept - 1].end, range.end);
    } else {
      (*ranges)[kept++] = range;
    }
  }
  ranges->resize(kept);
}

uint64_t ChangesBytes(const ByteRanges& ranges) { return ChangesBytesFrom(ranges, 0); }

void AppendChanges(const ByteRanges& ranges, Bytes value, std::vector<std::byte>* changes) {
  uint64_t end = 0;
  for (const ByteRange& range : ranges) {
    std::byte numbers[2 * kVarintBytesMax];
    const uint64_t size = range.end - range.begin;
    const std::byte* behind = PutVarint(PutVarint(numbers, range.begin - end), size);
    changes->insert(changes->end(), static_cast<const std::byte*>(numbers), behind);
    const Bytes bytes = value.subspan(range.begin, size);
    changes->insert(changes->end(), bytes.begin(), bytes.end());
    end = range.end;
  }
}

bool ApplyChanges(Bytes changes, MutableBytes value) {
  return ForEachChange(changes, value.size(), [value](uint64_t offset, Bytes bytes) {
    std::memcpy(value.data() + offset, bytes.data(), bytes.size());
  });
}

}  // namespace rowan
