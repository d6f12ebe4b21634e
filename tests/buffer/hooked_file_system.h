// SPDX-License-Identifier: GPL-2.0-only
// A file system that calls a function before each write of a file, one before each read, and one
// after each sync: to check a rule, or to force something to happen just then. Thread safety: all
// members; a call of the hook that was replaced may still be under way.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "io/file.h"
#include "tests/support/forwarding_file.h"

namespace rowan {

class HookedFileSystem final : public FileSystem {
 public:
  using Hook = std::function<void(const std::string& path, Bytes bytes)>;

  explicit HookedFileSystem(FileSystem* below) : below_(below) {}
  void SetHook(Hook hook) {
    const std::lock_guard<std::mutex> lock(mutex_);
    hook_ = std::make_shared<const Hook>(std::move(hook));
  }
  /// `hook` gets no bytes.
  void SetSyncHook(Hook hook) {
    const std::lock_guard<std::mutex> lock(mutex_);
    sync_hook_ = std::make_shared<const Hook>(std::move(hook));
  }

  /// `hook` gets no bytes.
  void SetReadHook(Hook hook) {
    const std::lock_guard<std::mutex> lock(mutex_);
    read_hook_ = std::make_shared<const Hook>(std::move(hook));
  }

  Result<std::unique_ptr<File>> Open(const std::string& path, FileOptions options) override {
    auto opened = below_->Open(path, options);
    if (!opened.ok()) return opened.status();
    return std::unique_ptr<File>(new HookedFile(this, std::move(opened).value()));
  }
  Status Rename(const std::string& source, const std::string& target) override {
    return below_->Rename(source, target);
  }
  Status Remove(const std::string& path) override { return below_->Remove(path); }
  Result<bool> Exists(const std::string& path) override { return below_->Exists(path); }
  Result<std::vector<std::string>> List(const std::string& folder) override {
    return below_->List(folder);
  }
  Status CreateLink(const std::string& target, const std::string& path) override {
    return below_->CreateLink(target, path);
  }
  Result<std::string> ReadLink(const std::string& path) override { return below_->ReadLink(path); }
  Status CreateFolder(const std::string& path) override { return below_->CreateFolder(path); }
  Status SyncDirectory(const std::string& folder) override { return below_->SyncDirectory(folder); }
  Result<uint32_t> AtomicWriteUnitMax(const std::string& path) override {
    return below_->AtomicWriteUnitMax(path);
  }

 private:
  class HookedFile final : public ForwardingFile {
   public:
    HookedFile(HookedFileSystem* owner, std::unique_ptr<File> below)
        : ForwardingFile(std::move(below)), owner_(owner) {}
    Status Read(uint64_t offset, MutableBytes buffer) override {
      const std::shared_ptr<const Hook> hook = owner_->CurrentReadHook();
      if (hook != nullptr && *hook) (*hook)(path(), {});
      return ForwardingFile::Read(offset, buffer);
    }
    Status Write(uint64_t offset, Bytes bytes) override {
      const std::shared_ptr<const Hook> hook = owner_->CurrentHook();
      if (hook != nullptr && *hook) (*hook)(path(), bytes);
      return ForwardingFile::Write(offset, bytes);
    }
    Status Sync(SyncMethod method) override {
      const Status status = ForwardingFile::Sync(method);
      const std::shared_ptr<const Hook> hook = owner_->CurrentSyncHook();
      if (hook != nullptr && *hook) (*hook)(path(), {});
      return status;
    }
    /// None, so that batches write through this object.
    [[nodiscard]] int descriptor() const override { return -1; }

   private:
    HookedFileSystem* const owner_;
  };

  std::shared_ptr<const Hook> CurrentHook() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return hook_;
  }

  std::shared_ptr<const Hook> CurrentReadHook() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return read_hook_;
  }

  std::shared_ptr<const Hook> CurrentSyncHook() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return sync_hook_;
  }

  FileSystem* const below_;
  std::mutex mutex_;
  std::shared_ptr<const Hook> hook_;       // guarded by mutex_
  std::shared_ptr<const Hook> read_hook_;  // guarded by mutex_
  std::shared_ptr<const Hook> sync_hook_;  // guarded by mutex_
};

}  // namespace rowan
