// SPDX-License-Identifier: GPL-2.0-only
// RowCodec: what the engine must know about the columns of a table's rows, which only its user
// knows. Keys, rows and entries are byte strings to the engine; a *record* is the user's own form
// of a row, and *columns* its own way to name some of them (null: all).
// Thread safety: const; one codec serves all cursors on a table.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/status.h"
#include "mvcc/row/index_entry.h"
#include "mvcc/row/version_view.h"
#include "space/off_page_value.h"

namespace rowan {

/// Reused output buffer; capacity is kept.
using ByteBuffer = std::vector<std::byte>;

/// A value that moves out of its row, and its new place.
struct OffPageWrite {
  Bytes value;
  uint32_t column = 0;                         ///< passed to BlobReader when it is read
  bool is_shared = false;                      ///< several values of this row stored as one
  size_t reference_bytes_max = kBlobRefBytes;  ///< in the row
  OffPageValue stored{};                       ///< set by the writer, within that limit
};

class RowCodec {
 public:
  virtual ~RowCodec() = default;

  /// Fetches off-page values while a row is decoded.
  class BlobReader {
   public:
    virtual ~BlobReader() = default;
    /// Bytes valid until the next row is read through the same cursor. `column` is the codec's own
    /// number for what the value belongs to; a later change of the row finds the value by it.
    virtual Result<Bytes> Read(const OffPageValue& value, uint32_t column) = 0;
  };

  /// Moves values off the page while a row is encoded.
  class BlobWriter {
   public:
    virtual ~BlobWriter() = default;
    virtual Status Write(OffPageWrite* value) = 0;
  };

  /// Whether records hold the clustered key of their row; if not, it is an eight-byte number that
  /// Table::NextRowId gives and the row's user keeps.
  [[nodiscard]] virtual bool has_primary_key() const { return true; }
  /// The clustered key that a record holds. kTooBig.
  virtual Status EncodeKey(const void* record, ByteBuffer* key) const = 0;
  /// Encodes a whole record as a row, which shares an entry with `key_bytes` of its clustered key.
  /// kTooBig, and errors of `blobs`.
  virtual Status EncodeRow(const void* record, size_t key_bytes, BlobWriter* blobs,
                           ByteBuffer* row) const = 0;
  /// Puts a row into `record`; only what `columns` names is guaranteed. kCorrupt, and errors of
  /// `blobs`.
  virtual Status DecodeRow(const VersionView& row, const void* columns, BlobReader* blobs,
                           void* record) const = 0;
  /// The same from an entry of index `index` alone. kUnsupported: only the row has the values.
  virtual Status DecodeEntry(uint32_t index, const VersionView& entry, const void* columns,
                             void* record) const = 0;
  /// The entry that a whole record has in index `index`. kTooBig.
  virtual Status EncodeEntry(uint32_t index, const void* record, Bytes clustered_key,
                             EncodedEntry* entry) const = 0;
  /// All entries that a whole record has in an index: normally one, but none or several in an index
  /// on a multi-valued column. Each is put into `buffer` and visited; ends with the first error.
  using EntryVisit = FunctionRef<Status(const EncodedEntry& entry)>;
  virtual Status EncodeEntries(uint32_t index, const void* record, Bytes clustered_key,
                               EncodedEntry* buffer, EntryVisit visit) const {
    const Status status = EncodeEntry(index, record, clustered_key, buffer);
    if (!status.ok()) return status;
    return visit(*buffer);
  }
  /// A row may have any number of entries in the index.
  [[nodiscard]] virtual bool HasSeveralEntries(uint32_t /*index*/) const { return false; }
  /// Whether entries of an index depend on more than the row (IndexEntry::computed).
  [[nodiscard]] virtual bool IsComputed(uint32_t /*index*/) const { return false; }
  /// The clustered key inside an entry's key: a part of it, or assembled in `*scratch`. kCorrupt.
  virtual Result<Bytes> ClusteredKeyOf(uint32_t index, Bytes entry_key,
                                       ByteBuffer* scratch) const = 0;
  /// Replaces `*refs` by the off-page values that a stored row refers to.
  virtual void BlobsOf(Bytes row, std::vector<BlobRef>* refs) const = 0;
};

}  // namespace rowan
