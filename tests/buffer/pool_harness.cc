// SPDX-License-Identifier: GPL-2.0-only
#include "tests/buffer/pool_harness.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "buffer/buffer_redo.h"
#include "buffer/page/page_header.h"
#include "buffer/redo_backlog.h"
#include "buffer/redo_worker.h"
#include "io/aligned_buffer.h"
#include "wal/log_reader.h"
#include "wal/redo.h"

namespace rowan {
namespace {

constexpr uint32_t kCounterOffset = kPageHeaderBytes;
constexpr uint32_t kChangeLogBytes = 256;

struct ScannedGroup {
  Lsn start;
  Lsn end;
  std::vector<std::byte> bytes;
};

Result<Lsn> ScanLog(FileSystem* file_system, const std::string& folder, const ControlData& control,
                    std::vector<ScannedGroup>* groups) {
  const Lsn start = std::max(control.checkpoint_lsn, Log::kFirstLsn);
  Result<std::unique_ptr<LogReader>> reader =
      LogReader::Open(file_system, folder, control, start);
  if (!reader.ok()) return reader.status();
  LogReader::Group group;
  for (;;) {
    const Status status = (*reader)->Next(&group);
    if (status.Is(Code::kEndOfRange)) return (*reader)->end();
    if (!status.ok()) return status;
    groups->push_back({group.start, group.end, {group.bytes.begin(), group.bytes.end()}});
  }
}

Status GatherGroup(const ScannedGroup& group, RedoBacklog* backlog) {
  GroupParser parser(group.bytes);
  RecordView record;
  Status status;
  while (parser.Next(&record, &status)) backlog->Add(record, group.start, group.end);
  return status;
}

}  // namespace

Result<std::unique_ptr<LogGroups>> PoolHarness::OpenLogGroups() {
  const ControlData control = control_->data();
  return LogGroups::Open(file_system_, options_.folder, control,
                         {std::max(control.checkpoint_lsn, Log::kFirstLsn), log_->tail()});
}

Result<LogRange> PoolHarness::AppendGroup(GroupBuilder* group) {
  const auto size_bytes = static_cast<uint32_t>(group->size_bytes());
  Status status = log_->ReserveOrWait(size_bytes);
  if (!status.ok()) return status;
  const Lsn end = log_->Append(group);
  log_->Release(size_bytes);
  status = log_->WaitWritten(end);
  if (!status.ok()) return status;
  return LogRange{Lsn(end.value() - size_bytes), end};
}

Status PoolHarness::OpenAll(Lsn log_end) {
  LogOptions log_options;
  log_options.folder = options_.folder;
  log_options.capacity_bytes = options_.log_capacity;
  log_options.buffer_bytes = uint64_t{1} << 20;
  log_options.sync_method = LogSyncMethod::kFdatasync;
  auto log = Log::Open(file_system_, log_options, control_.get(), log_end, [this] { ++stops_; });
  if (!log.ok()) return log.status();
  log_ = std::move(log).value();
  BufferOptions pool_options;
  pool_options.page_size_bytes = options_.page_size;
  pool_options.pool_bytes = uint64_t{options_.page_size} * options_.pool_pages;
  pool_options.doublewrite = options_.doublewrite;
  pool_options.background = options_.background;
  pool_options.cleaners = options_.cleaners;
  pool_options.session_writers = options_.session_writers;
  pool_options.idle_round_micros = options_.idle_round_micros;
  pool_options.io_backend = IoBackend::kThreads;
  auto pool = BufferPool::Open(pool_options, files_.get(), file_system_, log_.get(),
                               control_.get());
  if (!pool.ok()) return pool.status();
  pool_ = std::move(pool).value();
  return Status::Ok();
}

void PoolHarness::Create(bool with_pages) {
  RegisterBufferRedo();
  ASSERT_TRUE(file_system_->CreateFolder(options_.folder).ok());
  ASSERT_TRUE(file_system_->SyncDirectory("/").ok());
  ControlData data;
  data.page_size_bytes = options_.page_size;
  data.epoch = 1;
  auto control = ControlFile::Create(file_system_, options_.folder, data);
  ASSERT_TRUE(control.ok()) << control.status().message();
  control_ = std::move(control).value();
  files_ = std::make_unique<SpaceFiles>(
      file_system_, SpaceFiles::Options{.folder = options_.folder,
                                        .page_size_bytes = options_.page_size});
  ASSERT_TRUE(files_->Create(kSpace, options_.space_pages).ok());
  const Status status = OpenAll(kNoLsn);
  ASSERT_TRUE(status.ok()) << status.message();
  pool_->StartBackground();
  if (!with_pages) return;
  for (uint32_t page = 1; page < options_.space_pages; ++page) {
    ASSERT_TRUE(Init(page, 0).ok());
    // Without background nobody else makes room in the log.
    if (options_.background || page % 64 != 0) continue;
    ASSERT_TRUE(pool_->FlushAndCheckpoint().ok());
  }
  ASSERT_TRUE(pool_->FlushAndCheckpoint().ok());
}

Status PoolHarness::Start() {
  Kill();
  RegisterBufferRedo();
  stops_ = 0;
  auto control = ControlFile::Open(file_system_, options_.folder);
  if (!control.ok()) return control.status();
  control_ = std::move(control).value();
  Status status = control_->Update([](ControlData& data) { ++data.epoch; });
  if (!status.ok()) return status;
  files_ = std::make_unique<SpaceFiles>(
      file_system_, SpaceFiles::Options{.folder = options_.folder,
                                        .page_size_bytes = options_.page_size});
  status = files_->Open(kSpace);
  if (!status.ok()) return status;
  std::vector<ScannedGroup> groups;
  const Result<Lsn> end = ScanLog(file_system_, options_.folder, control_->data(), &groups);
  if (!end.ok()) return end.status();
  recovered_end_ = end.value();
  status = OpenAll(recovered_end_);
  if (!status.ok()) return status;
  status = pool_->RepairFromDoublewrite();
  RedoBacklog backlog;
  for (const ScannedGroup& group : groups) {
    if (status.ok()) status = GatherGroup(group, &backlog);
  }
  backlog.Finish();
  if (!status.ok()) return status;
  Result<std::unique_ptr<LogGroups>> log = OpenLogGroups();
  if (!log.ok()) return log.status();
  backlog.SetLog(log->get());
  pool_->BeginRedo(&backlog);
  std::vector<RedoWorker::Failure> failures;
  status = RedoWorker(pool_.get(), 1, uint64_t{1} << 20).Run(backlog.PendingPages(), &failures);
  pool_->EndRedo();
  for (const RedoWorker::Failure& failure : failures) {
    (void)pool_->Fix(PageId::Unpack(failure.page), LatchMode::kShared);  // for its sentence
    if (status.ok()) status = failure.status;
  }
  if (status.ok()) status = pool_->FlushAndCheckpoint();
  if (status.ok()) pool_->StartBackground();
  return status;
}

void PoolHarness::Kill() {
  pool_.reset();
  log_.reset();
  files_.reset();
  control_.reset();
}

void PoolHarness::Change(MiniTxn* mini_txn, const MutablePage& page, uint64_t counter) const {
  std::byte bytes[8];
  StoreLe<uint64_t>(bytes, counter);
  LogPageBytes(mini_txn, page, kCounterOffset, bytes);
  LogPageBytes(mini_txn, page, options_.page_size - 8, bytes);
}

Result<Lsn> PoolHarness::Init(uint32_t page, uint64_t counter) {
  MiniTxn mini_txn(pool_.get());
  const Status status = mini_txn.Start(kChangeLogBytes);
  if (!status.ok()) return status;
  Result<MutablePage> fixed = mini_txn.FixNew(Id(page));
  if (!fixed.ok()) return fixed.status();
  InitPageHeader({fixed->bytes, options_.page_size}, Id(page), PageType::kTreeNode, 1, IndexId(1));
  StoreLe<uint64_t>(fixed->bytes + kCounterOffset, counter);
  StoreLe<uint64_t>(fixed->bytes + options_.page_size - 8, counter);
  LogPageImage(&mini_txn, *fixed);
  return mini_txn.Commit();
}

Result<Lsn> PoolHarness::Add(uint32_t page, uint64_t amount) {
  MiniTxn mini_txn(pool_.get());
  const Status status = mini_txn.Start(kChangeLogBytes);
  if (!status.ok()) return status;
  Result<MutablePage> fixed = mini_txn.Fix(Id(page));
  if (!fixed.ok()) return fixed.status();
  Change(&mini_txn, *fixed, CounterOf(fixed->bytes) + amount);
  return mini_txn.Commit();
}

uint64_t PoolHarness::CounterOf(const std::byte* page) const {
  const auto first = LoadLe<uint64_t>(page + kCounterOffset);
  const auto last = LoadLe<uint64_t>(page + options_.page_size - 8);
  EXPECT_EQ(first, last) << "half a change is visible";
  return first;
}

Result<uint64_t> PoolHarness::Read(uint32_t page, FixHint hint) {
  Result<PageGuard> guard = pool_->Fix(Id(page), LatchMode::kShared, hint);
  if (!guard.ok()) return guard.status();
  EXPECT_EQ(PageIdOf(guard->page()), Id(page));
  return CounterOf(guard->page());
}

std::vector<std::byte> PoolHarness::ReadHome(uint32_t page) {
  AlignedBuffer buffer(options_.page_size);
  EXPECT_TRUE(files_->ReadPage(Id(page), buffer.span()).ok());
  return {buffer.data(), buffer.data() + buffer.size()};
}

void PoolHarness::WriteHome(uint32_t page, const std::vector<std::byte>& image) {
  AlignedBuffer buffer(options_.page_size);
  std::copy(image.begin(), image.end(), buffer.data());
  EXPECT_TRUE(files_->WritePage(Id(page), buffer.span()).ok());
}

}  // namespace rowan
