// SPDX-License-Identifier: GPL-2.0-only
// OffPageValue: what a row stores for an off-page value. The value's base is a blob, as last
// written in full. A value partially changed since, at the same size, has changes on top
// (space/value_changes.h): first those of the patch, also a blob, then the recent ones, which are
// in the row itself. Every blob is immutable and belongs to the rows that name it: a new version of
// a row shares base and patch with the previous version, or names others.
//
// The reference in a row (docs/formats/blob.md), which knows its length; a value without partial
// changes has only the first field:
//   offset size
//   0      16   reference of the base
//   16     16   reference of the patch, zeros = none
//   32     ..   recent changes
// Thread safety: pure functions, except AssembleValue, which is as thread-safe as `read`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/status.h"
#include "space/blob_store.h"

namespace rowan {

struct OffPageValue {
  BlobRef base{};
  BlobRef patch{};                  ///< see has_patch
  std::vector<std::byte> recent{};  ///< changes after those of the patch

  [[nodiscard]] bool has_patch() const { return patch.first_page != kNoPage; }
  [[nodiscard]] bool is_changed() const { return has_patch() || !recent.empty(); }
  [[nodiscard]] uint64_t size_bytes() const { return base.size_bytes; }
};

/// Size of the reference of a partially changed value, without the recent changes.
inline constexpr size_t kChangedReferenceBytes = 2 * kBlobRefBytes;

/// Bytes of the reference in the row.
[[nodiscard]] inline size_t ReferenceBytes(const OffPageValue& value) {
  return value.is_changed() ? kChangedReferenceBytes + value.recent.size() : kBlobRefBytes;
}
[[nodiscard]] constexpr bool CanBeReference(size_t bytes) {
  return bytes == kBlobRefBytes || bytes >= kChangedReferenceBytes;
}
void AppendReference(const OffPageValue& value, std::vector<std::byte>* row);
/// REQUIRES: CanBeReference of its size.
OffPageValue LoadReference(Bytes reference);

[[nodiscard]] bool SameBlob(const BlobRef& left, const BlobRef& right);
/// The same bytes, because they consist of the same blobs and changes.
[[nodiscard]] bool SameValue(const OffPageValue& left, const OffPageValue& right);
/// Appends the blobs that the value consists of.
void AppendBlobsOf(const OffPageValue& value, std::vector<BlobRef>* blobs);

/// Reads a whole blob.
using ReadWholeBlob = FunctionRef<Status(const BlobRef& blob, MutableBytes target)>;
/// Assembles a value in `target`, which has its size. kCorrupt when its changes do not fit it;
/// errors of `read` are passed on.
Status AssembleValue(const OffPageValue& value, ReadWholeBlob read, MutableBytes target);

}  // namespace rowan
