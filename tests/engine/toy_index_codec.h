// SPDX-License-Identifier: GPL-2.0-only
// ToyIndexCodec: toy rows as an index build reads them; a record is a StoredRow whose bytes the
// codec keeps. Thread safety: one thread.
#pragma once

#include <string>

#include "tests/engine/toy_row.h"

namespace rowan {

class ToyIndexCodec : public RowCodec {
 public:
  Status DecodeRow(Bytes key, Bytes row, const void* columns, BlobReader* blobs,
                   void* record) const override {
    return ToyCodec().DecodeRow(key, row, columns, blobs, record);
  }
  Status DecodeEntry(uint32_t index, Bytes key, Bytes payload, const void* columns,
                     void* record) const override {
    return ToyCodec().DecodeEntry(index, key, payload, columns, record);
  }
  Status EncodeEntry(uint32_t index, const void* record, Bytes clustered_key,
                     EncodedEntry* entry) const override {
    const ToyRow row = ToyDecode(static_cast<const StoredRow*>(record)->value);
    const uint64_t id = LoadBe64(clustered_key.data());
    const std::string key = index == 1 ? ToyValueEntry(id, row) : ToyUniqueEntry(id, row);
    entry->key.assign(AsBytes(key).begin(), AsBytes(key).end());
    entry->payload.clear();
    entry->unique_prefix_bytes = index == 1 ? 0 : kToyUniqueBytes;
    return Status::Ok();
  }
  Result<Bytes> ClusteredKeyOf(uint32_t index, Bytes entry_key,
                               ByteBuffer* scratch) const override {
    return ToyCodec().ClusteredKeyOf(index, entry_key, scratch);
  }
  void BlobsOf(Bytes row, std::vector<BlobRef>* refs) const override {
    ToyCodec().BlobsOf(row, refs);
  }
};

}  // namespace rowan
