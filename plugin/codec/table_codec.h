// SPDX-License-Identifier: GPL-2.0-only
// TableCodec: the server's record and key images <-> Rowan's keys, rows and entries. Compiled once
// per table definition from the server's TABLE into flat column descriptors (offset, null bit,
// type, charset), so that conversion is straight-line work on record bytes, without virtual calls
// of Field.
//
// Keys (docs/formats/keys.md): byte strings that sort with memcmp. Per part: a NULL byte if
// nullable (0 = NULL, 1 = value), then the value: integers sign-flipped big-endian; DECIMAL and the
// temporal types with fractions as stored (already ordered), DATE big-endian; FLOAT/DOUBLE with the
// order-preserving bit trick, -0 as 0; fixed BINARY raw; variable parts self-delimiting; strings by
// collation weights. DESC inverts all bytes of the part. A secondary key is its own parts followed
// by the parts of the clustered key that it lacks.
// Where weights lose the original (strings in most collations), the entry's payload or the row
// keeps it, so every index part can be read back from the entry alone.
//
// Rows (docs/formats/rows.md): null bitmap, fixed-size columns laid out for a few plain copies,
// then variable columns with their lengths; CHAR without padding. Columns that the clustered key
// restores exactly are not stored again. A variable column may be off-page (flag + BlobRef). Thread
// safety: const after Make; the output buffers belong to the caller.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "engine/catalog/cardinalities.h"
#include "engine/row_codec.h"
#include "plugin/codec/decode_plan.h"

struct MY_BITMAP;
struct TABLE;

namespace rowan {

enum class KeyOrder;
class SpatialReference;
struct ColumnInfo;
struct RowRoom;
struct IndexLayout;
struct KeyPartCodec;
struct TableLayout;
class TextIndex;
struct WordLimits;

/// A record is the server's record, columns are WantedColumns.
class TableCodec final : public RowCodec, public KeyParts {
 public:
  /// kUnsupported with a sentence in *refusal when the table has something Rowan does not support.
  /// `for_create`: check everything that CREATE must refuse.
  static Result<std::unique_ptr<TableCodec>> Make(const TABLE* table, uint32_t page_size_bytes,
                                                  std::string* refusal);
  /// The same for a table that an early version made, whose secondary keys may have their parts in
  /// another order; see docs/formats/keys.md.
  static Result<std::unique_ptr<TableCodec>> MakeForFormat1(const TABLE* table,
                                                            uint32_t page_size_bytes,
                                                            std::string* refusal);
  ~TableCodec() override;
  /// What CREATE refuses in addition to Make: see CheckTableLimits in table_layout.h.
  [[nodiscard]] Status CheckLimits() const;

  /// Where keys, rows and payloads have which column.
  [[nodiscard]] const TableLayout& layout() const { return *layout_; }

  /// Serialised column list / key part list, kept in the catalog; compared at open: a difference
  /// means that server and engine disagree about the table.
  [[nodiscard]] std::string TableDescriptor() const;
  [[nodiscard]] std::string IndexDescriptor(uint32_t index) const;

  /// Takes the history from the stored descriptor of the table (row_history.h). False when it is
  /// another table's.
  [[nodiscard]] bool RestoreHistory(const std::string& descriptor);
  /// Restores what an index's stored descriptor has and the server does not know: see text_index.h.
  [[nodiscard]] bool RestoreIndex(uint32_t index_number, const std::string& descriptor);
  /// `former`: maps each column to the one that it was.
  [[nodiscard]] bool InheritHistory(const TableCodec& before, const std::vector<uint32_t>& former,
                                    const unsigned char* record);
  /// See layout_change.h.
  [[nodiscard]] bool RowsStay(const std::vector<uint32_t>& former, const TableCodec& after) const;
  [[nodiscard]] bool EntriesStay(uint32_t index_number, const std::vector<uint32_t>& former,
                                 const TableCodec& after, uint32_t after_number) const;

  [[nodiscard]] bool has_primary_key() const override;
  /// Server key number -> number in the engine's table (0 = clustered) and back.
  [[nodiscard]] uint32_t IndexNumberOfKey(uint32_t server_key) const;
  [[nodiscard]] uint32_t KeyOfIndexNumber(uint32_t index_number) const;
  /// Null unless it is a SPATIAL index.
  [[nodiscard]] const SpatialReference* SpatialReferenceOf(uint32_t index_number) const;
  /// Whether the server may search the index by all parts that it counts as the index's.
  [[nodiscard]] bool IsSearchable(uint32_t index_number) const;

