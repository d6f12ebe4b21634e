// SPDX-License-Identifier: GPL-2.0-only
#include "engine/entry_sorter.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/assertions.h"

namespace rowan {
namespace {

constexpr char kNamePrefix[] = "rowan.sort_";
/// u32 key bytes | u32 payload bytes | u32 unique prefix bytes, before the key and the payload.
constexpr size_t kHeaderBytes = 12;
constexpr size_t kWriteChunkBytes = size_t{1} << 20;
constexpr size_t kReadChunkBytesMin = size_t{16} << 10;
constexpr size_t kReadChunkBytesMax = size_t{1} << 20;

IndexEntry ParseEntry(const std::byte* stored) {
  const size_t key_bytes = LoadLe<uint32_t>(stored);
  const size_t payload_bytes = LoadLe<uint32_t>(stored + 4);
  const std::byte* key = stored + kHeaderBytes;
  return {.key = {key, key_bytes},
          .payload = {key + key_bytes, payload_bytes},
          .unique_prefix_bytes = LoadLe<uint32_t>(stored + 8)};
}

uint64_t HeadOf(Bytes key) {
  std::array<std::byte, 8> head{};
  std::memcpy(head.data(), key.data(), std::min(key.size(), head.size()));
  return LoadBe64(head.data());
}

}  // namespace

size_t EntrySorter::StoredBytes(const IndexEntry& entry) {
  return kHeaderBytes + entry.key.size() + entry.payload.size();
}

/// A sorted part of the file and the window of it that is in memory.
struct EntrySorter::Run {
  uint64_t position;  ///< of the first byte behind the window
  uint64_t end;
  std::vector<std::byte> window{};
  size_t begin = 0;  ///< of the current entry in the window
  size_t chunk_bytes = 0;
  uint64_t head = 0;
  IndexEntry entry{};

  /// Makes `bytes` of the current entry readable.
  Status Require(File* file, size_t bytes) {
    if (window.size() - begin >= bytes) return Status::Ok();
    window.erase(window.begin(), window.begin() + static_cast<ptrdiff_t>(begin));
    begin = 0;
    const size_t kept = window.size();
    const uint64_t wanted = std::max(chunk_bytes, bytes) - kept;
    const uint64_t count = std::min(wanted, end - position);
    if (kept + count < bytes) return Status(Code::kCorrupt, "a sort file ends in an entry");
    window.resize(kept + count);
    const Status status = file->Read(position, MutableBytes(window).subspan(kept));
    position += count;
    return status;
  }

  /// False at the end of the run.
  Result<bool> Load(File* file) {
    if (position == end && begin == window.size()) return false;
    Status status = Require(file, kHeaderBytes);
    if (!status.ok()) return status;
    status = Require(file, StoredBytes(ParseEntry(window.data() + begin)));
    if (!status.ok()) return status;
    entry = ParseEntry(window.data() + begin);
    head = HeadOf(entry.key);
    return true;
  }
  void Skip() { begin += StoredBytes(entry); }
  /// Heap order: the run with the smallest key on top.
  static bool After(const Run* left, const Run* right) {
    if (left->head != right->head) return left->head > right->head;
    return CompareBytes(left->entry.key, right->entry.key) > 0;
  }
};

EntrySorter::EntrySorter(FileSystem* files, const std::string& folder, const std::string& name,
                         size_t memory_bytes)
    : files_(files), path_(folder + "/" + kNamePrefix + name), memory_bytes_(memory_bytes) {}

EntrySorter::~EntrySorter() {
  if (file_ == nullptr) return;
  file_.reset();
  files_->Remove(path_).Ignore();  // what stays is removed at the next start
}

Status EntrySorter::RemoveLeftovers(FileSystem* files, const std::string& folder) {
  Result<std::vector<std::string>> names = files->List(folder);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (!name.starts_with(kNamePrefix)) continue;
    const Status status = files->Remove(folder + "/" + name);
    if (!status.ok() && !status.Is(Code::kNotFound)) return status;
  }
  return Status::Ok();
}

IndexEntry EntrySorter::At(uint64_t offset) const { return ParseEntry(arena_.data() + offset); }

Status EntrySorter::Add(const IndexEntry& entry) {
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

void EntrySorter::SortRefs() {
  std::sort(refs_.begin(), refs_.end(), [this](const Ref& left, const Ref& right) {
    if (left.head != right.head) return left.head < right.head;
    return CompareBytes(At(left.offset).key, At(right.offset).key) < 0;
  });
}

Status EntrySorter::OpenFile() {
  if (file_ != nullptr) return Status::Ok();
  Result<std::unique_ptr<File>> opened = files_->Open(path_, {.create = true});
  if (!opened.ok()) return opened.status();
  file_ = std::move(opened).value();
  return file_->Truncate(0);
}

Status EntrySorter::WriteRun() {
  Status status = OpenFile();
  if (!status.ok()) return status;
  SortRefs();
  const uint64_t run_begin = file_bytes_;
  std::vector<std::byte> chunk;
  for (size_t i = 0; i < refs_.size(); ++i) {
    const std::byte* stored = arena_.data() + refs_[i].offset;
    chunk.insert(chunk.end(), stored, stored + StoredBytes(ParseEntry(stored)));
    if (chunk.size() < kWriteChunkBytes && i + 1 < refs_.size()) continue;
    status = file_->Write(file_bytes_, chunk);
    if (!status.ok()) return status;
    file_bytes_ += chunk.size();
    chunk.clear();
  }
  arena_.clear();
  refs_.clear();
  runs_.push_back(std::make_unique<Run>(Run{.position = run_begin, .end = file_bytes_}));
  return Status::Ok();
}

Status EntrySorter::StartReading() {
  if (runs_.empty()) {
    SortRefs();
    return Status::Ok();
  }
  if (!refs_.empty()) {
    const Status status = WriteRun();
    if (!status.ok()) return status;
  }
  arena_ = {};
  refs_ = {};
  for (const std::unique_ptr<Run>& run : runs_) {
    run->chunk_bytes =
        std::clamp(memory_bytes_ / runs_.size(), kReadChunkBytesMin, kReadChunkBytesMax);
    Result<bool> loaded = run->Load(file_.get());
    if (!loaded.ok()) return loaded.status();
    if (*loaded) PushToHeap(run.get());
  }
  return Status::Ok();
}

void EntrySorter::PushToHeap(Run* run) {
  heap_.push_back(run);
  std::push_heap(heap_.begin(), heap_.end(), Run::After);
}

Result<bool> EntrySorter::Next(IndexEntry* entry) {
  if (runs_.empty()) {
    if (next_ref_ == refs_.size()) return false;
    *entry = At(refs_[next_ref_++].offset);
    return true;
  }
  if (last_ != nullptr) {
    last_->Skip();
    Result<bool> loaded = last_->Load(file_.get());
    if (!loaded.ok()) return loaded.status();
    if (*loaded) PushToHeap(last_);
    last_ = nullptr;
  }
  if (heap_.empty()) return false;
  std::pop_heap(heap_.begin(), heap_.end(), Run::After);
  last_ = heap_.back();
  heap_.pop_back();
  *entry = last_->entry;
  return true;
}

}  // namespace rowan
