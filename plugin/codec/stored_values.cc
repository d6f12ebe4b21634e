// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/stored_values.h"

namespace rowan {

Status SharedBlob::Next(Bytes* value) {
  if (position_ == nullptr) {
    Result<Bytes> read = blobs_->Read({.base = LoadBlobRef(reference_)}, kSharedColumn);
    if (!read.ok()) return read.status();
    position_ = read->data();
    end_ = read->data() + read->size();
  }
  for (++skipped_; skipped_ > 0; --skipped_) {
    uint64_t size = 0;
    position_ = GetVarint(position_, end_, &size);
    if (position_ == nullptr || size > static_cast<uint64_t>(end_ - position_)) {
      return Status(Code::kCorrupt, "malformed shared value");
    }
    *value = {position_, size};
    position_ += size;
  }
  return Status::Ok();
}

Status FetchValue(const ValuePlace& at, SharedBlob* shared, RowCodec::BlobReader* blobs,
                  Bytes* value) {
  if (at.place == PlacedValue::Place::kInRow) return Status::Ok();
  if (at.place == PlacedValue::Place::kSharedBlob) return shared->Next(value);
  Result<Bytes> blob = blobs->Read(LoadReference(*value), at.column);
  if (!blob.ok()) return blob.status();
  *value = *blob;
  return Status::Ok();
}

}  // namespace rowan
