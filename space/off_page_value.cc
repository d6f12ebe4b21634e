// SPDX-License-Identifier: GPL-2.0-only
#include "space/off_page_value.h"

#include <algorithm>

#include "space/value_changes.h"

namespace rowan {
namespace {

Status ApplyOr(Bytes changes, MutableBytes target, const BlobRef& base) {
  if (ApplyChanges(changes, target)) return Status::Ok();
  return Status(Code::kCorrupt, "malformed changes of an off-page value", base.first_page.value());
}

}  // namespace

void AppendReference(const OffPageValue& value, std::vector<std::byte>* row) {
  const size_t at = row->size();
  row->resize(at + ReferenceBytes(value));
  std::byte* target = row->data() + at;
  StoreBlobRef(target, value.base);
  if (!value.is_changed()) return;
  StoreBlobRef(target + kBlobRefBytes, value.patch);
  std::copy(value.recent.begin(), value.recent.end(), target + kChangedReferenceBytes);
}

OffPageValue LoadReference(Bytes reference) {
  OffPageValue value{.base = LoadBlobRef(reference.data())};
  if (reference.size() == kBlobRefBytes) return value;
  value.patch = LoadBlobRef(reference.data() + kBlobRefBytes);
  const Bytes recent = reference.subspan(kChangedReferenceBytes);
  value.recent.assign(recent.begin(), recent.end());
  return value;
}

bool SameBlob(const BlobRef& left, const BlobRef& right) {
  return left.space == right.space && left.first_page == right.first_page &&
         left.birth == right.birth;
}

bool SameValue(const OffPageValue& left, const OffPageValue& right) {
  return SameBlob(left.base, right.base) && SameBlob(left.patch, right.patch) &&
         left.recent == right.recent;
}

void AppendBlobsOf(const OffPageValue& value, std::vector<BlobRef>* blobs) {
  blobs->push_back(value.base);
  if (value.has_patch()) blobs->push_back(value.patch);
}

Status AssembleValue(const OffPageValue& value, ReadWholeBlob read, MutableBytes target) {
  Status status = read(value.base, target);
  if (!status.ok() || !value.is_changed()) return status;
  if (value.has_patch()) {
    std::vector<std::byte> changes(value.patch.size_bytes);
    status = read(value.patch, changes);
    if (!status.ok()) return status;
    status = ApplyOr(changes, target, value.base);
    if (!status.ok()) return status;
  }
  return ApplyOr(value.recent, target, value.base);
}

}  // namespace rowan
