// SPDX-License-Identifier: GPL-2.0-only
#include "tests/mvcc/undo_fixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "buffer/buffer_redo.h"
#include "buffer/page/page_header.h"
#include "mvcc/undo/undo_check.h"
#include "mvcc/undo/undo_recovery.h"
#include "mvcc/undo/undo_redo.h"
#include "space/space_pages.h"
#include "wal/log_reader.h"
#include "wal/redo.h"

namespace rowan {
namespace {

constexpr char kFolder[] = "/instance";
constexpr SpaceId kCellSpace{16};
constexpr uint32_t kPoolPages = 64;
constexpr PageId kCellPage{kCellSpace, PageNumber(1)};
constexpr uint32_t kFirstCell = 64;

/// Redo as recovery does it: pages that cannot be read or do not fit are left alone until a record
/// initialises them. Those must turn out to be free.
class Redoer {
 public:
  explicit Redoer(BufferPool* pool) : pool_(pool) {}

  Status Apply(const LogReader::Group& group) {
    GroupParser parser(group.bytes);
    RecordView record;
    Status parsed;
    while (parser.Next(&record, &parsed)) {
      const RedoEntry* entry = FindRedo(record.type, record.version);
      EXPECT_NE(entry, nullptr);
      if (entry->pageless) continue;
      const Status status = Apply(group, record, *entry);
      if (!status.ok()) return status;
    }
    for (auto& [id, guard] : guards_) {
      if (PageLsnOf(guard.page()) < group.end) pool_->MarkRedone(guard, group.start, group.end);
    }
    guards_.clear();
    return parsed;
  }
  [[nodiscard]] const std::set<PageId>& suspended() const { return suspended_; }

 private:
  Status Apply(const LogReader::Group& group, const RecordView& record, const RedoEntry& entry) {
    if (entry.initialises_page) {
      suspended_.erase(record.page);
    } else if (suspended_.contains(record.page)) {
      return Status::Ok();
    }
    auto found = guards_.find(record.page);
    if (found == guards_.end()) {
      Result<PageGuard> guard =
          entry.initialises_page
              ? pool_->FixNew(record.page)
              : pool_->Fix(record.page, LatchMode::kExclusive, FixHint::kSpeculative);
      if (!guard.ok()) {
        const Status status = guard.status();
        if (!status.Is(Code::kCorrupt) && !status.Is(Code::kIoError)) return status;
        suspended_.insert(record.page);
        return Status::Ok();
      }
      found = guards_.emplace(record.page, std::move(guard).value()).first;
    }
    PageGuard& guard = found->second;
    if (!entry.initialises_page && PageLsnOf(guard.page()) >= group.end) return Status::Ok();
    const MutableBytes page(guard.mutable_page(), pool_->page_size_bytes());
    const Status status = entry.apply(record.page, page, record.body);
    if (!status.Is(Code::kCorrupt)) return status;
    suspended_.insert(record.page);
    pool_->Discard(std::move(guard));
    guards_.erase(found);
    return Status::Ok();
  }

