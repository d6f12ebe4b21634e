// SPDX-License-Identifier: GPL-2.0-only
// StoredRowCodec: for users who take rows as they are stored. A record is a StoredRow.
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

class StoredRowCodec final : public RowCodec {
 public:
  /// The clustered key inside the key of an entry of index `index`; empty when it is malformed.
  using FindKey = std::function<Bytes(uint32_t index, Bytes entry_key)>;

  /// `find_key` may be empty for tables without secondary indexes.
  explicit StoredRowCodec(FindKey find_key = {}) : find_key_(std::move(find_key)) {}

  Status DecodeRow(Bytes key, Bytes row, const void* columns, BlobReader* blobs,
                   void* record) const override;
  Status DecodeEntry(uint32_t index, Bytes key, Bytes payload, const void* columns,
                     void* record) const override;
  /// Reads at READ UNCOMMITTED through a secondary index compare row and entry, which takes a codec
  /// that knows the columns: always kUnsupported.
  Status EncodeEntry(uint32_t index, const void* record, Bytes clustered_key,
                     EncodedEntry* entry) const override;
  Result<Bytes> ClusteredKeyOf(uint32_t index, Bytes entry_key, ByteBuffer* scratch) const override;
  /// None: what a row refers to is between its user and Session::ReadBlob.
  void BlobsOf(Bytes row, std::vector<BlobRef>* refs) const override;

 private:
  const FindKey find_key_;
};

}  // namespace rowan
