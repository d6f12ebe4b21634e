// SPDX-License-Identifier: GPL-2.0-only
#include "engine/stored_row.h"

namespace rowan {

Status StoredRowCodec::EncodeKey(const void* record, ByteBuffer* key) const {
  const Bytes bytes = static_cast<const StoredRow*>(record)->key;
  key->assign(bytes.begin(), bytes.end());
  return Status::Ok();
}

Status StoredRowCodec::EncodeRow(const void* record, size_t, BlobWriter*, ByteBuffer* row) const {
  const Bytes bytes = static_cast<const StoredRow*>(record)->value;
  row->assign(bytes.begin(), bytes.end());
  return Status::Ok();
}

Status StoredRowCodec::DecodeRow(const VersionView& row, const void*, BlobReader*,
                                 void* record) const {
  *static_cast<StoredRow*>(record) = {row.key, row.value};
  return Status::Ok();
}

Status StoredRowCodec::DecodeEntry(uint32_t, const VersionView& entry, const void*,
                                   void* record) const {
  *static_cast<StoredRow*>(record) = {entry.key, entry.value};
  return Status::Ok();
}

Status StoredRowCodec::EncodeEntry(uint32_t index, const void* record, Bytes,
                                   EncodedEntry* entry) const {
  if (!make_entry_) return Status(Code::kUnsupported, "the columns of stored rows are not known");
  *entry = make_entry_(index, *static_cast<const StoredRow*>(record));
  return Status::Ok();
}

Result<Bytes> StoredRowCodec::ClusteredKeyOf(uint32_t index, Bytes entry_key, ByteBuffer*) const {
  const Bytes key = find_key_ ? find_key_(index, entry_key) : Bytes();
  if (key.empty()) return Status(Code::kCorrupt, "an entry without its row's key");
  return key;
}

void StoredRowCodec::BlobsOf(Bytes, std::vector<BlobRef>* refs) const { refs->clear(); }

}  // namespace rowan
