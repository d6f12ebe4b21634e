// SPDX-License-Identifier: GPL-2.0-only
// A small instance for measuring the pool, with one space, in a new folder on a real disk, which is
// removed at the end. Stops the program if anything fails.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "base/logging.h"
#include "base/random.h"
#include "buffer/buffer_redo.h"
#include "buffer/mini_txn.h"
#include "buffer/page/page_header.h"
#include "io/file.h"
#include "storage/storage.h"

namespace rowan {

inline void Require(Status status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s (%u)\n", what, status.message(), status.detail());
  std::exit(1);
}

class BenchInstance {
 public:
  static constexpr SpaceId kSpace{16};
  static constexpr uint32_t kPageBytes = 16384;

  struct Settings {
    /// Share of each page filled with random bytes, half at its front and half at its end, as in a
    /// B-tree node; the rest is zero.
    uint32_t fill_percent = 0;
    bool background = false;  ///< with the pool's own threads
    IoBackend io_backend = IoBackend::kAuto;
  };
  BenchInstance(const std::string& folder, uint32_t pool_pages, uint32_t space_pages,
                const Settings& settings)
      : folder_(folder + "/rowan-bench"),
        space_pages_(space_pages),
        fill_percent_(settings.fill_percent) {
    SetLogLevel(LogLevel::kWarning);
    std::filesystem::remove_all(folder_);
    StorageOptions options;
    options.folder = folder_;
    options.page_size_bytes = kPageBytes;
    options.log.capacity_bytes = uint64_t{64} << 20;
    options.log.sync_method = LogSyncMethod::kFdatasync;
    options.buffer.pool_bytes = uint64_t{pool_pages} * kPageBytes;
    options.buffer.io_backend = settings.io_backend;
    options.background = settings.background;
    storage_ = Take(Storage::Open(PosixFileSystem(), options), "opening the instance");
    Require(storage_->files()->Create(kSpace, space_pages), "creating the space");
    for (uint32_t page = 1; page < space_pages; ++page) Init(page);
    Require(pool().FlushAndCheckpoint(), "writing the pages");
  }
  ~BenchInstance() {
    storage_.reset();
    std::filesystem::remove_all(folder_);
  }

  BufferPool& pool() { return *storage_->pool(); }
  static PageId Id(uint32_t page) { return {kSpace, PageNumber(page)}; }
  [[nodiscard]] uint32_t space_pages() const { return space_pages_; }

  /// Changes 8 bytes of a page.
  void Touch(uint32_t page, uint64_t value) {
    MiniTxn mini_txn(&pool());
    Require(mini_txn.Start(128), "reserving log space");
    Result<MutablePage> fixed = mini_txn.Fix(Id(page));
    Require(fixed.status(), "fixing a page");
    std::byte bytes[8];
    StoreLe<uint64_t>(bytes, value);
    LogPageBytes(&mini_txn, *fixed, kPageHeaderBytes, bytes);
    (void)mini_txn.Commit();
  }

 private:
  template <typename T>
  static T Take(Result<T> result, const char* what) {
    Require(result.status(), what);
    return std::move(result).value();
  }

  void Init(uint32_t page) {
    MiniTxn mini_txn(&pool());
    Require(mini_txn.Start(256), "reserving log space");
    Result<MutablePage> fixed = mini_txn.FixNew(Id(page));
    Require(fixed.status(), "initialising a page");
    InitPageHeader({fixed->bytes, kPageBytes}, Id(page), PageType::kTreeNode, 1, IndexId(1));
    LogPageImage(&mini_txn, *fixed);
    Fill(fixed->bytes);
    (void)mini_txn.Commit();
  }

  /// Not logged: this instance is never recovered.
  void Fill(std::byte* page) {
    const size_t part = size_t{kPageBytes} * fill_percent_ / 200 / 8 * 8;
    for (size_t at = 0; at < part; at += 8) {
      if (at >= kPageHeaderBytes) StoreLe<uint64_t>(page + at, random_.Next());
      StoreLe<uint64_t>(page + kPageBytes - 8 - at, random_.Next());
    }
  }

  const std::string folder_;
  const uint32_t space_pages_;
  const uint32_t fill_percent_;
  Random random_{2};
  std::unique_ptr<Storage> storage_;
};

}  // namespace rowan
