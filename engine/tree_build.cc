// SPDX-License-Identifier: GPL-2.0-only
#include "engine/tree_build.h"

#include <array>

#include "btree/bulk_builder.h"
#include "mvcc/row/row_header.h"

namespace rowan {
namespace {

/// How many entries are built between two looks at the interruption.
constexpr uint64_t kInterruptionStride = 1024;

/// Equal unique values, neither of them with a NULL.
bool SameUniqueValue(Bytes key, const IndexEntry& next) {
  const size_t bytes = next.unique_prefix_bytes;
  return bytes != 0 && key.size() >= bytes && EqualBytes(key.first(bytes), next.key.first(bytes));
}

}  // namespace

Status BuildTree(const TreeBuild& build, ByteBuffer* duplicate_key) {
  Status status = build.entries->StartReading();
  if (!status.ok()) return status;
  if (build.progress != nullptr) {
    build.progress->Begin(WorkPhase::kBuildIndex, build.entries->entries());
  }
  BulkBuilder builder(build.tree);
  std::array<std::byte, kSecondaryHeaderBytesMax> header;
  const size_t header_bytes = StoreSecondaryHeader(header.data(), kNoTxn, kNoTxn);
  ByteBuffer value;
  ByteBuffer previous;
  IndexEntry entry;
  for (uint64_t count = 0;; ++count) {
    Result<bool> more = build.entries->Next(&entry);
    if (!more.ok()) return more.status();
    if (build.progress != nullptr && (!*more || count % kInterruptionStride == 0)) {
      build.progress->Completed(count);
    }
    if (!*more) return builder.Finish();
    if (count > 0 && SameUniqueValue(previous, entry)) {
      duplicate_key->assign(entry.key.begin(), entry.key.end());
      return Status(Code::kDuplicate, "duplicate entry");
    }
    if (count % kInterruptionStride == 0 && build.interrupted()) {
      return Status(Code::kInterrupted, "interrupted while an index was built");
    }
    value.assign(header.begin(), header.begin() + header_bytes);
    value.insert(value.end(), entry.payload.begin(), entry.payload.end());
    status = builder.Add(entry.key, value, build.stamp);
    if (!status.ok()) return status;
    previous.assign(entry.key.begin(), entry.key.end());
  }
}

}  // namespace rowan
