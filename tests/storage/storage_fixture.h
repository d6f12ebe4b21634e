// SPDX-License-Identifier: GPL-2.0-only
// StorageFixture: an instance without trees and transactions, for tests of the parts below them.
// What starts it after a crash is what starts the product. Thread safety: the owner's thread,
// except what the parts themselves allow.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "storage/storage.h"
#include "tests/support/test_settings.h"

namespace rowan {

class StorageFixture {
 public:
  /// Of the tests' sizes, with a log of 1 MiB.
  static StorageOptions SmallOptions() {
    StorageOptions options;
    options.folder = "/instance";
    options.page_size_bytes = TestPageSizeBytes();
    options.log.capacity_bytes = uint64_t{1} << 20;
    options.log.buffer_bytes = uint64_t{1} << 20;
    options.log.sync_method = LogSyncMethod::kFdatasync;
    options.buffer.pool_bytes = TestPoolPages() * uint64_t{options.page_size_bytes};
    options.buffer.io_backend = IoBackend::kThreads;
    return options;
  }

  StorageFixture(FileSystem* file_system, StorageOptions options)
      : file_system_(file_system), options_(std::move(options)) {}

  /// `build` makes the undo space and what else the instance has from the beginning.
  using Build = std::function<Status(Storage*)>;
  Status Create(const Build& build = MakeUndoSpace) {
    const Status opened = Open();
    if (!opened.ok()) return opened;
    EXPECT_TRUE(storage_->is_new());
    const Status built = build(storage_.get());
    if (!built.ok()) return built;
    const Status started = storage_->StartBackground();
    if (!started.ok()) return started;
    return storage_->FinishCreation([](ControlData& data) { data.next_table_id = TableId(1); });
  }

  /// Starts an existing instance. kCorrupt when redo found a space that lacks changes for good.
  Status Start() { return Start(options_.background); }
  Status Start(bool background) {
    Kill();
    options_.background = background;
    const Status opened = Open();
    if (!opened.ok()) return opened;
    EXPECT_FALSE(storage_->is_new());
    Status redone;
    while ((redone = storage_->FinishRedo()).Is(Code::kBusy)) std::this_thread::yield();
    if (!redone.ok()) return redone;
    if (!storage_->damaged()->All().empty()) return Status(Code::kCorrupt, "a space is damaged");
    return storage_->pool()->FlushAndCheckpoint();
  }

  /// Drops everything without writing anything on purpose.
  void Kill() { storage_.reset(); }

  Storage& storage() { return *storage_; }
  BufferPool& pool() { return *storage_->pool(); }
  Log& log() { return *storage_->log(); }
  PageAllocator& allocator() { return *storage_->allocator(); }
  SpaceFiles& files() { return *storage_->files(); }
  ControlFile& control() { return *storage_->control(); }
  FileSystem& file_system() { return *file_system_; }
  [[nodiscard]] const StorageOptions& options() const { return options_; }
  [[nodiscard]] uint32_t page_size() const { return options_.page_size_bytes; }

 private:
  static Status MakeUndoSpace(Storage* storage) {
    return storage->allocator()->CreateSpace(kUndoSpace);
  }

  Status Open() {
    Result<std::unique_ptr<Storage>> opened = Storage::Open(file_system_, options_);
    if (!opened.ok()) return opened.status();
    storage_ = std::move(*opened);
    return Status::Ok();
  }

  FileSystem* const file_system_;
  StorageOptions options_;
  std::unique_ptr<Storage> storage_;
};

}  // namespace rowan
