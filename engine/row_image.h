// SPDX-License-Identifier: GPL-2.0-only
// RowImage: one row as the engine stores it, made of a record: its clustered key, the row, and its
// entry in each secondary index. Comparing two shows which entries a change of the row touches.
// Buffers are reused. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "engine/row_codec.h"
#include "engine/session.h"
#include "mvcc/row/index_entry.h"

namespace rowan {

/// Which indexes of a table, by their numbers.
using IndexSet = std::vector<bool>;

class RowImage {
 public:
  /// `index_count`: indexes of the table, the clustered one included. The codec outlives the image.
  RowImage(const RowCodec* codec, size_t index_count);

  /// Makes it no row: neither key nor entries.
  void Clear();
  /// `number`: the key if records do not hold one.
  Status EncodeKey(const void* record, Bytes number);
  void SetKey(Bytes key) { key_.assign(key.begin(), key.end()); }
  /// Encodes the entries in the indexes `only` (null: in all; empty: in none), with the key that
  /// was set.
  Status EncodeEntries(const void* record, const IndexSet* only = nullptr);
  Status EncodeRow(const void* record, RowCodec::BlobWriter* blobs);
  /// Replaces the encoded entries by others, in the order of their keys.
  void ReplaceEntries(uint32_t index, std::vector<EncodedEntry> entries);

  [[nodiscard]] Bytes key() const { return key_; }
  [[nodiscard]] Bytes row() const { return row_; }
  [[nodiscard]] size_t index_count() const { return entries_.size(); }
  /// All of them, valid until the image is changed. REQUIRES: all were encoded.
  std::span<const IndexEntry> ViewEntries();
  /// Replaces `*changes` by what turns the entries of `before` into those of `after`. Where an
  /// index has several entries of a row, removals come first: unique values are given up before
  /// they are taken. REQUIRES: both were encoded for the same indexes of the same table.
  static void ListChanges(const RowImage& before, const RowImage& after, const IndexSet* only,
                          std::vector<EntryChange>* changes);

 private:
  /// Without a key: there is none.
  struct Entry : EncodedEntry {
    bool has_several = false;  ///< its index has `elements_` instead
  };
  struct Element {
    uint32_t index = 0;
    EncodedEntry entry{};
  };

  Status EncodeElements(uint32_t index, const void* record);
  static int Compare(const Element& left, const Element& right);
  static void ListElementChanges(const RowImage& before, const RowImage& after,
                                 std::vector<EntryChange>* changes);

  const RowCodec* const codec_;
  ByteBuffer key_;
  ByteBuffer row_;
  std::vector<Entry> entries_;     ///< [0] unused: the clustered index
  std::vector<Element> elements_;  ///< entries of indexes that have several, by index and key
  std::vector<IndexEntry> views_;
};

}  // namespace rowan
