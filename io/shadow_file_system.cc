// SPDX-License-Identifier: GPL-2.0-only
#include "io/shadow_file_system.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <utility>

#include "base/bytes.h"

namespace rowan {
namespace {

constexpr uint64_t kBlockBytes = 4096;
using Block = std::array<std::byte, kBlockBytes>;

}  // namespace

/// The contents of a file, here and below, independent of its names.
class ShadowFileSystem::Contents {
 public:
  /// `below`: path of the file whose contents it starts with; empty: none.
  Contents(std::string below, uint64_t size_bytes)
      : below_(std::move(below)), size_(size_bytes), below_bytes_(size_bytes) {}

  [[nodiscard]] const std::string& below() const { return below_; }
  uint64_t Size() {
    const MutexLock lock(&mutex_);
    return size_;
  }

  Status Read(File* file, uint64_t offset, MutableBytes buffer) {
    const MutexLock lock(&mutex_);
    if (offset + buffer.size() > size_) return Status(Code::kIoError, "beyond the end of the file");
    return ReadLocked(file, offset, buffer);
  }

  Status Write(File* file, uint64_t offset, Bytes bytes) {
    const MutexLock lock(&mutex_);
    while (!bytes.empty()) {
      const uint64_t number = offset / kBlockBytes;
      const size_t skipped = offset % kBlockBytes;
      const Bytes piece = bytes.first(std::min<size_t>(bytes.size(), kBlockBytes - skipped));
      Block block{};
      if (piece.size() != kBlockBytes) {
        const Status status = ReadLocked(file, number * kBlockBytes, block);
        if (!status.ok()) return status;
      }
      std::memcpy(block.data() + skipped, piece.data(), piece.size());
      blocks_[number] = IsAllZero(block) ? nullptr : std::make_unique<Block>(block);
      offset += piece.size();
      bytes = bytes.subspan(piece.size());
      size_ = std::max(size_, offset);
    }
    return Status::Ok();
  }

  void Truncate(uint64_t size_bytes) {
    const MutexLock lock(&mutex_);
    if (size_bytes < size_) {
      blocks_.erase(blocks_.lower_bound((size_bytes + kBlockBytes - 1) / kBlockBytes),
                    blocks_.end());
      const auto last = blocks_.find(size_bytes / kBlockBytes);
      if (last != blocks_.end() && last->second != nullptr) {
        std::fill(last->second->begin() + static_cast<ptrdiff_t>(size_bytes % kBlockBytes),
                  last->second->end(), std::byte{0});
      }
      below_bytes_ = std::min(below_bytes_, size_bytes);
    }
    size_ = size_bytes;
  }

  void Extend(uint64_t size_bytes) {
    const MutexLock lock(&mutex_);
    size_ = std::max(size_, size_bytes);
  }

 private:
  /// What lies beyond the end reads as zero.
  Status ReadLocked(File* file, uint64_t offset, MutableBytes buffer) ROWAN_REQUIRES(mutex_) {
    std::fill(buffer.begin(), buffer.end(), std::byte{0});
    if (file != nullptr && offset < below_bytes_) {
      const auto bytes = std::min<uint64_t>(buffer.size(), below_bytes_ - offset);
      const Status status = file->Read(offset, buffer.first(bytes));
      if (!status.ok()) return status;
    }
    const uint64_t end = offset + buffer.size();
    for (auto at = blocks_.lower_bound(offset / kBlockBytes);
         at != blocks_.end() && at->first * kBlockBytes < end; ++at) {
      const uint64_t from = std::max(offset, at->first * kBlockBytes);
      const uint64_t to = std::min(end, (at->first + 1) * kBlockBytes);
      std::byte* target = buffer.data() + (from - offset);
      if (at->second == nullptr) {
        std::memset(target, 0, to - from);
      } else {
        std::memcpy(target, at->second->data() + from % kBlockBytes, to - from);
      }
    }
    return Status::Ok();
  }

  const std::string below_;
  Mutex mutex_{LatchRank::kShadowFile};
  uint64_t size_ ROWAN_GUARDED_BY(mutex_);
  uint64_t below_bytes_ ROWAN_GUARDED_BY(mutex_);  ///< from the start; beyond, nothing of it shows
  std::map<uint64_t, std::unique_ptr<Block>> blocks_ ROWAN_GUARDED_BY(mutex_);  ///< null: zeros
};

class ShadowFileSystem::ShadowFile : public File {
 public:
  ShadowFile(FileSystem* below, std::string path, std::shared_ptr<Contents> contents,
             std::unique_ptr<File> file)
      : below_(below),
        path_(std::move(path)),
        contents_(std::move(contents)),
        file_(std::move(file)) {}

  Status Read(uint64_t offset, MutableBytes buffer) override {
    return contents_->Read(file_.get(), offset, buffer);
  }
  Status Write(uint64_t offset, Bytes bytes) override {
    return contents_->Write(file_.get(), offset, bytes);
  }
  Status Sync(SyncMethod /*method*/) override { return Status::Ok(); }
  /// Locks the file below if it may be written: a lock needs that, and a reader without write
  /// permission hinders no other process.
  Status Lock() override {
    if (contents_->below().empty()) return Status::Ok();
    Result<std::unique_ptr<File>> lock = below_->Open(contents_->below(), {});
    if (!lock.ok()) return Status::Ok();
    lock_ = std::move(lock).value();
    return lock_->Lock();
  }
  Result<uint64_t> Size() override { return contents_->Size(); }
  Status Truncate(uint64_t size_bytes) override {
    contents_->Truncate(size_bytes);
    return Status::Ok();
  }
  Status Allocate(uint64_t offset, uint64_t length) override {
    contents_->Extend(offset + length);
    return Status::Ok();
  }
  Status Punch(uint64_t /*offset*/, uint64_t /*length*/) override {
    return Status(Code::kUnsupported, "a file that is only read has no holes");
  }
  [[nodiscard]] int descriptor() const override { return -1; }
  void SetAtomic(bool /*atomic*/) override {}
  [[nodiscard]] const std::string& path() const override { return path_; }