  BufferPool* const pool_;
  std::map<PageId, PageGuard> guards_;
  std::set<PageId> suspended_;
};

std::vector<std::byte> CellPayload(uint32_t cell, uint64_t old_value) {
  std::vector<std::byte> payload(12 + (cell % 8 == 0 ? UndoFixture::kPadding : 0));
  StoreLe<uint32_t>(payload.data(), cell);
  StoreLe<uint64_t>(payload.data() + 4, old_value);
  return payload;
}

}  // namespace

void UndoFixture::RegisterAll() {
  RegisterBufferRedo();
  RegisterSpaceRedo();
  RegisterUndoRedo();
}

Status UndoFixture::OpenAll(Lsn log_end) {
  LogOptions log_options;
  log_options.folder = kFolder;
  log_options.capacity_bytes = uint64_t{1} << 20;
  log_options.buffer_bytes = uint64_t{1} << 20;
  log_options.sync_method = LogSyncMethod::kFdatasync;
  auto log = Log::Open(&file_system_, log_options, control_.get(), log_end, [] {});
  if (!log.ok()) return log.status();
  log_ = std::move(log).value();
  BufferOptions options;
  options.page_size_bytes = page_size_;
  options.pool_bytes = uint64_t{page_size_} * kPoolPages;
  options.io_backend = IoBackend::kThreads;
  auto pool = BufferPool::Open(options, files_.get(), &file_system_, log_.get(), control_.get());
  if (!pool.ok()) return pool.status();
  pool_ = std::move(pool).value();
  allocator_ = std::make_unique<PageAllocator>(pool_.get(), control_->data().instance_id);
  undo_ = std::make_unique<UndoStreams>(allocator_.get());
  shutting_down.store(false);
  manager_ = std::make_unique<TxnManager>(
      undo_.get(), log_.get(),
      TxnManagerOptions{.lock_memory_bytes_max = 1u << 20,
                        .ring_size = 1024,
                        .shutdown_sign = [] { return shutting_down.load(); }});
  manager_->SetApplier(this);
  manager_->SetIdReserver([this](TxnId next_txn, Csn next_csn) {
    return control_->Update([&](ControlData& data) {
      data.next_txn_id = next_txn;
      data.next_csn = next_csn;
    });
  });
  return Status::Ok();
}

void UndoFixture::Create() {
  RegisterAll();
  ControlData data;
  data.page_size_bytes = page_size_;
  data.epoch = 1;
  auto control = ControlFile::Create(&file_system_, kFolder, data);
  ASSERT_TRUE(control.ok()) << control.status().message();
  control_ = std::move(control).value();
  files_ = std::make_unique<SpaceFiles>(
      &file_system_, SpaceFiles::Options{.folder = kFolder, .page_size_bytes = page_size_});
  ASSERT_TRUE(OpenAll(kNoLsn).ok());
  pool_->StartBackground();
  ASSERT_TRUE(undo_->Create().ok());
  ASSERT_TRUE(files_->Create(kCellSpace, 2).ok());
  MiniTxn mini_txn(pool_.get());
  ASSERT_TRUE(mini_txn.Start(4096).ok());
  Result<MutablePage> page = mini_txn.FixNew(kCellPage);
  ASSERT_TRUE(page.ok());
  InitPageHeader({page->bytes, page_size_}, kCellPage, PageType::kTreeNode, 1, kIndex);
  LogPageImage(&mini_txn, *page);
  mini_txn.Commit();
  manager_->SetNextIds(TxnId(1), Csn(1));
  ASSERT_TRUE(pool_->FlushAndCheckpoint().ok());
}

Status UndoFixture::Start(bool background) {
  Kill();
  purged.clear();
  auto control = ControlFile::Open(&file_system_, kFolder);
  if (!control.ok()) return control.status();
  control_ = std::move(control).value();
  Status status = control_->Update([](ControlData& data) { ++data.epoch; });
  if (!status.ok()) return status;
  files_ = std::make_unique<SpaceFiles>(
      &file_system_, SpaceFiles::Options{.folder = kFolder, .page_size_bytes = page_size_});
  status = files_->Open(kCellSpace);
  if (status.ok()) status = files_->Open(kUndoSpace);
  if (!status.ok()) return status;
  status = Redo();
  if (!status.ok()) return status;
  UndoRecovery recovery(undo_.get());
  status = recovery.Run();
  if (!status.ok()) return status;
  EXPECT_LT(recovery.txn_max(), control_->data().next_txn_id);
  // A prepared transaction commits without asking for an id: its CSN may lie beyond the mark.
  manager_->SetNextIds(control_->data().next_txn_id,
                       std::max(control_->data().next_csn, Csn(recovery.csn_max().value() + 1)));
  manager_->Adopt(std::move(recovery.unfinished()));
  if (background) pool_->StartBackground();
  return Status::Ok();
}

Status UndoFixture::Redo() {
  const ControlData data = control_->data();
  const Lsn start = std::max(data.checkpoint_lsn, Log::kFirstLsn);
  LogReader::Group group;
  Status status;
  {
    auto reader = LogReader::Open(&file_system_, kFolder, data, start);
    if (!reader.ok()) return reader.status();
    while ((status = (*reader)->Next(&group)).ok()) {
    }
    if (!status.Is(Code::kEndOfRange)) return status;
    status = OpenAll((*reader)->end());
    if (!status.ok()) return status;
  }
  status = pool_->RepairFromDoublewrite();
  if (!status.ok()) return status;
  auto reader = LogReader::Open(&file_system_, kFolder, data, start);
  if (!reader.ok()) return reader.status();
  Redoer redoer(pool_.get());
  while ((status = (*reader)->Next(&group)).ok()) {
    status = redoer.Apply(group);
    if (!status.ok()) return status;
  }
  if (!status.Is(Code::kEndOfRange)) return status;
  pool_->EndRedo();
  status = allocator_->OpenSpace(kUndoSpace);
  if (!status.ok()) return status;
  for (const PageId id : redoer.suspended()) {
    Result<bool> allocated = allocator_->IsAllocated(id);
    if (!allocated.ok()) return allocated.status();
    if (allocated.value()) return Status(Code::kCorrupt, "redo does not fit", id.page.value());
  }
  return pool_->FlushAndCheckpoint();
}

void UndoFixture::Kill() {
  if (pool_ != nullptr) pool_->Close();
  manager_.reset();
  undo_.reset();
  allocator_.reset();
  pool_.reset();
  log_.reset();
  files_.reset();
  control_.reset();
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
  MiniTxn mini_txn(pool_.get());
  status = mini_txn.Start(1024);
  if (!status.ok()) return status;
  Result<MutablePage> page = mini_txn.Fix(kCellPage);
  if (!page.ok()) return page.status();
  const uint32_t offset = kFirstCell + cell * 8;
  const std::vector<std::byte> payload =
      CellPayload(cell, LoadLe<uint64_t>(page->bytes + offset));
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

Status UndoFixture::LogDrop(Txn* txn, UndoType type, const std::string& payload) {
  Status status = manager_->AssignId(txn);
  if (status.ok()) status = undo_log().EnsureRoom(txn, payload.size());
  if (!status.ok()) return status;
  MiniTxn mini_txn(pool_.get());
  status = mini_txn.Start(UndoLog::LogBytesMax(payload.size()) + 100);
  if (!status.ok()) return status;
  const Result<UndoPointer> pointer =
      undo_log().Append(&mini_txn, txn, type, IndexId(0), {AsBytes(payload)});
  if (!pointer.ok()) return pointer.status();
  mini_txn.Commit();
  return Status::Ok();
}

uint64_t UndoFixture::Cell(uint32_t cell) {
  Result<PageGuard> guard = pool_->Fix(kCellPage, LatchMode::kShared);
  EXPECT_TRUE(guard.ok());
  return LoadLe<uint64_t>(guard->page() + kFirstCell + cell * 8);
}

void UndoFixture::CheckAll() {
  uint32_t reached = 0;
  const Status status = UndoCheck(undo_.get()).Run([&reached](PageNumber) { ++reached; });
  EXPECT_TRUE(status.ok()) << status.message();
  Result<uint32_t> allocated = allocator_->CheckSpace(kUndoSpace);
  ASSERT_TRUE(allocated.ok()) << allocated.status().message();
  Result<SpaceStatistics> space = allocator_->Statistics(kUndoSpace);
  ASSERT_TRUE(space.ok()) << space.status().message();
  const uint32_t group_pages = GroupPages(page_size_);
  const uint32_t bitmap_pages = (space->file_pages + group_pages - 1) / group_pages;
  EXPECT_EQ(allocated.value(), 1 + bitmap_pages + reached) << "an undo page leaked";
}

Status UndoFixture::Undo(Txn* txn, const UndoRecordCopy& record, UndoPointer pointer) {
  if (on_undo) {
    const Status status = on_undo(record);
    if (!status.ok()) return status;
  }
  MiniTxn mini_txn(pool_.get());
  Status status = mini_txn.Start(1024);
  if (!status.ok()) return status;
  if (record.type == UndoType::kClusteredUpdate) {
    Result<MutablePage> page = mini_txn.Fix(kCellPage);
    if (!page.ok()) return page.status();
    const auto cell = LoadLe<uint32_t>(record.payload.data());
    // Both or nothing: whatever can fail comes before the first change.
    status = undo_log().DropLast(&mini_txn, txn, pointer);
    if (!status.ok()) return status;
    LogPageBytes(&mini_txn, *page, kFirstCell + cell * 8,
                 Bytes(record.payload).subspan(4, 8));
  } else {
    status = undo_log().DropLast(&mini_txn, txn, pointer);
    if (!status.ok()) return status;
  }
  mini_txn.Commit();
  return Status::Ok();
}

Status UndoFixture::Purge(TxnId, const UndoRecordCopy& record) {
  std::lock_guard lock(purged_mutex_);
  if (record.type == UndoType::kClusteredUpdate) {
    purged.push_back(fmt::format("{}={}", LoadLe<uint32_t>(record.payload.data()),
                                 LoadLe<uint64_t>(record.payload.data() + 4)));
  } else {
    purged.push_back(fmt::format("{}:{}", static_cast<int>(record.type),
                                 AsText(Bytes(record.payload))));
  }
  return Status::Ok();
}

}  // namespace rowan
