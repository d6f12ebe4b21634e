// SPDX-License-Identifier: GPL-2.0-only
// What a TableRebuild has to know of toy rows. Thread safety: one thread.
#pragma once

#include <string>

#include "engine/build/table_rebuild.h"
#include "tests/engine/toy_index_codec.h"

namespace rowan {

/// With other keys the row of this id minus its own.
inline constexpr uint64_t kToyMirror = 1'000'000;

/// Rows with their blobs.
class ToyBlobCodec final : public ToyIndexCodec {
 public:
  /// `row`: what is in a record that is written.
  explicit ToyBlobCodec(const ToyRow* row = nullptr) : row_(row) {}

  Status EncodeRow(const void*, size_t, BlobWriter* blobs, ByteBuffer* row) const override {
    std::optional<OffPageValue> blob;
    if (!row_->blob.empty()) {
      OffPageWrite value{.value = AsBytes(row_->blob)};
      const Status status = blobs->Write(&value);
      if (!status.ok()) return status;
      blob = value.stored;
    }
    const std::string encoded = ToyEncode(*row_, blob);
    row->assign(AsBytes(encoded).begin(), AsBytes(encoded).end());
    return Status::Ok();
  }
  void BlobsOf(Bytes row, std::vector<BlobRef>* refs) const override { FindToyBlobs(row, refs); }

 private:
  const ToyRow* const row_;
};

/// The same rows; with other keys the last one becomes the first (kToyMirror).
class ToyConversion final : public RowConversion {
 public:
  ToyConversion(Session* session, const StoredRow* former, TableRebuild::Keys keys)
      : session_(session), former_(former), keys_(keys) {}

  Status Convert() override {
    if (refuses) return Status(Code::kUnsupported, "refused");
    row_ = ToyDecode(former_->value);
    const std::optional<OffPageValue> blob = ToyBlobOf(former_->value);
    row_.blob.resize(blob.has_value() ? blob->size_bytes() : 0);
    Status status;
    if (blob.has_value()) {
      status = session_->ReadValue(
          *blob, {reinterpret_cast<std::byte*>(row_.blob.data()), row_.blob.size()});
    }
    const uint64_t id = LoadBe64(former_->key.data());
    key_ = ToyKey(keys_ == TableRebuild::Keys::kSame ? id : kToyMirror - id);
    stored_ = ToyEncode(row_);
    record_ = {AsBytes(key_), AsBytes(stored_)};
    return status;
  }
  [[nodiscard]] const RowCodec& codec() const override { return codec_; }
  [[nodiscard]] void* record() const override { return &record_; }

  bool refuses = false;

 private:
  Session* const session_;
  const StoredRow* const former_;
  const TableRebuild::Keys keys_;
  ToyRow row_;
  const ToyBlobCodec codec_{&row_};
  std::string key_;
  std::string stored_;
  mutable StoredRow record_;
};

}  // namespace rowan
