// SPDX-License-Identifier: GPL-2.0-only
// What an update of an off-page value writes. The reasons, and the origin of the sizes:
// docs/decisions/0011-off-page-values-changed-in-part.md.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/counters.h"
#include "base/out_of_memory.h"
#include "engine/session.h"
#include "space/space_format.h"
#include "space/value_changes.h"

namespace rowan {
namespace {

/// Recent changes in a row take a thirty-second of the page, like a small value.
constexpr uint64_t kRecentShare = 32;
/// All changes take a quarter of the base; a patch, which takes its own pages, is written only for
/// a base of at least this many pages.
constexpr uint64_t kPatchShare = 4;
constexpr uint64_t kPatchedPagesMin = 4;

/// Most bytes that all changes may take: the limit of a patch, or else of the row.
uint64_t ChangesBytesMax(uint64_t value_bytes, uint64_t page_bytes) {
  const bool may_patch = value_bytes >= kPatchedPagesMin * page_bytes;
  return may_patch ? value_bytes / kPatchShare
                   : std::min(value_bytes / kPatchShare, page_bytes / kRecentShare);
}

/// Most bytes of a patch. The larger, the more is written each time that recent changes move into
/// it, and the less often the base is rewritten: with `moved` bytes at a time the cost is least
/// where the patch grows to the square root of 2 x base x moved.
uint64_t PatchBytesMax(uint64_t base_bytes, uint64_t moved_bytes, uint64_t page_bytes) {
  if (base_bytes < kPatchedPagesMin * page_bytes) return 0;
  const auto product = 2.0 * static_cast<double>(base_bytes) * static_cast<double>(moved_bytes);
  return std::min(static_cast<uint64_t>(std::sqrt(product)), base_bytes / kPatchShare);
}

Status Malformed() { return Status(Code::kCorrupt, "malformed changes of an off-page value"); }

}  // namespace

Result<OffPageValue> Session::ChangeValue(Table* table, const ValueChange& change) {
  return OrOutOfMemory([&] { return PutChanges(table, change); });
}

Result<OffPageValue> Session::PutChanges(Table* table, const ValueChange& change) {
  const OffPageValue& stored = *change.stored;
  const uint64_t size = stored.size_bytes();
  const uint64_t page_bytes = parts_.allocator->pool()->page_size_bytes();
  ByteRanges ranges;
  const bool few =
      change.before.size() == size && change.after.size() == size &&
      FindDifferences(change.before, change.after, ChangesBytesMax(size, page_bytes), &ranges);
  const bool same = few && ranges.empty();
  if (same && ReferenceBytes(stored) <= change.reference_bytes_max) return stored;
  if (!few || change.reference_bytes_max < kChangedReferenceBytes) {
    return WriteWhole(table, change.after);
  }
  if (!AppendRangesOf(stored.recent, size, &ranges)) return Malformed();
  JoinRanges(&ranges);
  const uint64_t recent_bytes_max = std::min({page_bytes / kRecentShare, size / kPatchShare,
                                              change.reference_bytes_max - kChangedReferenceBytes});
  OffPageValue value{.base = stored.base};
  if (ChangesBytes(ranges) <= recent_bytes_max) {
    value.patch = stored.patch;
    AppendChanges(ranges, change.after, &value.recent);
  } else {
    const uint64_t most = PatchBytesMax(size, ChangesBytes(ranges), page_bytes);
    Result<bool> patched = WritePatch(table, change, most, &ranges, &value.patch);
    if (!patched.ok()) return patched.status();
    if (!*patched) return WriteWhole(table, change.after);
  }
  const Status noted = NoteChangedValues(table);
  if (!noted.ok()) return noted;
  AddCounter(Counter::kValuesChanged);
  return value;
}

/// False: with the changes of the existing patch, `*ranges` take more than `most` bytes.
Result<bool> Session::WritePatch(Table* table, const ValueChange& change, uint64_t most,
                                 ByteRanges* ranges, BlobRef* written) {
  if (ChangesBytes(*ranges) > most) return false;
  const OffPageValue& stored = *change.stored;
  std::vector<std::byte> changes(stored.patch.size_bytes);
  if (stored.has_patch()) {
    const Status read = ReadBlob(stored.patch, changes);
    if (!read.ok()) return read;
  }
  if (!AppendRangesOf(changes, stored.size_bytes(), ranges)) return Malformed();
  JoinRanges(ranges);
  if (ChangesBytes(*ranges) > most) return false;
  changes.clear();
  AppendChanges(*ranges, change.after, &changes);
  Result<BlobRef> patch = WriteBlob(table, changes);
  if (!patch.ok()) return patch.status();
  *written = *patch;
  return true;
}

Result<OffPageValue> Session::WriteWhole(Table* table, Bytes value) {
  Result<BlobRef> written = WriteBlob(table, value);
  if (!written.ok()) return written.status();
  return OffPageValue{.base = *written};
}

/// An older build does not know such references: the table is marked before the first one.
Status Session::NoteChangedValues(Table* table) {
  if (table->notes_changed_values.load(std::memory_order_relaxed)) return Status::Ok();
  const Status status = parts_.allocator->UseFeatures(table->space(), kChangedValuesFeature);
  if (status.ok()) table->notes_changed_values.store(true, std::memory_order_relaxed);
  return status;
}

Status Session::ReadValue(const OffPageValue& value, MutableBytes target) {
  const auto read = [this](const BlobRef& blob, MutableBytes bytes) {
    return ReadBlob(blob, bytes);
  };
  return AssembleValue(value, read, target);
}

}  // namespace rowan