  /// Whether there is a FULLTEXT index.
  [[nodiscard]] bool HasTextIndex() const;
  /// For all FULLTEXT indexes; without this they have the server's word sizes and default
  /// stopwords.
  void SetWordLimits(const WordLimits& limits);
  /// For one index; does nothing to an index of another kind.
  void SetWordLimits(uint32_t index_number, const WordLimits& limits);
  /// For one index that continues an index of `before`.
  void TakeWordLimits(uint32_t index_number, const TableCodec& before, uint32_t before_number);
  /// For all, from another codec of the same definition.
  void TakeWordLimits(const TableCodec& same);
  /// Null: not a FULLTEXT index.
  [[nodiscard]] const TextIndex* TextIndexAt(uint32_t index_number) const;
  /// The texts of a record that such an index covers. Stops at the first error of `visit`.
  Status VisitText(uint32_t index_number, const unsigned char* record,
                   FunctionRef<Status(Bytes text)> visit) const;
  [[nodiscard]] bool HasSeveralEntries(uint32_t index_number) const override;

  // --- record -> Rowan. kTooBig when a limit is exceeded. `record` = record[0] or record[1] ---
  Status EncodeKey(const void* record, ByteBuffer* key) const override;
  /// Secondary key, with the clustered key appended, and payload.
  Status EncodeEntry(uint32_t index_number, const void* record, Bytes clustered_key,
                     EncodedEntry* entry) const override;
  /// Entries of an index on an array are made in handler/computed_columns.h.
  Status EncodeEntries(uint32_t index_number, const void* record, Bytes clustered_key,
                       EncodedEntry* buffer, EntryVisit visit) const override;
  /// For an index on the values of an array column: the form of a value (at offset 0), and the
  /// column. Null: another kind of index.
  [[nodiscard]] const ColumnInfo* ElementOf(uint32_t index_number) const;
  [[nodiscard]] uint32_t ArrayColumnOf(uint32_t index_number) const;
  /// The entry in such an index for one value; null: for an array that is itself NULL.
  Status EncodeElement(uint32_t index_number, const void* record, const Bytes* value,
                       Bytes clustered_key, EncodedEntry* entry) const;
  Status EncodeRow(const void* record, size_t key_bytes, BlobWriter* blobs,
                   ByteBuffer* row) const override;
  /// Off-page values a stored row refers to.
  void BlobsOf(Bytes row, std::vector<BlobRef>* refs) const override;

  // --- Rowan -> record ---
  Status DecodeRow(const VersionView& row, const void* columns, BlobReader* blobs,
                   void* record) const override;
  /// Covering read: index parts and clustered key parts. kUnsupported: the entry had no room for
  /// its values.
  Status DecodeEntry(uint32_t index_number, const VersionView& entry, const void* columns,
                     void* record) const override;
  /// The value of an AUTO_INCREMENT column that is an index's first part; 0 if negative.
  [[nodiscard]] const KeyPartCodec& FirstPart(uint32_t index_number) const;
  [[nodiscard]] Result<uint64_t> FirstPartAsNumber(uint32_t index_number, Bytes key) const;
  /// The clustered key inside a secondary key: a part of `entry_key`, or assembled in `*scratch`
  /// when its columns are spread over the key.
  Result<Bytes> ClusteredKeyOf(uint32_t index_number, Bytes entry_key,
                               ByteBuffer* scratch) const override;

  // --- server key image -> search key ---
  /// Encodes the first parts given by `keypart_map` of a server key image of `server_key` (extended
  /// primary key parts included) into a key prefix. `*complete`: the whole tree key is given.
  void EncodeSearchKey(uint32_t server_key, const unsigned char* image, unsigned long keypart_map,
                       ByteBuffer* prefix, bool* complete) const;
  /// How many leading parts (index parts, then clustered key parts) two keys of an index share.
  [[nodiscard]] uint32_t EqualParts(uint32_t index_number, Bytes left, Bytes right) const override;
  [[nodiscard]] uint32_t PartCount(uint32_t index_number) const override;
  [[nodiscard]] GroupKey SplitKey(uint32_t index_number, Bytes key,
                                  GroupParts parts) const override;

 private:
  TableCodec();
  static Result<std::unique_ptr<TableCodec>> Make(const TABLE* table, uint32_t page_size_bytes,
                                                  KeyOrder order, std::string* refusal);
  Status EncodeEntryWith(uint32_t index_number, const unsigned char* record, const Bytes* element,
                         Bytes clustered_key, EncodedEntry* entry) const;
  Result<Bytes> FindClusteredKey(const IndexLayout& index, Bytes entry_key,
                                 ByteBuffer* scratch) const;
  Status DecodeEntryByParts(const IndexLayout& index, const VersionView& entry,
                            const MY_BITMAP* wanted, unsigned char* record) const;
  Status DecodeAnyRow(const VersionView& stored, const MY_BITMAP* wanted, BlobReader* blobs,
                      unsigned char* record) const;
  Status EncodeLargeRow(const unsigned char* record, const RowRoom& room, BlobWriter* blobs,
                        ByteBuffer* row) const;

  const std::unique_ptr<TableLayout> layout_;
  DecodePlan whole_rows_;  ///< by the layout as it is
};

}  // namespace rowan
