// SPDX-License-Identifier: GPL-2.0-only
// A small instance for tests of buffer/: control file, log, one space and a pool, with the start-up
// steps of a real one: repair, scan the log, redo. Pages are "counter pages": a number at the start
// of the body and again in the last bytes, so that half a change is seen.
// Thread safety: Add and Read from any thread, the rest by the owner.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "buffer/buffer_pool.h"
#include "buffer/mini_txn.h"
#include "io/space_files.h"
#include "tests/support/test_settings.h"
#include "wal/control_file.h"
#include "wal/log.h"
#include "wal/log_groups.h"

namespace rowan {

class PoolHarness {
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
  };

  PoolHarness(FileSystem* file_system, Options options)
      : file_system_(file_system), options_(std::move(options)) {}
  ~PoolHarness() { Kill(); }

  static constexpr SpaceId kSpace{16};
  static PageId Id(uint32_t page) { return {kSpace, PageNumber(page)}; }

  /// A new instance: a space of zero pages, and counter pages 1..space_pages-1 with counter 0.
  void Create(bool with_pages = true);
  /// Starts an existing instance, with recovery. Returns the first failure.
  Status Start();
  /// Drops everything without writing anything.
  void Kill();
  /// Where recovery found the end of the log.
  [[nodiscard]] Lsn recovered_end() const { return recovered_end_; }

  /// What is in the log up to its tail now, from the checkpoint on.
  Result<std::unique_ptr<LogGroups>> OpenLogGroups();
  /// Appends a group that changes no page in the pool, and hands it to the kernel.
  Result<LogRange> AppendGroup(GroupBuilder* group);

  BufferPool& pool() { return *pool_; }
  Log& log() { return *log_; }
  SpaceFiles& files() { return *files_; }
  ControlFile& control() { return *control_; }
  [[nodiscard]] bool stopped_once() const { return stops_ == 1; }

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
  Status OpenAll(Lsn log_end);
  Status Redo();

  FileSystem* const file_system_;
  const Options options_;
  std::unique_ptr<ControlFile> control_;
  std::unique_ptr<SpaceFiles> files_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<BufferPool> pool_;
  Lsn recovered_end_;
  int stops_ = 0;
};

}  // namespace rowan
