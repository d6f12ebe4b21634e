// SPDX-License-Identifier: GPL-2.0-only
// StoredRowCodec: for users that write and read rows as they are stored. A record is a StoredRow;
// values in rows are never off the page.
#pragma once

#include <functional>
#include <utility>

#include "engine/row_codec.h"

namespace rowan {

/// Valid until the next call on the cursor.
struct StoredRow {
  Bytes key;    ///< clustered key; entry only: the entry's key
  Bytes value;  ///< the row; entry only: the entry's payload
};

class StoredRowCodec : public RowCodec {
 public:
  /// The clustered key inside the key of an entry of index `index`; empty when it is malformed.
  using FindKey = std::function<Bytes(uint32_t index, Bytes entry_key)>;

  /// The entry that a row has in index `index`.
  using MakeEntry = std::function<EncodedEntry(uint32_t index, const StoredRow& row)>;

  /// Both may be empty for tables without secondary indexes.
  explicit StoredRowCodec(FindKey find_key = {}, MakeEntry make_entry = {})
      : find_key_(std::move(find_key)), make_entry_(std::move(make_entry)) {}

  Status EncodeKey(const void* record, ByteBuffer* key) const override;
  Status EncodeRow(const void* record, size_t key_bytes, BlobWriter* blobs,
                   ByteBuffer* row) const override;

  Status DecodeRow(const VersionView& row, const void* columns, BlobReader* blobs,
                   void* record) const override;
  Status DecodeEntry(uint32_t index, const VersionView& entry, const void* columns,
                     void* record) const override;
  /// kUnsupported without MakeEntry. Needed for writing, and for reading at READ UNCOMMITTED
  /// through a secondary index, which compares row and entry.
  Status EncodeEntry(uint32_t index, const void* record, Bytes clustered_key,
                     EncodedEntry* entry) const override;
  Result<Bytes> ClusteredKeyOf(uint32_t index, Bytes entry_key, ByteBuffer* scratch) const override;
  /// None: references in rows are between the user and Session::ReadBlob.
  void BlobsOf(Bytes row, std::vector<BlobRef>* refs) const override;

 private:
  const FindKey find_key_;
  const MakeEntry make_entry_;
};

}  // namespace rowan
