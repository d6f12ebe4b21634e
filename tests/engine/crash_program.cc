// SPDX-License-Identifier: GPL-2.0-only
#include "tests/engine/crash_program.h"

#include <algorithm>
#include <thread>

namespace rowan {
namespace {

constexpr uint32_t kOperationsMax = 8;
constexpr uint32_t kCrashesDuringRecoveryMax = 2;

}  // namespace

CrashProgram::CrashProgram(uint64_t seed, const CrashProgramSettings& settings)
    : seed_(seed), settings_(settings), random_(seed), world_(seed) {
  workers_.resize(settings.threads);
  for (uint32_t i = 0; i < settings.threads; ++i) {
    workers_[i].number = i;
    workers_[i].random = Random(seed * 1000 + i);
    workers_[i].history.emplace_back();
  }
  world_.options.doublewrite = DoublewriteMode::kOn;
  // Small enough that checkpoints and recycling happen within one round.
  world_.options.redo_log_capacity_bytes = uint64_t{1} << 20;
  world_.options.log_buffer_bytes = uint64_t{1} << 18;
}

void CrashProgram::Run() {
  SCOPED_TRACE("crash program seed " + std::to_string(seed_));
  ASSERT_TRUE(world_.Open().ok());
  const std::shared_ptr<Table> table = world_.CreateTable("test/crash");
  ASSERT_NE(table, nullptr);
  table_ = table->id();
  for (uint32_t round = 0; round < settings_.rounds && !::testing::Test::HasFailure(); ++round) {
    Round(round);
  }
}

void CrashProgram::Round(uint32_t round) {
  SCOPED_TRACE("round " + std::to_string(round));
  {
    Result<std::shared_ptr<Table>> table = world_.engine->OpenTable(table_);
    ASSERT_TRUE(table.ok()) << table.status().message();
    // Anywhere from the first write to well behind the usual end of the round.
    world_.files.PowerOffAfter(random_.Below(settings_.threads * settings_.transactions * 6));
    std::vector<std::thread> threads;
    for (Worker& worker : workers_) {
      threads.emplace_back([this, &worker, open = *table] { Work(&worker, open.get()); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  world_.Crash(random_.Next());
  ReopenThroughCrashes();
  if (world_.engine == nullptr) return;
  Result<std::shared_ptr<Table>> table = world_.engine->OpenTable(table_);
  ASSERT_TRUE(table.ok()) << table.status().message();
  Compare(table->get());
}

void CrashProgram::ReopenThroughCrashes() {
  for (uint32_t i = random_.Below(kCrashesDuringRecoveryMax + 1); i > 0; --i) {
    world_.files.PowerOffAfter(random_.Below(60));
    world_.Open().Ignore();  // may fail or get through; either way the power goes next
    world_.Crash(random_.Next());
  }
  const Status status = world_.Open();
  EXPECT_TRUE(status.ok()) << "recovery failed: " << status.message() << "; "
                           << world_.files.Describe();
}

void CrashProgram::Work(Worker* worker, Table* table) {
  std::unique_ptr<Session> session = world_.engine->NewSession();
  for (uint32_t i = 0; i < settings_.transactions; ++i) {
    if (!Transaction(worker, table, session.get())) return;
  }
}

bool CrashProgram::Transaction(Worker* worker, Table* table, Session* session) {
  Random& random = worker->random;
  session->Begin(random.Below(2) == 0 ? IsolationLevel::kReadCommitted
                                      : IsolationLevel::kRepeatableRead);
  ToyRows rows = worker->rows;
  const uint32_t operations = 1 + random.Below(kOperationsMax);
  for (uint32_t i = 0; i < operations; ++i) {
    const UndoPosition savepoint = session->Savepoint();
    const ToyRows before = rows;
    if (!Operation(worker, table, session, &rows).ok()) return false;
    if (random.Below(8) != 0) continue;
    if (!session->RollbackTo(savepoint).ok()) return false;
    rows = before;
  }
  if (random.Below(6) == 0) return session->Rollback().ok();
  const auto durability = static_cast<Durability>(random.Below(3));
  worker->rows = rows;
  worker->history.push_back(rows);
  if (!session->Commit(durability, true).ok()) return false;
  if (durability == Durability::kDurable) {
    worker->history.erase(worker->history.begin(), worker->history.end() - 1);
  }
  return true;
}

ToyRow CrashProgram::RandomRow(Worker* worker, uint64_t id) {
  ToyRow row;
  row.value = static_cast<uint32_t>(worker->random.Below(5));
  // Unique by construction, but changing, so that unique entries come and go.
  row.unique = static_cast<uint32_t>(id * 4 + worker->random.Below(4));
  row.text.assign(worker->random.Below(settings_.text_bytes_max),
                  static_cast<char>('a' + worker->random.Below(26)));
  return row;
}

Status CrashProgram::Operation(Worker* worker, Table* table, Session* session, ToyRows* rows) {
  const uint64_t id =
      1 + worker->number + settings_.threads * worker->random.Below(settings_.ids_per_thread);
  const auto found = rows->find(id);
  Status status;
  if (found == rows->end()) {
    const ToyRow row = RandomRow(worker, id);
    status = EngineWorld::Insert(session, table, id, row);
    if (status.ok()) (*rows)[id] = row;
  } else if (worker->random.Below(3) == 0) {
    status = EngineWorld::Delete(session, table, id, found->second);
    if (status.ok()) rows->erase(found);
  } else {
    const ToyRow row = RandomRow(worker, id);
    status = EngineWorld::Update(session, table, id, found->second, row);
    if (status.ok()) found->second = row;
  }
  // Ids are private to the thread: only the power cut may stop it.
  EXPECT_TRUE(status.ok() || world_.files.powered_off())
      << CodeName(status.code()) << ": " << status.message();
  return status;
}

void CrashProgram::Compare(Table* table) {
  const ToyRows all = world_.ReadAll(table);
  for (Worker& worker : workers_) {
    ToyRows mine;
    for (const auto& [id, row] : all) {
      if ((id - 1) % settings_.threads == worker.number) mine[id] = row;
    }
    const auto state = std::find(worker.history.begin(), worker.history.end(), mine);
    EXPECT_TRUE(state != worker.history.end())
        << "thread " << worker.number << ": the rows after recovery are none of the "
        << worker.history.size() << " states since the last durable commit; "
        << world_.files.Describe();
    worker.rows = mine;
    worker.history = {mine};
  }
  world_.CheckTable(table, all);
}

}  // namespace rowan
