// SPDX-License-Identifier: GPL-2.0-only
#include "engine/sort/sort_lane.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/logging.h"

namespace rowan {
namespace {

constexpr size_t kWriteChunkBytes = size_t{1} << 20;

}  // namespace

IndexEntry SortLane::Parse(const std::byte* stored) {
  const size_t key_bytes = LoadLe<uint32_t>(stored);
  const size_t payload_bytes = LoadLe<uint32_t>(stored + 4);
  const std::byte* key = stored + kHeaderBytes;
  return {.key = {key, key_bytes},
          .payload = {key + key_bytes, payload_bytes},
          .unique_prefix_bytes = LoadLe<uint32_t>(stored + 8)};
}

uint64_t SortLane::HeadOf(Bytes key) {
  std::array<std::byte, 8> head{};
  std::memcpy(head.data(), key.data(), std::min(key.size(), head.size()));
  return LoadBe64(head.data());
}

SortLane::SortLane(FileSystem* files, std::string path, size_t memory_bytes)
    : files_(files), path_(std::move(path)), memory_bytes_(memory_bytes) {}

SortLane::~SortLane() {
  if (file_ == nullptr) return;
  file_.reset();
  files_->Remove(path_).Ignore();  // what stays is removed at the next start
}

Status SortLane::Add(const IndexEntry& entry) {
  const size_t bytes = StoredBytes(entry);
  if (arena_.size() + bytes + (refs_.size() + 1) * sizeof(Ref) > memory_bytes_ && !refs_.empty()) {
    const Status status = WriteRun();
    if (!status.ok()) return status;
  }
  const uint64_t offset = arena_.size();
  std::array<std::byte, kHeaderBytes> header;
  StoreLe<uint32_t>(header.data(), static_cast<uint32_t>(entry.key.size()));
  StoreLe<uint32_t>(header.data() + 4, static_cast<uint32_t>(entry.payload.size()));
  StoreLe<uint32_t>(header.data() + 8, entry.unique_prefix_bytes);
  arena_.insert(arena_.end(), header.begin(), header.end());
  arena_.insert(arena_.end(), entry.key.begin(), entry.key.end());
  arena_.insert(arena_.end(), entry.payload.begin(), entry.payload.end());
  ++entries_;
  refs_.push_back({HeadOf(entry.key), offset});
  return Status::Ok();
}

Status SortLane::Finish() {
  if (std::exchange(finished_, true)) return Status::Ok();
  if (runs_.empty()) {
    SortRefs();
    return Status::Ok();
  }
  Status status;
  if (!refs_.empty()) status = WriteRun();
  arena_ = {};
  refs_ = {};
  return status;
}

void SortLane::SortRefs() {
  std::sort(refs_.begin(), refs_.end(), [this](const Ref& left, const Ref& right) {
    if (left.head != right.head) return left.head < right.head;
    return CompareBytes(At(left.offset).key, At(right.offset).key) < 0;
  });
}

Status SortLane::OpenFile() {
  if (file_ != nullptr) return Status::Ok();
  Result<std::unique_ptr<File>> opened = files_->Open(path_, {.create = true});
  if (!opened.ok()) {
    LogError("A sort cannot open its scratch file '{}': {}.", path_, opened.status().message());
    return opened.status();
  }
  file_ = std::move(opened).value();
  return file_->Truncate(0);
}

Status SortLane::WriteRun() {
  Status status = OpenFile();
  if (!status.ok()) return status;
  SortRefs();
  const uint64_t run_begin = file_bytes_;
  std::vector<std::byte> chunk;
  for (size_t i = 0; i < refs_.size(); ++i) {
    const std::byte* stored = arena_.data() + refs_[i].offset;
    chunk.insert(chunk.end(), stored, stored + StoredBytes(Parse(stored)));
    if (chunk.size() < kWriteChunkBytes && i + 1 < refs_.size()) continue;
    status = file_->Write(WriteCause::kSort, file_bytes_, chunk);
    if (!status.ok()) return status;
    file_bytes_ += chunk.size();
    chunk.clear();
  }
  arena_.clear();
  refs_.clear();
  runs_.push_back({run_begin, file_bytes_});
  return Status::Ok();
}

}  // namespace rowan
