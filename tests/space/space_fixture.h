// SPDX-License-Identifier: GPL-2.0-only
// A small instance with one table's space, for tests of space/ and btree/. Thread safety: the
// owner's thread, except what the parts themselves allow.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/storage/storage_fixture.h"
#include "tests/support/fault_file_system.h"

namespace rowan {

class SpaceFixture : public StorageFixture {
 public:
  struct Options {
    uint32_t page_bytes = TestPageSizeBytes();
    uint32_t pool_pages = TestPoolPages();
    uint64_t log_bytes = uint64_t{16} << 20;
    bool background = true;
    uint32_t file_pages_max = UINT32_MAX;
    DoublewriteMode doublewrite = DoublewriteMode::kOn;
    std::string folder = "/instance";
  };
  static constexpr SpaceId kSpace = kFirstTableSpace;

  SpaceFixture(FileSystem* file_system, const Options& options)
      : StorageFixture(file_system, StorageOptionsOf(options)) {}

  Status Create() {
    const Status created = StorageFixture::Create();
    return created.ok() ? allocator().CreateSpace(kSpace) : created;
  }
  Status Start() {
    const Status started = StorageFixture::Start();
    return started.ok() ? allocator().OpenSpace(kSpace) : started;
  }

 private:
  static StorageOptions StorageOptionsOf(const Options& options) {
    StorageOptions storage = SmallOptions();
    storage.folder = options.folder;
    storage.page_size_bytes = options.page_bytes;
    storage.files.pages_max = options.file_pages_max;
    storage.log.capacity_bytes = options.log_bytes;
    storage.buffer.pool_bytes = uint64_t{options.page_bytes} * options.pool_pages;
    storage.buffer.doublewrite = options.doublewrite;
    storage.background = options.background;
    return storage;
  }
};

}  // namespace rowan
