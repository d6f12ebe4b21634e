// SPDX-License-Identifier: GPL-2.0-only
#include "tests/engine/crash_program.h"

#include <chrono>
#include <thread>

#include "base/counters.h"
#include "tests/engine/crash_faults.h"

namespace rowan {
namespace {

constexpr uint32_t kCrashesDuringRecoveryMax = 2;
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
constexpr uint32_t kManyIds = 200;
constexpr uint32_t kLongOneIn = 6;
constexpr uint64_t kFewFrames = 64;
constexpr uint32_t kTemporaryTransactions = 12;

/// Now and then undo that grows so much that its space can be given back.
CrashProgramSettings DrawHugeUndo(CrashProgramSettings settings, Random* random) {
  settings.huge_undo = random->OneIn(8);
  if (!settings.huge_undo) return settings;
  settings.worker.long_operations = kHugeOperations;
  settings.worker.text_bytes_max = std::max(settings.worker.text_bytes_max, kHugeTextBytesMax);
  settings.worker.blob_bytes_max = kHugeBlobBytesMax;
  return settings;
}

/// So that its pages leave the pool, and rollback has to read them.
CrashProgramSettings WithRowsOfManyPages(CrashProgramSettings settings) {
  settings.worker.ids = std::max(settings.worker.ids, kManyIds);
  settings.worker.text_bytes_max =
      std::max(settings.worker.text_bytes_max, TestPageSizeBytes() / 8);
  settings.worker.long_one_in = kLongOneIn;
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
      variation_random_(seed * 1000 + 996),
      variations_(settings.failed_syncs ? CrashVariations() : DrawVariations(&variation_random_)),
      settings_(DrawHugeUndo(variations_.rollback_faults ? WithRowsOfManyPages(settings) : settings,
                             &random_)),
      world_(seed),
      context_(&world_),
      ddl_(seed * 1000 + 999),
      backups_(seed * 1000 + 997, settings.backups != 0 ? settings.backups : seed % 8 == 5),
      temporary_(seed * 1000 + 995) {
  for (uint32_t i = 0; i < settings_.worker.workers; ++i) {
    workers_.emplace_back(i, seed * 1000 + i, settings_.worker);
    if (backups_.wanted()) workers_.back().RememberForBackups();
  }
  EngineOptions& options = world_.options;
  // Small enough that checkpoints, recycling and eviction happen within one round.
  options.storage.log.capacity_bytes = uint64_t{1} << 20;
  options.storage.log.buffer_bytes = uint64_t{1} << 16;
  options.storage.buffer.pool_bytes = std::min<uint64_t>(
      options.storage.buffer.pool_bytes,
      (variations_.rollback_faults ? kFewFrames : uint64_t{256}) * options.storage.page_size_bytes);
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
  ddl_.set_variations(variations_);
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
  SCOPED_TRACE(Describe(variations_));
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
  if (kind != CrashKind::kHealed) {
    // What only the process had to survive may be lost when the power goes after all.
    if (ReopenThroughCrashes() > 0 && kind == CrashKind::kProcess) kind = CrashKind::kPower;
    if (world_.engine == nullptr) return;
    CrashTemporary::ExpectNoFiles(&world_);
  }
  WaitForRollback();
  CheckBackups();
  Compare(kind);
}

CrashProgram::Ending CrashProgram::PrepareEnding(uint32_t round) {
  uint64_t changes =
      uint64_t{settings_.worker.workers} * settings_.transactions * 8 + 40 * kDdlTransactions;
  if (settings_.huge_undo) changes *= 3;
  const uint64_t dice = settings_.failed_syncs ? 0 : random_.Below(20);
  may_stop_ = variations_.unmounts;  // a page of a file that has to be opened again
  context_.Reset(variations_.unmounts);
  if (settings_.failed_syncs && round % 2 == 0) {
    context_.Reset(true);
    world_.files.Inject(DrawFailedSync(&random_, static_cast<uint32_t>(changes / 8)));
    return Ending::kFailedSync;
  }
  if (variations_.rollback_faults || variations_.heals) {
    return PrepareFaults(static_cast<uint32_t>(changes / 4));
  }
  if (dice < 10) {
    // Anywhere from the first write to well behind the usual end of the round.
    world_.files.PowerOffAfter(random_.Below(changes));
    return Ending::kPower;
  }
  if (dice < 13) return Ending::kProcess;
  if (dice < 14) return Ending::kClean;
  return PrepareFaults(static_cast<uint32_t>(changes / 4));
}

CrashProgram::Ending CrashProgram::PrepareFaults(uint32_t calls_max) {
  context_.Reset(true);
  if (variations_.rollback_faults) {
    InjectFaultsInRollback();
  } else {
    InjectFaults(calls_max);
  }
  return variations_.heals ? Ending::kHealing : Ending::kFaults;
}

void CrashProgram::InjectFaultsInRollback() {
  constexpr uint32_t kRollbacks[] = {8, 2};  // about so many of each kind in a round
  for (const RollbackOf of : {RollbackOf::kRows, RollbackOf::kDdl}) {
    const uint32_t count = kRollbacks[static_cast<size_t>(of)];
    const auto nth = static_cast<uint32_t>(1 + variation_random_.Below(count));
    const InjectedFault fault = DrawRollbackFault(&variation_random_, of);
    may_stop_ |= MayStop(fault);
    context_.InjectInRollback(of, nth, fault);
  }
}

void CrashProgram::InjectFaults(uint32_t calls_max) {
  for (uint64_t count = 1 + random_.Below(2); count > 0; --count) {
    const InjectedFault fault = DrawFault(&random_, calls_max);
    may_stop_ |= MayStop(fault);
    world_.files.Inject(fault);
  }
  // Only these programs make holes, and few of them.
  if (settings_.huge_undo) world_.files.Inject({.call = FileCall::kPunch});
  if (!random_.OneIn(2)) return;
  may_stop_ = true;
  world_.files.queue_faults()->Inject(DrawQueueFault(&random_));
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
  if (variations_.temporary) {
    threads.emplace_back([this] { temporary_.Work(&context_, kTemporaryTransactions); });
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
    if (variations_.unmounts) MountOrUnmount(&random);
  }
  mounted_ = true;
  world_.files.Unmount("");
}

void CrashProgram::MountOrUnmount(Random* random) {
  if (!random->OneIn(mounted_ ? 20 : 5)) return;
  mounted_ = !mounted_;
  world_.files.Unmount(mounted_ ? "" : kCrashDirectory);
}

Status CrashProgram::MakeHoles() {
  // What housekeeping does once a second and beyond many megabytes.
  return world_.engine->impl()->storage->allocator()->GiveBack(kUndoSpace, 0, 4).status();
}

CrashKind CrashProgram::End(Ending ending) {
  if (ending == Ending::kHealing) return Heal();
  temporary_.Close(&context_);
  switch (ending) {
    case Ending::kHealing: break;
    case Ending::kProcess: world_.engine.reset(); return CrashKind::kProcess;
    case Ending::kClean: {
      const Status closed = world_.Shutdown();
      EXPECT_TRUE(closed.ok() || may_stop_) << closed.message();
      if (!closed.ok()) return CrashKind::kProcess;
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

}  // namespace rowan
