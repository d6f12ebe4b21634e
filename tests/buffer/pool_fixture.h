// SPDX-License-Identifier: GPL-2.0-only
// A small instance for tests of buffer/. Its table's space has "counter pages": a number at the
// start of the body and again in the last bytes, so that half a change is seen.
// Thread safety: Add and Read from any thread, the rest by the owner.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "buffer/mini_txn.h"
#include "tests/storage/storage_fixture.h"
#include "wal/log_groups.h"

namespace rowan {

class PoolFixture : public StorageFixture {
 public:
  struct Options {
    std::string folder = "/instance";
    uint32_t page_size = TestPageSizeBytes();
    uint32_t pool_pages = 64;
    uint64_t log_capacity = uint64_t{1} << 20;
    DoublewriteMode doublewrite = DoublewriteMode::kOn;
    bool background = false;
    uint32_t cleaners = 1;
    uint32_t session_writers = 0;
    uint64_t idle_round_micros = 30'000'000;
    uint32_t space_pages = 256;
    FindMemory memory = FindMachineMemory;
  };

  PoolFixture(FileSystem* file_system, const Options& options)
      : StorageFixture(file_system, StorageOptionsOf(options)), space_pages_(options.space_pages) {}

  static constexpr SpaceId kSpace = kFirstTableSpace;
  static PageId Id(uint32_t page) { return {kSpace, PageNumber(page)}; }

  /// A new instance: a space of zero pages, and counter pages 1..space_pages-1 with counter 0.
  void Create(bool with_pages = true);
  /// Where recovery found the end of the log.
  [[nodiscard]] Lsn recovered_end() { return storage().recovery()->end(); }

  /// What is in the log up to its tail now, from the checkpoint on.
  Result<std::unique_ptr<LogGroups>> OpenLogGroups();
  /// Appends a group that changes no page in the pool, and hands it to the kernel.
  Result<LogRange> AppendGroup(GroupBuilder* group);

  /// Initialises a counter page. The end of its group.
  Result<Lsn> Init(uint32_t page, uint64_t counter);
  /// Adds to a page's counter in one mini-transaction. The end of its group.
  Result<Lsn> Add(uint32_t page, uint64_t amount);
  /// Sets the counter of a page already held. The log record is about 60 bytes.
  void Change(MiniTxn* mini_txn, const MutablePage& page, uint64_t counter) const;
  /// The counter, with both copies compared.
  Result<uint64_t> Read(uint32_t page, FixHint hint = FixHint::kNormal);
  [[nodiscard]] uint64_t CounterOf(const std::byte* page) const;

  /// The page as it is on disk, past the pool.
  std::vector<std::byte> ReadHome(uint32_t page);
  void WriteHome(uint32_t page, const std::vector<std::byte>& image);

 private:
  static StorageOptions StorageOptionsOf(const Options& options);

  const uint32_t space_pages_;
};

}  // namespace rowan
