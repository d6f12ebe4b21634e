// SPDX-License-Identifier: GPL-2.0-only
// ComputedColumns: rows with the values of virtual columns that are in indexes. Rows do not store
// them; the server computes them after each read, but not where it expects an index to supply them,
// and not for reads that it does not know of: a row read because its entry had no room for the
// values, for comparing it with entries, or for making some. Also the entries of indexes on arrays
// (CAST ... AS ... ARRAY), of which a row has one per value.
// Thread safety: the thread that uses the table.
#pragma once

#include <vector>

#include "plugin/codec/table_codec.h"

class Field;
struct MY_BITMAP;
struct TABLE;

namespace rowan {

class ComputedColumns final : public RowCodec {
 public:
  /// Both outlive it.
  ComputedColumns(TABLE* table, const TableCodec* codec);

  /// True if the table has such columns.
  [[nodiscard]] static bool AreIn(const TABLE& table);
  /// Adds the stored columns that they are computed from.
  void AddSources(MY_BITMAP* columns) const;
  /// The same of those that are in `columns`.
  void AddSourcesOfWanted(MY_BITMAP* columns) const;
  /// True if the statement reads all of them, so the server computes them after each read.
  [[nodiscard]] bool AreRead() const;
  /// Whether later rows get the values; otherwise they stay as decoded by the codec.
  void set_active(bool active) { active_ = active; }

  /// Computes them in a record with all columns that they depend on. False: the server's error was
  /// raised.
  [[nodiscard]] bool Compute(unsigned char* record) const { return Compute(nullptr, record); }

  /// Computes the generated columns, stored or not, that depend on `changed` ones (by field index)
  /// in a record that has all columns. False: the server's error was raised.
  [[nodiscard]] static bool ComputeFrom(std::vector<bool> changed, TABLE* table,
                                        unsigned char* record);

  [[nodiscard]] bool has_primary_key() const override { return codec_->has_primary_key(); }
  Status EncodeKey(const void* record, ByteBuffer* key) const override {
    return codec_->EncodeKey(record, key);
  }
  Status EncodeRow(const void* record, size_t key_bytes, BlobWriter* blobs,
                   ByteBuffer* row) const override {
    return codec_->EncodeRow(record, key_bytes, blobs, row);
  }
  Status DecodeRow(const VersionView& row, const void* columns, BlobReader* blobs,
                   void* record) const override;
  Status DecodeEntry(uint32_t index, const VersionView& entry, const void* columns,
                     void* record) const override {
    return codec_->DecodeEntry(index, entry, columns, record);
  }
  Status EncodeEntry(uint32_t index, const void* record, Bytes clustered_key,
                     EncodedEntry* entry) const override {
    return codec_->EncodeEntry(index, record, clustered_key, entry);
  }
  Status EncodeEntries(uint32_t index, const void* record, Bytes clustered_key,
                       EncodedEntry* buffer, EntryVisit visit) const override;
  [[nodiscard]] bool HasSeveralEntries(uint32_t index) const override {
    return codec_->HasSeveralEntries(index);
  }
  /// The values of expressions depend on settings of the session.
  [[nodiscard]] bool IsComputed(uint32_t index) const override;
  Result<Bytes> ClusteredKeyOf(uint32_t index, Bytes entry_key,
                               ByteBuffer* scratch) const override {
    return codec_->ClusteredKeyOf(index, entry_key, scratch);
  }
  void BlobsOf(Bytes row, std::vector<BlobRef>* refs) const override { codec_->BlobsOf(row, refs); }

 private:
  [[nodiscard]] Field* FieldOf(uint32_t index) const;
  [[nodiscard]] bool Compute(const void* columns, unsigned char* record) const;

  TABLE* const table_;
  const TableCodec* const codec_;
  std::vector<Field*> fields_;  ///< in order of dependency
  bool active_ = true;
};

}  // namespace rowan
