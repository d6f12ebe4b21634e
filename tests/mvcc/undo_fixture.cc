// SPDX-License-Identifier: GPL-2.0-only
#include "tests/mvcc/undo_fixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "buffer/buffer_redo.h"
#include "buffer/page/page_header.h"
#include "mvcc/undo/undo_check.h"
#include "mvcc/undo/undo_recovery.h"
#include "mvcc/undo/undo_redo.h"
#include "space/space_pages.h"

namespace rowan {
namespace {

constexpr SpaceId kCellSpace{16};
constexpr uint32_t kPoolPages = 64;
constexpr PageId kCellPage{kCellSpace, PageNumber(1)};
constexpr uint32_t kFirstCell = 64;

std::vector<std::byte> CellPayload(uint32_t cell, uint64_t old_value) {
  std::vector<std::byte> payload(12 + (cell % 8 == 0 ? UndoFixture::kPadding : 0));
  StoreLe<uint32_t>(payload.data(), cell);
  StoreLe<uint64_t>(payload.data() + 4, old_value);
  return payload;
}

}  // namespace

StorageOptions UndoFixture::Options(uint32_t page_size, DoublewriteMode doublewrite) {
  StorageOptions options = StorageFixture::SmallOptions();
  options.page_size_bytes = page_size;
  options.buffer.pool_bytes = uint64_t{page_size} * kPoolPages;
  options.buffer.doublewrite = doublewrite;
  return options;
}

void UndoFixture::OpenTransactions() {
  undo_ = std::make_unique<UndoStreams>(&allocator());
  shutting_down.store(false);
  manager_ = std::make_unique<TxnManager>(
      undo_.get(), &log(),
      TxnManagerOptions{.lock_memory_bytes_max = 1u << 20,
                        .commit_ring_entries = 1024,
                        .old_snapshot_ms = old_snapshot_ms,
                        .rollback_records_alone = records_alone,
                        .shutdown_sign = [] { return shutting_down.load(); }});
  manager_->SetApplier(this);
  manager_->SetIdReserver([this](TxnId next_txn, Csn next_csn) {
    return storage_.control().Update([&](ControlData& data) {
      data.next_txn_id = next_txn;
      data.next_csn = next_csn;
    });
  });
}

void UndoFixture::Create() {
  RegisterUndoRedo();
  const Status created = storage_.Create([this](Storage*) {
    OpenTransactions();
    return undo_->Create();
  });
  ASSERT_TRUE(created.ok()) << created.message();
  ASSERT_TRUE(storage_.files().Create(kCellSpace, 2).ok());
  MiniTxn mini_txn(&pool());
  ASSERT_TRUE(mini_txn.Start(4096).ok());
  Result<MutablePage> page = mini_txn.FixNew(kCellPage);
  ASSERT_TRUE(page.ok());
  InitPageHeader({page->bytes, page_size_}, kCellPage, PageType::kTreeNode, 1, kIndex);
  LogPageImage(&mini_txn, *page);
  mini_txn.Commit();
  manager_->SetNextIds(TxnId(1), Csn(1));
  ASSERT_TRUE(pool().FlushAndCheckpoint().ok());
}

Status UndoFixture::Start(bool background) {
  Kill();
  purged.clear();
  Status status = storage_.Start(background);
  if (!status.ok()) return status;
  OpenTransactions();
  status = allocator().OpenSpace(kUndoSpace);
  if (!status.ok()) return status;
  UndoRecovery recovery(undo_.get());
  status = recovery.Run();
  if (!status.ok()) return status;
  const ControlData data = storage_.control().data();
  EXPECT_LT(recovery.txn_max(), data.next_txn_id);
  // A prepared transaction commits without asking for an id: its CSN may lie beyond the mark.
  manager_->SetNextIds(data.next_txn_id,
                       std::max(data.next_csn, Csn(recovery.csn_max().value() + 1)));
  manager_->Adopt(std::move(recovery.unfinished()));
  return Status::Ok();
}

void UndoFixture::Kill() {
  manager_.reset();
  undo_.reset();
  storage_.Kill();
}

void UndoFixture::RollBackLosers() {
  for (;;) {
    const Result<bool> more = RollbackUnit();
    ASSERT_TRUE(more.ok()) << more.status().message();
    if (!more.value()) return;
  }
}

Result<bool> UndoFixture::PurgeUnit(uint32_t worker, uint32_t workers, uint64_t records) {
  WorkBudget budget(records);
  return manager_->PurgeSome(worker, workers, &budget);
}

Result<bool> UndoFixture::RollbackUnit(uint64_t records) {
  WorkBudget budget(records);
  return manager_->RollbackSome(&budget);
}

void UndoFixture::Purge() {
  for (;;) {
    const Result<bool> more = PurgeUnit(0, 1);
    ASSERT_TRUE(more.ok()) << more.status().message();
    if (!more.value()) return;
  }
}

Status UndoFixture::Write(Txn* txn, uint32_t cell, uint64_t value) {
  Status status = manager_->AssignId(txn);
  if (status.ok()) status = undo_log().EnsureRoom(txn, 12 + kPadding);
  if (!status.ok()) return status;
  MiniTxn mini_txn(&pool());
  status = mini_txn.Start(1024);
  if (!status.ok()) return status;
  Result<MutablePage> page = mini_txn.Fix(kCellPage);
  if (!page.ok()) return page.status();
  const uint32_t offset = kFirstCell + cell * 8;
  const std::vector<std::byte> payload = CellPayload(cell, LoadLe<uint64_t>(page->bytes + offset));
  const Result<UndoPointer> pointer =
      undo_log().Append(&mini_txn, txn, UndoType::kClusteredUpdate, kIndex,
                        {Bytes(payload).first(4), Bytes(payload).subspan(4)});
  if (!pointer.ok()) return pointer.status();
  std::byte bytes[8];
  StoreLe<uint64_t>(bytes, value);
  LogPageBytes(&mini_txn, *page, offset, bytes);
  mini_txn.Commit();
  return Status::Ok();
}

Status UndoFixture::LogDrop(Txn* txn, UndoType type, const std::string& payload, IndexId index) {
  Status status = manager_->AssignId(txn);
  if (status.ok()) status = undo_log().EnsureRoom(txn, payload.size());
  if (!status.ok()) return status;
  MiniTxn mini_txn(&pool());
  status = mini_txn.Start(UndoLog::LogBytesMax(payload.size()) + 100);
  if (!status.ok()) return status;
  const Result<UndoPointer> pointer =
      undo_log().Append(&mini_txn, txn, type, index, {AsBytes(payload)});
  if (!pointer.ok()) return pointer.status();
  mini_txn.Commit();
  return Status::Ok();
}

uint64_t UndoFixture::Cell(uint32_t cell) {
  Result<PageGuard> guard = pool().Fix(kCellPage, LatchMode::kShared);
  EXPECT_TRUE(guard.ok());
  return LoadLe<uint64_t>(guard->page() + kFirstCell + cell * 8);
}

void UndoFixture::CheckAll() {
  uint32_t reached = 0;
  const Status status = UndoCheck(undo_.get()).Run([&reached](PageNumber) { ++reached; });
  EXPECT_TRUE(status.ok()) << status.message();
  Result<uint32_t> allocated = allocator().CheckSpace(kUndoSpace);
  ASSERT_TRUE(allocated.ok()) << allocated.status().message();
  Result<SpaceStatistics> space = allocator().Statistics(kUndoSpace);
  ASSERT_TRUE(space.ok()) << space.status().message();
  const uint32_t group_pages = GroupPages(page_size_);
  const uint32_t bitmap_pages = (space->file_pages + group_pages - 1) / group_pages;
  EXPECT_EQ(allocated.value(), 1 + bitmap_pages + reached) << "an undo page leaked";
}

Status UndoFixture::Undo(Txn* txn, const UndoRecordCopy& record, UndoPointer pointer,
                         WorkBudget* /*budget*/) {
  if (on_undo) {
    const Status status = on_undo(record);
    if (!status.ok()) return status;
  }
  MiniTxn mini_txn(&pool());
  Status status = mini_txn.Start(1024);
  if (!status.ok()) return status;
  if (record.type == UndoType::kClusteredUpdate) {
    Result<MutablePage> page = mini_txn.Fix(kCellPage);
    if (!page.ok()) return page.status();
    const auto cell = LoadLe<uint32_t>(record.payload.data());
    // Both or nothing: whatever can fail comes before the first change.
    status = undo_log().DropUndone(&mini_txn, txn, pointer);
    if (!status.ok()) return status;
    LogPageBytes(&mini_txn, *page, kFirstCell + cell * 8, Bytes(record.payload).subspan(4, 8));
  } else {
    status = undo_log().DropUndone(&mini_txn, txn, pointer);
    if (!status.ok()) return status;
  }
  mini_txn.Commit();
  return Status::Ok();
}

UndoShare UndoFixture::ShareOf(const UndoRecordInPage& record) const {
  if (record.type != UndoType::kClusteredUpdate) return {};
  // The low bits of a row's hash are the window's.
  return {UndoShare::kRow, (uint64_t{LoadLe<uint32_t>(record.payload.data())} + 1) << 16};
}

Status UndoFixture::Purge(TxnId, const UndoRecordCopy& record, WorkBudget* /*budget*/) {
  if (on_purge) on_purge();
  if (may_purge) {
    const Status status = may_purge(record);
    if (!status.ok()) return status;
  }
  std::lock_guard lock(purged_mutex_);
  if (record.type == UndoType::kClusteredUpdate) {
    purged.push_back(fmt::format("{}={}", LoadLe<uint32_t>(record.payload.data()),
                                 LoadLe<uint64_t>(record.payload.data() + 4)));
  } else {
    purged.push_back(
        fmt::format("{}:{}", static_cast<int>(record.type), AsText(Bytes(record.payload))));
  }
  return Status::Ok();
}

}  // namespace rowan