 private:
  FileSystem* const below_;
  const std::string path_;
  const std::shared_ptr<Contents> contents_;
  const std::unique_ptr<File> file_;  ///< below, for reading; null: there is none
  std::unique_ptr<File> lock_;
};

Result<std::shared_ptr<ShadowFileSystem::Contents>> ShadowFileSystem::FindLocked(
    const std::string& path) {
  const auto known = names_.find(path);
  if (known != names_.end()) return known->second;
  Result<std::unique_ptr<File>> file = below_->Open(path, {.read_only = true});
  if (!file.ok()) return file.status();
  const Result<uint64_t> size = (*file)->Size();
  if (!size.ok()) return size.status();
  return names_[path] = std::make_shared<Contents>(path, size.value());
}

Result<std::unique_ptr<File>> ShadowFileSystem::Open(const std::string& path, FileOptions options) {
  const MutexLock lock(&mutex_);
  Result<std::shared_ptr<Contents>> found = FindLocked(path);
  if (!found.ok() && !found.status().Is(Code::kNotFound)) return found.status();
  const bool exists = found.ok() && *found != nullptr;
  if (exists && options.create && options.exclusive) {
    return Status(Code::kInvalidArgument, "file exists already");
  }
  if (!exists && !options.create) return Status(Code::kNotFound, "no such file");
  std::shared_ptr<Contents> contents =
      exists ? *found : (names_[path] = std::make_shared<Contents>("", 0));
  std::unique_ptr<File> below;
  if (!contents->below().empty()) {
    Result<std::unique_ptr<File>> file = below_->Open(contents->below(), {.read_only = true});
    if (!file.ok()) return file.status();
    below = std::move(file).value();
  }
  return std::unique_ptr<File>(
      std::make_unique<ShadowFile>(below_, path, std::move(contents), std::move(below)));
}

Status ShadowFileSystem::Rename(const std::string& source, const std::string& target) {
  const MutexLock lock(&mutex_);
  Result<std::shared_ptr<Contents>> found = FindLocked(source);
  if (!found.ok()) return found.status();
  if (*found == nullptr) return Status(Code::kNotFound, "no such file");
  names_[target] = *found;
  names_[source] = nullptr;
  return Status::Ok();
}

Status ShadowFileSystem::Remove(const std::string& path) {
  const Result<bool> exists = Exists(path);
  if (!exists.ok()) return exists.status();
  if (!exists.value()) return Status(Code::kNotFound, "no such file");
  const MutexLock lock(&mutex_);
  names_[path] = nullptr;
  return Status::Ok();
}

Result<bool> ShadowFileSystem::Exists(const std::string& path) {
  {
    const MutexLock lock(&mutex_);
    const auto known = names_.find(path);
    if (known != names_.end()) return known->second != nullptr;
  }
  return below_->Exists(path);
}

Result<std::vector<std::string>> ShadowFileSystem::List(const std::string& folder) {
  Result<std::vector<std::string>> below = below_->List(folder);
  if (!below.ok()) return below;
  std::set<std::string> present(below->begin(), below->end());
  const std::string prefix = folder + "/";
  const MutexLock lock(&mutex_);
  for (auto at = names_.lower_bound(prefix); at != names_.end() && at->first.starts_with(prefix);
       ++at) {
    const std::string name = at->first.substr(prefix.size());
    if (name.find('/') != std::string::npos) continue;
    if (at->second == nullptr) {
      present.erase(name);
    } else {
      present.insert(name);
    }
  }
  return std::vector<std::string>(present.begin(), present.end());
}

Status ShadowFileSystem::CreateLink(const std::string& /*target*/, const std::string& /*path*/) {
  return Status(Code::kReadOnly, "the instance is only read");
}

Result<std::string> ShadowFileSystem::ReadLink(const std::string& path) {
  {
    const MutexLock lock(&mutex_);
    const auto known = names_.find(path);
    if (known != names_.end() && known->second == nullptr) return Status(Code::kNotFound);
    if (known != names_.end() && known->second->below() != path) return std::string();
  }
  return below_->ReadLink(path);
}

Status ShadowFileSystem::CreateFolder(const std::string& path) {
  const Result<bool> exists = below_->Exists(path);
  if (!exists.ok()) return exists.status();
  return exists.value() ? Status::Ok() : Status(Code::kReadOnly, "the instance is only read");
}

Status ShadowFileSystem::SyncDirectory(const std::string& /*folder*/) { return Status::Ok(); }

Result<uint32_t> ShadowFileSystem::AtomicWriteUnitMax(const std::string& /*path*/) {
  return uint32_t{0};
}

Result<std::unique_ptr<AsyncQueue>> ShadowFileSystem::MakeQueue(QueueKind /*kind*/,
                                                                uint32_t /*entries*/,
                                                                std::string* refusal) {
  if (refusal != nullptr) *refusal = "an instance that is only read has no descriptors";
  return Status(Code::kUnsupported, "no descriptors");
}

}  // namespace rowan
