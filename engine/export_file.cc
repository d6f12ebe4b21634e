// SPDX-License-Identifier: GPL-2.0-only
#include "engine/export_file.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/crc32c.h"
#include "base/format_features.h"
#include "base/logging.h"

namespace rowan {
namespace {

using namespace export_layout;  // NOLINT: of this file

constexpr FormatFeatures kKnownFeatures{};
constexpr uint64_t kRow = 1;
constexpr uint64_t kEnd = 2;
constexpr size_t kTextBytesMax = size_t{16} << 20;
static_assert(kFeaturesOffset + kFormatFeaturesBytes == kSchemaBytesOffset);
static_assert(kBlockNumberOffset + sizeof(uint64_t) == kBlockHeaderBytes);

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

// --- writing ---

ExportWriter::ExportWriter(FileSystem* files, std::string path)
    : files_(files), path_(std::move(path)), unfinished_path_(path_ + "_new") {}

ExportWriter::~ExportWriter() {
  if (file_ == nullptr) return;
  file_.reset();
  files_->Remove(unfinished_path_).Ignore();
}

Result<std::unique_ptr<ExportWriter>> ExportWriter::Create(FileSystem* files,
                                                           const std::string& path,
                                                           const ExportHeader& header) {
  std::unique_ptr<ExportWriter> writer(new ExportWriter(files, path));
  Result<std::unique_ptr<File>> opened = files->Open(writer->unfinished_path_, {.create = true});
  if (!opened.ok()) return opened.status();
  writer->file_ = std::move(*opened);
  Status status = writer->file_->Truncate(0);
  if (!status.ok()) return status;
  status = writer->WriteHeader(header);
  if (!status.ok()) return status;
  return writer;
}

Status ExportWriter::Remove(FileSystem* files, const std::string& path) {
  const Status status = files->Remove(path);
  return status.Is(Code::kNotFound) ? Status::Ok() : status;
}

Status ExportWriter::WriteHeader(const ExportHeader& header) {
  ByteBuffer bytes(kHeaderBytes);
  StoreLe<uint32_t>(bytes.data() + kVersionOffset, kVersion);
  StoreLe<uint64_t>(bytes.data() + kMagicOffset, kMagic);
  StoreFeatures(bytes.data() + kFeaturesOffset, {});
  StoreLe<uint32_t>(bytes.data() + kSchemaBytesOffset, static_cast<uint32_t>(header.schema.size()));
  StoreLe<uint32_t>(bytes.data() + kLayoutBytesOffset, static_cast<uint32_t>(header.layout.size()));
  for (const std::string* text : {&header.schema, &header.layout}) {
    bytes.insert(bytes.end(), AsBytes(*text).begin(), AsBytes(*text).end());
  }
  seed_ = Crc32c(Bytes(bytes).subspan(kVersionOffset));
  StoreLe<uint32_t>(bytes.data(), seed_);
  offset_ = bytes.size();
  return file_->Write(WriteCause::kExport, 0, bytes);
}

Status ExportWriter::Add(const ExportedRow& row) {
  ++rows_;
  Status status = PutNumber(kRow);
  if (!status.ok()) return status;
  for (const size_t number : {row.key.size(), row.row.size(), row.values.size()}) {
    status = PutNumber(number);
    if (!status.ok()) return status;
  }
  status = Put(row.key);
  if (!status.ok()) return status;
  status = Put(row.row);
  if (!status.ok()) return status;
  for (const Bytes value : row.values) {
    status = PutNumber(value.size());
    if (!status.ok()) return status;
    status = Put(value);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status ExportWriter::Finish(uint64_t auto_increment) {
  for (const uint64_t number : {kEnd, rows_, auto_increment}) {
    const Status status = PutNumber(number);
    if (!status.ok()) return status;
  }
  Status status = WriteBlock();
  if (!status.ok()) return status;
  status = file_->Sync(SyncMethod::kFsync);
  if (!status.ok()) return status;
  status = files_->Rename(unfinished_path_, path_);
  if (!status.ok()) return status;
  file_.reset();
  return files_->SyncDirectory(FolderOf(path_));
}

Status ExportWriter::PutNumber(uint64_t value) {
  std::array<std::byte, kVarintBytesMax> bytes;
  const std::byte* end = PutVarint(bytes.data(), value);
  return Put({bytes.data(), end});
}

Status ExportWriter::Put(Bytes bytes) {
  while (!bytes.empty()) {
    const size_t fits = std::min(bytes.size(), kBlockBytesMax - block_.size());
    block_.insert(block_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(fits));
    bytes = bytes.subspan(fits);
    if (block_.size() < kBlockBytesMax) continue;
    const Status status = WriteBlock();
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status ExportWriter::WriteBlock() {
  if (block_.empty()) return Status::Ok();
  std::array<std::byte, kBlockHeaderBytes> header;
  StoreLe<uint32_t>(header.data() + kBlockSizeOffset, static_cast<uint32_t>(block_.size()));
  StoreLe<uint64_t>(header.data() + kBlockNumberOffset, blocks_++);
  const uint32_t of_header = Crc32c(Bytes(header).subspan(kBlockSizeOffset), seed_);
  StoreLe<uint32_t>(header.data(), Crc32c(block_, of_header));
  Status status = file_->Write(WriteCause::kExport, offset_, header);
  if (!status.ok()) return status;
  status = file_->Write(WriteCause::kExport, offset_ + header.size(), block_);
  if (!status.ok()) return status;
  offset_ += header.size() + block_.size();
  block_.clear();
  return Status::Ok();
}

// --- reading ---

Status ExportReader::Damaged(const char* what) const {
  LogError("The exported table in '{}' is damaged: {}, in the block that ends at byte {}.", path_,
           what, offset_);
  return Status(Code::kCorrupt, "the exported table is damaged");
}

Result<std::unique_ptr<ExportReader>> ExportReader::Open(FileSystem* files,
                                                         const std::string& path) {
  std::unique_ptr<ExportReader> reader(new ExportReader(path));
  Result<std::unique_ptr<File>> opened = files->Open(path, {.read_only = true});
  if (!opened.ok()) return opened.status();
  reader->file_ = std::move(*opened);
  Result<uint64_t> size = reader->file_->Size();
  if (!size.ok()) return size.status();
  reader->file_bytes_ = *size;
  const Status status = reader->ReadHeader();
  if (!status.ok()) return status;
  return reader;
}

Status ExportReader::ReadHeader() {
  ByteBuffer bytes(kHeaderBytes);
  if (file_bytes_ < kHeaderBytes) return Damaged("it has no header");
  Status status = file_->Read(0, bytes);
  if (!status.ok()) return status;
  if (LoadLe<uint64_t>(bytes.data() + kMagicOffset) != kMagic) return Damaged("it is none");
  if (LoadLe<uint32_t>(bytes.data() + kVersionOffset) > kVersion) {
    LogError("The exported table in '{}' was written by a newer version of Rowan.", path_);
    return Status(Code::kNewerFormat, "the exported table has a newer format");
  }
  const size_t schema_bytes = LoadLe<uint32_t>(bytes.data() + kSchemaBytesOffset);
  const size_t layout_bytes = LoadLe<uint32_t>(bytes.data() + kLayoutBytesOffset);
  const size_t text_bytes = schema_bytes + layout_bytes;
  if (text_bytes > kTextBytesMax || file_bytes_ < kHeaderBytes + text_bytes) {
    return Damaged("its header is cut");
  }
  bytes.resize(kHeaderBytes + text_bytes);
  status = file_->Read(kHeaderBytes, MutableBytes(bytes).subspan(kHeaderBytes));
  if (!status.ok()) return status;
  seed_ = Crc32c(Bytes(bytes).subspan(kVersionOffset));
  if (seed_ != LoadLe<uint32_t>(bytes.data())) return Damaged("wrong checksum of its header");
  status = CheckFeatures(LoadFeatures(bytes.data() + kFeaturesOffset), kKnownFeatures, path_);
  if (!status.ok()) return status;
  const std::string_view texts = AsText(Bytes(bytes).subspan(kHeaderBytes));
  header_ = {std::string(texts.substr(0, schema_bytes)), std::string(texts.substr(schema_bytes))};
  offset_ = bytes.size();
  return Status::Ok();
}

Status ExportReader::ReadBlock() {
  std::array<std::byte, kBlockHeaderBytes> header;
  if (file_bytes_ - offset_ < header.size()) return Damaged("it is cut");
  Status status = file_->Read(offset_, header);
  if (!status.ok()) return status;
  const size_t size = LoadLe<uint32_t>(header.data() + kBlockSizeOffset);
  if (size > kBlockBytesMax || file_bytes_ - offset_ - header.size() < size) {
    return Damaged("it is cut");
  }
  block_.resize(size);
  status = file_->Read(offset_ + header.size(), block_);
  if (!status.ok()) return status;
  offset_ += header.size() + size;
  taken_ = 0;
  const uint32_t of_header = Crc32c(Bytes(header).subspan(kBlockSizeOffset), seed_);
  if (Crc32c(block_, of_header) != LoadLe<uint32_t>(header.data())) {
    return Damaged("wrong checksum");
  }
  if (LoadLe<uint64_t>(header.data() + kBlockNumberOffset) != blocks_++) {
    return Damaged("blocks are missing");
  }
  return Status::Ok();
}

Status ExportReader::Take(uint64_t bytes, ByteBuffer* target) {
  target->clear();
  while (target->size() < bytes) {
    if (taken_ == block_.size()) {
      const Status status = ReadBlock();
      if (!status.ok()) return status;
    }
    const size_t count = std::min<uint64_t>(bytes - target->size(), block_.size() - taken_);
    const Bytes part = Bytes(block_).subspan(taken_, count);
    target->insert(target->end(), part.begin(), part.end());
    taken_ += count;
  }
  return Status::Ok();
}

Result<uint64_t> ExportReader::TakeNumber() {
  uint64_t value = 0;
  for (uint32_t shift = 0; shift < 64; shift += 7) {
    if (taken_ == block_.size()) {
      const Status status = ReadBlock();
      if (!status.ok()) return status;
    }
    const auto byte = static_cast<uint64_t>(block_[taken_++]);
    value |= (byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return Damaged("malformed number");
}

Result<bool> ExportReader::Next(ExportedRow* row) {
  std::array<uint64_t, 4> numbers{};  // kind, bytes of key and row, number of values
  for (uint64_t& number : numbers) {
    Result<uint64_t> taken = TakeNumber();
    if (!taken.ok()) return taken.status();
    number = *taken;
    if (numbers[0] == kEnd) break;
  }
  if (numbers[0] == kEnd) {
    const Status ended = TakeEnd();
    if (!ended.ok()) return ended;
    return false;
  }
  const uint64_t left = file_bytes_;  // no part of a row is larger than the file
  if (numbers[0] != kRow || std::max({numbers[1], numbers[2], numbers[3]}) > left) {
    return Damaged("malformed row");
  }
  Status status = Take(numbers[1], &key_);
  if (!status.ok()) return status;
  status = Take(numbers[2], &row_);
  if (!status.ok()) return status;
  if (values_.size() < numbers[3]) values_.resize(numbers[3]);
  *row = {.key = key_, .row = row_};
  for (uint64_t i = 0; i < numbers[3]; ++i) {
    Result<uint64_t> bytes = TakeNumber();
    if (!bytes.ok()) return bytes.status();
    if (*bytes > left) return Damaged("malformed row");
    status = Take(*bytes, &values_[i]);
    if (!status.ok()) return status;
    row->values.push_back(values_[i]);
  }
  ++rows_;
  return true;
}

Status ExportReader::TakeEnd() {
  for (uint64_t* number : {&end_.rows, &end_.auto_increment}) {
    Result<uint64_t> taken = TakeNumber();
    if (!taken.ok()) return taken.status();
    *number = *taken;
  }
  const bool at_end = taken_ == block_.size() && offset_ == file_bytes_;
  return end_.rows == rows_ && at_end ? Status::Ok() : Damaged("rows are missing or too many");
}

}  // namespace rowan
