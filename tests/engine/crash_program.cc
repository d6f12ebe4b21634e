// SPDX-License-Identifier: GPL-2.0-only
#include "tests/engine/crash_program.h"

#include <chrono>
#include <thread>

#include "base/counters.h"
#include "tests/engine/crash_faults.h"

namespace rowan {
namespace {

constexpr uint32_t kCrashesDuringRecoveryMax = 2;
/// Looks at rollback, each half a millisecond: a minute, which no machine is too busy for.
constexpr int kRollbackLooksMax = 120'000;
/// Changes that a start makes at least; a cut is chosen below.
constexpr uint64_t kChangesOfRecovery = 60;
/// Far enough for the power to go in the work behind it.
constexpr uint64_t kChangesWhileServing = 500;
constexpr uint32_t kDdlTransactions = 6;
constexpr size_t kManyTables = 20;
/// With values of this size a transaction fills more than an extent of undo.
constexpr uint32_t kHugeOperations = 1500;
constexpr uint32_t kHugeTextBytesMax = 1500;
constexpr uint32_t kHugeBlobBytesMax = 100;

/// Now and then undo that grows so much that its space can be given back.
CrashProgramSettings DrawHugeUndo(CrashProgramSettings settings, Random* random) {
  settings.huge_undo = random->OneIn(8);
  if (!settings.huge_undo) return settings;
  settings.worker.long_operations = kHugeOperations;
  settings.worker.text_bytes_max = std::max(settings.worker.text_bytes_max, kHugeTextBytesMax);
  settings.worker.blob_bytes_max = kHugeBlobBytesMax;
  return settings;
}

/// Log files of 64 KiB to 512 KiB; mostly the smallest, so that they are recycled within a round.
uint64_t AnyCapacity(Random* random) {
  return uint64_t{1} << (random->OneIn(2) ? 20 : 20 + random->Below(4));
}

}  // namespace

CrashProgram::CrashProgram(uint64_t seed, const CrashProgramSettings& settings)
    : seed_(seed),
      stale_before_(ReadCounter(Counter::kStalePages)),
      random_(seed),
      settings_(DrawHugeUndo(settings, &random_)),
      world_(seed),
      context_(&world_),
      ddl_(seed * 1000 + 999),
      backups_(seed * 1000 + 997, settings.backups != 0 ? settings.backups : seed % 8 == 5) {
  for (uint32_t i = 0; i < settings_.worker.workers; ++i) {
    workers_.emplace_back(i, seed * 1000 + i, settings_.worker);
    if (backups_.wanted()) workers_.back().RememberForBackups();
  }
  EngineOptions& options = world_.options;
  // Small enough that checkpoints, recycling and eviction happen within one round.
  options.storage.log.capacity_bytes = uint64_t{1} << 20;
  options.storage.log.buffer_bytes = uint64_t{1} << 16;
  options.storage.buffer.pool_bytes = std::min<uint64_t>(
      options.storage.buffer.pool_bytes, uint64_t{256} * options.storage.page_size_bytes);
  options.txns.lock_memory_bytes_max = uint64_t{1} << 20;
  options.txns.commit_ring_entries = 64;
  options.txns.old_snapshot_ms = seed % 2 == 0 ? 0 : 50;
  if (seed % 3 != 0) options.txns.rollback_records_alone = seed % 3 * 4;
  options.storage.buffer.doublewrite = DoublewriteMode::kOn;
  if (random_.OneIn(8)) {
    world_.files.SetAtomicWriteUnitMax(options.storage.page_size_bytes);
    options.storage.buffer.doublewrite = DoublewriteMode::kAtomic;
  }
  // What production chooses by the machine: from one thread and one handle upwards.
  options.storage.buffer.cleaners = static_cast<uint32_t>(random_.Below(4));
  options.storage.buffer.session_writers = options.storage.buffer.cleaners;
  options.purge.workers = static_cast<uint32_t>(1 + random_.Below(3));
  options.storage.files.open_files_max =
      random_.OneIn(3) ? static_cast<uint32_t>(1 + random_.Below(3)) : 0;
  if (random_.OneIn(16)) ddl_.set_tables_max(kManyTables);
  if (random_.OneIn(3)) DoAsynchronousRequests();
}

void CrashProgram::DoAsynchronousRequests() {
  world_.files.SetAsynchronous(true);
  world_.files.queue_faults()->SetOneIn(static_cast<uint32_t>(8 + random_.Below(56)));
  world_.options.storage.buffer.io_backend =
      random_.OneIn(2) ? IoBackend::kUring : IoBackend::kLibaio;
  if (random_.OneIn(2)) world_.options.storage.log.sync_method = LogSyncMethod::kUring;
}

void CrashProgram::Run() {
  SCOPED_TRACE(world_.options.storage.buffer.doublewrite == DoublewriteMode::kAtomic
                   ? "untorn writes"
                   : "with doublewrite");
  ASSERT_TRUE(world_.Open().ok());
  CreateTables();
  for (uint32_t round = 0; round < settings_.rounds && !::testing::Test::HasFailure(); ++round) {
    Round(round);
  }
  ExpectNoStalePage();
}

void CrashProgram::ExpectNoStalePage() const {
  // No write is dropped, so no page may be taken for one that went back.
  EXPECT_EQ(ReadCounter(Counter::kStalePages), stale_before_) << "a false alarm";
}

void CrashProgram::CreateTables() {
  const std::shared_ptr<Table> table = world_.CreateTable("test/crash");
  ASSERT_NE(table, nullptr);
  table_ = table->id();
  std::unique_ptr<Session> session = world_.engine->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
  for (uint32_t hot = 0; hot < kHotRows; ++hot) {
    ASSERT_TRUE(
        EngineFixture::Insert(session.get(), table.get(), kHotRowFirst + hot, MakeHotRow(hot, {}))
            .ok());
  }
  ASSERT_TRUE(session->Commit().ok());
}

void CrashProgram::Round(uint32_t round) {
  Ending ending;
  {
    Result<std::shared_ptr<Table>> table = world_.engine->OpenTable(table_);
    ASSERT_TRUE(table.ok()) << table.status().message();
    ending = PrepareEnding(round);
    RunThreads(table->get());
  }
  SCOPED_TRACE("round " + std::to_string(round) + " with ending " +
               std::to_string(static_cast<int>(ending)) + "; " + world_.files.Describe());
  CrashKind kind = End(ending);
  // What only the process had to survive may be lost when the power goes after all.
  if (ReopenThroughCrashes() > 0 && kind == CrashKind::kProcess) kind = CrashKind::kPower;
  if (world_.engine == nullptr) return;
  WaitForRollback();
  CheckBackups();
  Compare(kind);
}

CrashProgram::Ending CrashProgram::PrepareEnding(uint32_t round) {
  uint64_t changes =
      uint64_t{settings_.worker.workers} * settings_.transactions * 8 + 40 * kDdlTransactions;
  if (settings_.huge_undo) changes *= 3;
  const uint64_t dice = settings_.failed_syncs ? 0 : random_.Below(20);
  context_.Reset(false);
  if (settings_.failed_syncs && round % 2 == 0) {
    context_.Reset(true);
    world_.files.Inject(DrawFailedSync(&random_, static_cast<uint32_t>(changes / 8)));
    return Ending::kFailedSync;
  }
  if (dice < 10) {
    // Anywhere from the first write to well behind the usual end of the round.
    world_.files.PowerOffAfter(random_.Below(changes));
    return Ending::kPower;
  }
  if (dice < 13) return Ending::kProcess;
  if (dice < 14) return Ending::kClean;
  context_.Reset(true);
  InjectFaults(static_cast<uint32_t>(changes / 4));
  return Ending::kFaults;
}

void CrashProgram::InjectFaults(uint32_t calls_max) {
  for (uint64_t count = 1 + random_.Below(2); count > 0; --count) {
    world_.files.Inject(DrawFault(&random_, calls_max));
  }
  // Only these programs make holes, and few of them.
  if (settings_.huge_undo) world_.files.Inject({.call = FileCall::kPunch});
  if (random_.OneIn(2)) world_.files.queue_faults()->Inject(DrawQueueFault(&random_));
}

void CrashProgram::RunThreads(Table* table) {
  working_.store(true);
  // Now and then nothing may be purged, so that undo gets long before the end.
  std::unique_ptr<Session> old_reader;
  if (random_.OneIn(4)) {
    old_reader = world_.engine->NewSession();
    old_reader->Begin(IsolationLevel::kRepeatableRead);
    old_reader->OpenSnapshot();
  }
  std::thread maintenance([this, table] { Maintain(table); });
  std::thread backups;
  if (backups_.wanted()) backups = std::thread([this] { backups_.Work(&context_, working_); });
  std::vector<std::thread> threads;
  for (CrashWorker& worker : workers_) {
    threads.emplace_back(
        [this, &worker, table] { worker.Work(&context_, table, settings_.transactions); });
  }
  if (settings_.ddl) {
    threads.emplace_back([this] { ddl_.Work(&context_, kDdlTransactions); });
  }
  for (std::thread& thread : threads) thread.join();
  working_.store(false);
  maintenance.join();
  if (backups.joinable()) backups.join();
}

void CrashProgram::Maintain(Table* table) {
  Random random(seed_ * 1000 + 998);
  Engine* engine = world_.engine.get();
  while (working_.load() && !engine->stopped()) {
    Status status;
    switch (random.Below(9)) {
      case 0:
      case 1: status = engine->impl()->storage->pool()->FlushAndCheckpoint(); break;
      case 2: status = engine->FlushLog(); break;
      case 3: {
        constexpr LogSyncMethod kMethods[] = {LogSyncMethod::kFsync, LogSyncMethod::kFdatasync,
                                              LogSyncMethod::kDsync, LogSyncMethod::kDirectDsync,
                                              LogSyncMethod::kUring};
        status = engine->SetLogSyncMethod(kMethods[random.Below(std::size(kMethods))]);
        break;
      }
      case 4: status = engine->SetRedoLogCapacity(AnyCapacity(&random)); break;
      case 5: {
        const uint64_t frames = 64 + random.Below(200);
        status = engine->SetBufferPoolBytes(frames * engine->options().storage.page_size_bytes);
        if (status.Is(Code::kBusy)) status = Status::Ok();
        break;
      }
      case 6: status = engine->CheckSpace(table, FindToyBlobs); break;
      case 7: status = MakeHoles(); break;
      default: std::this_thread::sleep_for(std::chrono::microseconds(random.Below(2000)));
    }
    EXPECT_TRUE(status.ok() || context_.MayFail())
        << "maintenance: " << CodeName(status.code()) << ": " << status.message();
    if (context_.MayFail() && !status.ok()) std::this_thread::yield();
  }
}

Status CrashProgram::MakeHoles() {
  // What housekeeping does once a second and beyond many megabytes.
  return world_.engine->impl()->storage->allocator()->GiveBack(kUndoSpace, 0, 4).status();
}

CrashKind CrashProgram::End(Ending ending) {
  switch (ending) {
    case Ending::kProcess: world_.engine.reset(); return CrashKind::kProcess;
    case Ending::kClean: {
      const Status closed = world_.Shutdown();
      EXPECT_TRUE(closed.ok()) << closed.message();
      return CrashKind::kClean;
    }
    case Ending::kFaults:
      if (random_.OneIn(2)) break;
      [[fallthrough]];
    case Ending::kFailedSync:
      // The server is started again and the machine stays on: what a failed sync left in the page
      // cache looks whole, is taken for clean by the kernel, and is not on the disk.
      world_.engine.reset();
      world_.files.ClearFaults();
      return CrashKind::kProcess;
    case Ending::kPower: break;
  }
  world_.Crash(random_.Next());
  return CrashKind::kPower;
}

void CrashProgram::ChooseRedo() {
  EngineOptions& options = world_.options;
  options.storage.recovery.workers = static_cast<uint32_t>(random_.Below(4));
  // From a stretch for each group of the log to one for all of it.
  options.storage.recovery.memory_bytes_max =
      random_.OneIn(2) ? 0 : uint64_t{1024} << random_.Below(10);
  options.storage.log.capacity_bytes = AnyCapacity(&random_);
}

uint64_t CrashProgram::ReopenThroughCrashes() {
  const uint64_t crashes =
      settings_.failed_syncs ? 0 : random_.Below(kCrashesDuringRecoveryMax + 1);
  for (uint64_t i = 0; i < crashes; ++i) {
    // May fail or get through; either way the power goes next.
    if (random_.OneIn(3)) {
      InjectFaults(kChangesOfRecovery);
    } else {
      world_.files.PowerOffAfter(
          random_.Below(random_.OneIn(2) ? kChangesOfRecovery : kChangesWhileServing));
    }
    ChooseRedo();
    context_.Reset(true);
    const Status status = world_.Open();
    EXPECT_FALSE(status.Is(Code::kCorrupt)) << status.message();
    if (status.ok() && ResolvePrepared().ok()) WorkAtOnce();
    world_.Crash(random_.Next());
  }
  context_.Reset(false);
  ChooseRedo();
  Status status = world_.Open();
  EXPECT_TRUE(status.ok()) << "recovery failed: " << CodeName(status.code()) << ": "
                           << status.message();
  if (status.ok()) status = ResolvePrepared();
  EXPECT_TRUE(status.ok()) << status.message();
  if (status.ok()) WorkAtOnce();
  return crashes;
}

void CrashProgram::WorkAtOnce() {
  constexpr uint64_t kFreeIds = uint64_t{1} << 20;  // of no worker
  constexpr uint64_t kRows = 20;
  Engine* engine = world_.engine.get();
  Result<std::shared_ptr<Table>> table = engine->OpenTable(table_);
  Status status = table.status();
  for (uint64_t turn = random_.Below(4); turn > 0 && status.ok(); --turn) {
    std::unique_ptr<Session> session = engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    for (uint64_t row = random_.Below(kRows); row > 0 && status.ok(); --row) {
      const uint64_t id = kFreeIds + row;
      status = EngineFixture::Insert(session.get(), table->get(), id,
                                     {.value = 0,
                                      .unique = static_cast<uint32_t>(id * 4),
                                      .text = std::string(random_.Below(600), 'w'),
                                      .blob = std::string(random_.OneIn(8) ? 5000 : 0, 'W')});
    }
    const Status undone = session->Rollback();
    if (status.ok()) status = undone;
    if (status.ok() && random_.OneIn(2)) {
      status = engine->impl()->storage->pool()->FlushAndCheckpoint();
    }
    if (status.ok() && random_.OneIn(2)) {
      status = engine->CheckIndex(table->get(), random_.Below((*table)->index_count()), {});
    }
  }
  EXPECT_TRUE(status.ok() || context_.MayFail())
      << "at once: " << CodeName(status.code()) << ": " << status.message();
}

Status CrashProgram::ResolvePrepared() {
  for (const std::string& xid : world_.engine->PreparedXids()) {
    const bool decided =
        std::any_of(workers_.begin(), workers_.end(),
                    [&xid](const CrashWorker& worker) { return worker.Decided(xid); });
    const Status status = decided ? world_.engine->CommitPrepared(xid, Durability::kDurable)
                                  : world_.engine->RollbackPrepared(xid);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

void CrashProgram::WaitForRollback() {
  const auto unfinished = [this] {
    for (const TxnInfo& txn : world_.engine->Transactions()) {
      if (txn.recovered) return true;
    }
    return false;
  };
  for (int i = 0; i < kRollbackLooksMax && unfinished(); ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  EXPECT_FALSE(unfinished()) << "a loser was not rolled back";
}

void CrashProgram::WaitForPurge() {
  for (int i = 0; i < 20000 && world_.engine->Figures().purge.history_length != 0; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
}

void CrashProgram::CheckHoles() {
  WaitForPurge();
  world_.files.Inject({.call = FileCall::kPunch});
  MakeHoles().Ignore();  // housekeeping may have met the fault
  world_.files.ClearFaults();
  const Status holes = MakeHoles();
  EXPECT_TRUE(holes.ok()) << holes.message();
}

void CrashProgram::CheckBackups() {
  const std::string folder = world_.options.storage.folder;
  std::unique_ptr<Engine> original = std::move(world_.engine);
  for (const CrashBackups::Finished& backup : backups_.TakeFinished()) {
    SCOPED_TRACE("the copy in " + backup.chain.back());
    // What a crash brings back of one that was removed is not in the way.
    world_.options.storage.folder = "/restored_" + std::to_string(copies_made_++);
    RestoreChain(&world_.files, backup.chain, world_.options.storage.folder);
    if (::testing::Test::HasFailure()) break;
    CheckCopy(backup.end);
    RemoveFolder(&world_.files, world_.options.storage.folder);
    ++copies_checked_;
  }
  world_.options.storage.folder = folder;
  world_.engine = std::move(original);
}

void CrashProgram::CheckCopy(Lsn end) {
  ASSERT_TRUE(world_.Open().ok());
  EXPECT_TRUE(world_.engine->restored());
  // What was about to commit was not committed when the backup ended.
  for (const std::string& xid : world_.engine->PreparedXids()) {
    EXPECT_TRUE(world_.engine->RollbackPrepared(xid).ok()) << xid;
  }
  EXPECT_TRUE(world_.engine->EndRestore().ok());
  WaitForRollback();
  {
    Result<std::shared_ptr<Table>> table = world_.engine->OpenTable(table_);
    ASSERT_TRUE(table.ok()) << table.status().message();
    const ToyRows all = world_.ReadAll(table->get());
    for (const CrashWorker& worker : workers_) worker.CheckCopy(all, end);
    world_.CheckTable(table->get(), all);
  }
  ddl_.CheckCopy(&world_, table_, end);
  const Status system = world_.engine->CheckSystem();
  EXPECT_TRUE(system.ok()) << system.message();
  EXPECT_TRUE(world_.Shutdown().ok());
}

void CrashProgram::Compare(CrashKind kind) {
  Result<std::shared_ptr<Table>> table = world_.engine->OpenTable(table_);
  ASSERT_TRUE(table.ok()) << table.status().message();
  const ToyRows all = world_.ReadAll(table->get());
  for (CrashWorker& worker : workers_) worker.Settle(all, kind);
  for (uint32_t hot = 0; hot < kHotRows; ++hot) {
    const auto row = all.find(kHotRowFirst + hot);
    ASSERT_NE(row, all.end());
    for (const CrashWorker& worker : workers_) worker.CheckHot(hot, ParseHotRow(row->second));
  }
  world_.CheckTable(table->get(), all);
  ddl_.Settle(&world_, table_, kind);
  if (settings_.huge_undo) CheckHoles();
  const Status system = world_.engine->CheckSystem();
  EXPECT_TRUE(system.ok()) << system.message();
}

}  // namespace rowan
