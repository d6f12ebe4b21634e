// SPDX-License-Identifier: GPL-2.0-only
// A table's rows as a file for another instance (docs/formats/export.md): a description of the
// table, its rows in the order of their keys with their off-page values, and their
// number. Nothing in it depends on the instance that wrote it: no page, no id, no version of a row.
// Every byte is under a checksum. Memory: a block, and the largest row. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "engine/row_codec.h"
#include "io/file.h"

namespace rowan {

struct ExportHeader {
  std::string schema;  ///< the user's form of the table's definition
  std::string layout;  ///< how its rows are encoded
};

/// The parts of a row; does not own the bytes.
struct ExportedRow {
  Bytes key{};
  Bytes row{};
  std::vector<Bytes> values{};  ///< stored off the page
};

struct ExportEnd {
  uint64_t rows = 0;
  uint64_t auto_increment = 0;
};

// Bytes of the file, little-endian: a header,
//   offset size
//   0      4    CRC-32C over the rest of the header, schema and layout included
//   4      4    format version
//   8      8    magic
//   16     24   feature masks
//   40     4    n: bytes of the schema
//   44     4    m: bytes of the layout
//   48     16   zero
//   64     n    schema; the layout stands behind it
// then blocks, each with
//   offset size
//   0      4    CRC-32C over the rest of the block, begun with the header's
//   4      4    n: bytes of contents
//   8      8    number of the block, from 0
//   16     n    contents
namespace export_layout {
inline constexpr uint64_t kMagic = 0x5452'4f50'5845'5752;  // "RWEXPORT"
inline constexpr uint32_t kVersion = 1;
inline constexpr size_t kVersionOffset = 4;
inline constexpr size_t kMagicOffset = 8;
inline constexpr size_t kFeaturesOffset = 16;
inline constexpr size_t kSchemaBytesOffset = 40;
inline constexpr size_t kLayoutBytesOffset = 44;
inline constexpr size_t kHeaderBytes = 64;
inline constexpr size_t kBlockSizeOffset = 4;
inline constexpr size_t kBlockNumberOffset = 8;
inline constexpr size_t kBlockHeaderBytes = 16;
inline constexpr size_t kBlockBytesMax = size_t{256} << 10;  ///< bytes of contents
}  // namespace export_layout

class ExportWriter {
 public:
  /// The file appears under `path`, replacing an existing one, when Finish returns.
  static Result<std::unique_ptr<ExportWriter>> Create(FileSystem* files, const std::string& path,
                                                      const ExportHeader& header);
  /// Removes an unfinished file.
  ~ExportWriter();
  ExportWriter(const ExportWriter&) = delete;
  ExportWriter& operator=(const ExportWriter&) = delete;

  /// kNoSpace, kIoError.
  Status Add(const ExportedRow& row);
  /// On return everything is durable.
  Status Finish(uint64_t auto_increment);
  /// Removes a finished file; no effect if there is none.
  static Status Remove(FileSystem* files, const std::string& path);

 private:
  ExportWriter(FileSystem* files, std::string path);
  Status WriteHeader(const ExportHeader& header);
  Status Put(Bytes bytes);
  Status PutNumber(uint64_t value);
  Status WriteBlock();

  FileSystem* const files_;
  const std::string path_;
  const std::string unfinished_path_;
  std::unique_ptr<File> file_;
  uint32_t seed_ = 0;  ///< for the blocks' checksums: the header's checksum
  uint64_t offset_ = 0;
  uint64_t blocks_ = 0;
  uint64_t rows_ = 0;
  ByteBuffer block_;
};

class ExportReader {
 public:
  /// kNotFound, kNewerFormat, kCorrupt and kIoError; the error log names the file.
  static Result<std::unique_ptr<ExportReader>> Open(FileSystem* files, const std::string& path);

  [[nodiscard]] const ExportHeader& header() const { return header_; }
  /// False at the end; then end() is valid. Bytes of the row are valid until the next call.
  /// kCorrupt: the error log names file and offset.
  Result<bool> Next(ExportedRow* row);
  [[nodiscard]] const ExportEnd& end() const { return end_; }
  /// Progress: bytes of the file, and those read, at least the header's.
  [[nodiscard]] uint64_t file_bytes() const { return file_bytes_; }
  [[nodiscard]] uint64_t read_bytes() const { return offset_; }

 private:
  explicit ExportReader(std::string path) : path_(std::move(path)) {}
  Status ReadHeader();
  Status ReadBlock();
  Status Take(uint64_t bytes, ByteBuffer* target);
  Result<uint64_t> TakeNumber();
  Status TakeEnd();
  [[nodiscard]] Status Damaged(const char* what) const;

  const std::string path_;
  std::unique_ptr<File> file_;
  uint64_t file_bytes_ = 0;
  ExportHeader header_;
  ExportEnd end_;
  uint32_t seed_ = 0;
  uint64_t offset_ = 0;  ///< of the next block
  uint64_t blocks_ = 0;
  uint64_t rows_ = 0;
  ByteBuffer block_;
  size_t taken_ = 0;  ///< bytes of the block
  ByteBuffer key_;
  ByteBuffer row_;
  std::vector<ByteBuffer> values_;
};

}  // namespace rowan
