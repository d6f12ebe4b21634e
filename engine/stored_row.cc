// SPDX-License-Identifier: GPL-2.0-only
#include "engine/stored_row.h"

namespace rowan {

Status StoredRowCodec::DecodeRow(Bytes key, Bytes row, const void*, BlobReader*,
                                 void* record) const {
  *static_cast<StoredRow*>(record) = {key, row};
  return Status::Ok();
}

Status StoredRowCodec::DecodeEntry(uint32_t, Bytes key, Bytes payload, const void*,
                                   void* record) const {
  *static_cast<StoredRow*>(record) = {key, payload};
  return Status::Ok();
}

Status StoredRowCodec::EncodeEntry(uint32_t, const void*, Bytes, EncodedEntry*) const {
  return Status(Code::kUnsupported, "the columns of stored rows are not known");
}

Result<Bytes> StoredRowCodec::ClusteredKeyOf(uint32_t index, Bytes entry_key, ByteBuffer*) const {
  const Bytes key = find_key_ ? find_key_(index, entry_key) : Bytes();
  if (key.empty()) return Status(Code::kCorrupt, "an entry without its row's key");
  return key;
}

void StoredRowCodec::BlobsOf(Bytes, std::vector<BlobRef>* refs) const { refs->clear(); }

}  // namespace rowan
