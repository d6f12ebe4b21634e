// SPDX-License-Identifier: GPL-2.0-only
// An instance on the fault file system with undo streams, a transaction manager and the simplest
// rows there are: cells of 8 bytes on one page. A write of a cell is one group with its undo
// record; the applier puts the old value back. Starting again goes through recovery: repair, redo,
// undo. Thread safety: Write, Commit, Rollback from any thread, each with its own Txn and its own
// cells.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "buffer/buffer_pool.h"
#include "mvcc/txn_manager.h"
#include "mvcc/undo/undo_log.h"
#include "tests/storage/storage_fixture.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/test_settings.h"

namespace rowan {

class UndoFixture : public UndoApplier {
 public:
  explicit UndoFixture(uint64_t seed = 1, uint32_t page_size = TestPageSizeBytes(),
                       DoublewriteMode doublewrite = DoublewriteMode::kOn)
      : file_system_(seed),
        page_size_(page_size),
        storage_(&file_system_, Options(page_size, doublewrite)) {
    file_system_.SetAtomicWriteUnitMax(page_size);
  }
  ~UndoFixture() override { Kill(); }

  static constexpr uint32_t kCells = 400;
  static constexpr IndexId kIndex{77};
  /// Added to the payload of cells whose number is a multiple of 8, to have records of all sizes.
  static constexpr size_t kPadding = 300;

  /// A new instance with all cells zero, checkpointed.
  void Create();
  /// Starts an existing one; losers are adopted, not rolled back. First failure.
  Status Start(bool background = false);
  /// Drops everything in memory without writing anything.
  void Kill();
  void RollBackLosers();
  /// Until nothing is left to do.
  void Purge();
  /// One unit of at most so many records.
  Result<bool> PurgeUnit(uint32_t worker, uint32_t workers, uint64_t records = UINT64_MAX);
  Result<bool> RollbackUnit(uint64_t records = UINT64_MAX);

  Status Write(Txn* txn, uint32_t cell, uint64_t value);
  /// A record that does something at purge only.
  Status LogDrop(Txn* txn, UndoType type, const std::string& payload, IndexId index = kNoIndex);
  uint64_t Cell(uint32_t cell);
  void CheckAll();

  // UndoApplier.
  Status Undo(Txn* txn, const UndoRecordCopy& record, UndoPointer pointer,
              WorkBudget* budget) override;
  UndoShare ShareOf(const UndoRecordInPage& record) const override;
  Status Purge(TxnId txn, const UndoRecordCopy& record, WorkBudget* budget) override;
  Status PurgeUnseen(TxnId /*txn*/, Csn /*csn*/, const UndoRecordCopy& /*record*/,
                     const OldSnapshots& /*old*/) override {
    looked_ahead.fetch_add(1);
    return Status::Ok();
  }

  FaultFileSystem& file_system() { return file_system_; }
  TxnManager& manager() { return *manager_; }
  UndoStreams& undo() { return *undo_; }
  UndoLog& undo_log() { return *manager_->undo(); }
  BufferPool& pool() { return storage_.pool(); }
  Log& log() { return storage_.log(); }
  PageAllocator& allocator() { return storage_.allocator(); }

  /// "type:payload" of everything purged in this run, cells as "cell=old value".
  std::vector<std::string> purged;
  std::function<void()> on_purge;  ///< before each record, by the thread that purges it
  std::function<Status(const UndoRecordCopy&)> may_purge;  ///< fails the purge of chosen records
  std::atomic<uint64_t> looked_ahead{0};                   ///< records in front of the horizon
  uint64_t old_snapshot_ms = 1000;                       ///< of the manager, from the next start on
  uint64_t records_alone = 4096;                         ///< of the manager, from the next start on
  std::function<Status(const UndoRecordCopy&)> on_undo;  ///< fails the undo of chosen records
  static inline std::atomic<bool> shutting_down{false};  ///< for the manager; down at every start

 private:
  static StorageOptions Options(uint32_t page_size, DoublewriteMode doublewrite);
  void OpenTransactions();

  FaultFileSystem file_system_;
  const uint32_t page_size_;
  StorageFixture storage_;
  std::unique_ptr<UndoStreams> undo_;
  std::unique_ptr<TxnManager> manager_;
  std::mutex purged_mutex_;
};

}  // namespace rowan
