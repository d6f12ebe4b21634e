// SPDX-License-Identifier: GPL-2.0-only
#include "tests/engine/crash_ddl.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <unordered_set>

#include "engine/build/index_build.h"
#include "engine/catalog/orphan_files.h"
#include "tests/engine/toy_index_codec.h"

namespace rowan {
namespace {

constexpr uint32_t kRowsMax = 12;
constexpr uint32_t kManyRows = 300;  // now and then: trees of several pages
constexpr size_t kSortBytes = 1;     // the least there is: tables of many rows spill

std::string FileOf(const TableDef& definition) {
  return "space_" + std::to_string(definition.space.value()) + ".rws";
}

}  // namespace

TableDef CrashDdl::Definition(const std::string& name) {
  TableDef definition = EngineFixture::ToyDefinition(name);
  // By the name, not by a throw of the dice: the programs of all seeds stay what they were.
  if (name.back() % 4 == 0) definition.directory = kCrashDirectory;
  return definition;
}

ToyRow CrashDdl::AnyRow(uint64_t id) {
  return {static_cast<uint32_t>(random_.Below(5)), static_cast<uint32_t>(id),
          std::string(random_.Below(500), static_cast<char>('a' + random_.Below(26)))};
}

void CrashDdl::Work(CrashContext* context, uint32_t transactions) {
  std::unique_ptr<Session> session = context->engine()->NewSession();
  for (uint32_t i = 0; i < transactions; ++i) {
    if (!Transaction(context, session.get())) return;
  }
}

bool CrashDdl::Transaction(CrashContext* context, Session* session) {
  session->Begin(IsolationLevel::kRepeatableRead);
  State state = history_.back();
  Status status;
  if (!state.empty() && random_.OneIn(3)) {
    const bool rebuilds = variations_.rebuilds && random_.OneIn(2);
    status = rebuilds ? RebuildOnline(context, session) : AlterIndexes(context, session);
    state = history_.back();
  } else {
    for (uint64_t steps = 1 + random_.Below(2); steps > 0 && status.ok(); --steps) {
      status = Step(context->world(), session, &state);
    }
  }
  const bool roll_back = in_doubt_ || (status.ok() && random_.OneIn(4));
  if (status.ok() && !roll_back) return Commit(context, session, std::move(state));
  const Status undone = context->Rollback(session, RollbackOf::kDdl);
  if (!status.ok() || !undone.ok()) {
    EXPECT_TRUE(context->MayFail()) << CodeName(status.code()) << ": " << status.message() << "; "
                                    << CodeName(undone.code()) << ": " << undone.message();
    return undone.ok() && !context->Over() && !in_doubt_;
  }
  return true;
}

bool CrashDdl::Commit(CrashContext* context, Session* session, State state) {
  const auto durability = static_cast<Durability>(random_.Below(3));
  history_.push_back(std::move(state));
  moments_.push_back({context->LogTail(), Lsn(UINT64_MAX)});
  const Lsn before = session->last_commit_lsn();
  const Status status = session->Commit(durability);
  if (status.ok()) moments_.back().by = context->LogTail();
  if (!status.ok()) {
    EXPECT_TRUE(context->MayFail()) << CodeName(status.code()) << ": " << status.message();
    session->Rollback().Ignore();
    in_doubt_ = true;
    return false;
  }
  session->FinishDdl();
  committed_ = history_.size() - 1;
  // One that wrote nothing waits for nothing: what was committed before stays as it is.
  if (session->last_commit_lsn() == before) return true;
  if (durability != Durability::kBackground) written_ = committed_;
  if (durability == Durability::kDurable) durable_ = committed_;
  return true;
}

const std::string& CrashDdl::AnyTable() {
  auto chosen = history_.back().begin();
  std::advance(chosen, random_.Below(history_.back().size()));
  return chosen->first;
}

Status CrashDdl::AlterIndexes(CrashContext* context, Session* session) {
  const std::string name = AnyTable();
  EngineFixture* world = context->world();
  Result<TableId> id = Find(world, name);
  if (!id.ok()) return id.status();
  Result<std::shared_ptr<Table>> table = world->engine->OpenTable(*id);
  if (!table.ok()) return table.status();
  const ToyIndexCodec codec;
  StoredRow record;
  IndexBuild build(session, *table, {&codec, nullptr, &record}, {kSortBytes});
  std::vector<IndexBuild::NewIndex> wanted{
      {.index_number = static_cast<uint32_t>(1 + random_.Below(2))}};
  if (random_.OneIn(2)) wanted.push_back({.index_number = 3 - wanted[0].index_number});
  Status status = build.Start(std::move(wanted));
  if (status.ok() && random_.OneIn(2)) status = WriteMeanwhile(context, name, *id);
  if (status.ok()) status = build.Build();
  if (status.ok() && random_.OneIn(2)) status = WriteMeanwhile(context, name, *id);
  if (status.ok()) status = build.Finish();
  if (!status.ok()) return status;
  TableDef changed = (*table)->definition();
  for (const IndexBuild::NewIndex& built : build.indexes()) {
    changed.indexes[built.index_number].id = built.id;
    changed.indexes[built.index_number].root = built.root;
  }
  return world->engine->AlterTable(session, std::move(changed)).status();
}

Status CrashDdl::WriteMeanwhile(CrashContext* context, const std::string& name, TableId table) {
  std::unique_ptr<Session> session = context->engine()->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
  State state = history_.back();
  Status status = Insert(context->world(), session.get(), table, &state[name]);
  if (status.ok() && variations_.rebuilds) {
    status = Change(context->world(), session.get(), table, &state[name]);
  }
  if (!status.ok()) return status;
  if (random_.OneIn(3)) return session->Rollback();
  return Commit(context, session.get(), std::move(state)) ? Status::Ok() : Status(Code::kStopped);
}

Status CrashDdl::Step(EngineFixture* world, Session* session, State* state) {
  const std::string fresh = "ddl/t" + std::to_string(++next_name_);
  if (state->size() < 2 || (state->size() < tables_max_ && random_.OneIn(3))) {
    return Create(world, session, fresh, &(*state)[fresh]);
  }
  auto chosen = state->begin();
  std::advance(chosen, random_.Below(state->size()));
  const std::string name = chosen->first;
  Result<TableId> table = Find(world, name);
  if (!table.ok()) return table.status();
  switch (random_.Below(6)) {
    case 0: {
      state->erase(chosen);
      return Drop(world, session, *table);
    }
    case 1: {
      auto node = state->extract(chosen);
      node.key() = fresh;
      state->insert(std::move(node));
      return world->engine->RenameTable(session, *table, fresh);
    }
    case 2: {  // truncate
      const Status status = Drop(world, session, *table);
      if (!status.ok()) return status;
      state->erase(chosen);
      return Create(world, session, fresh, &(*state)[fresh]);
    }
    case 3:
    case 4: {
      auto node = state->extract(chosen);
      node.key() = fresh;
      const auto moved = state->insert(std::move(node)).position;
      if (variations_.transports && random_.OneIn(2)) {
        return Transport(world, session, *table, fresh);
      }
      return Rebuild(world, session, *table, fresh, moved->second);
    }
    default: return Insert(world, session, *table, &chosen->second);
  }
}

Status CrashDdl::Create(EngineFixture* world, Session* session, const std::string& name,
                        ToyRows* rows) {
  Result<std::shared_ptr<Table>> table = world->engine->CreateTable(session, Definition(name), 1);
  return table.ok() ? Insert(world, session, (*table)->id(), rows) : table.status();
}

Status CrashDdl::Insert(EngineFixture* world, Session* session, TableId id, ToyRows* rows) {
  Result<std::shared_ptr<Table>> table = world->engine->OpenTable(id);
  if (!table.ok()) return table.status();
  const uint64_t rows_max = random_.OneIn(6) ? kManyRows : kRowsMax;
  for (uint64_t count = random_.Below(rows_max); count > 0; --count) {
    const uint64_t row_id = rows->empty() ? 1 : rows->rbegin()->first + 1;
    const ToyRow row = AnyRow(row_id);
    const Status status = EngineFixture::Insert(session, table->get(), row_id, row);
    if (!status.ok()) return status;
    (*rows)[row_id] = row;
  }
  return Status::Ok();
}

Status CrashDdl::Rebuild(EngineFixture* world, Session* session, TableId old,
                         const std::string& name, const ToyRows& rows) {
  Result<std::shared_ptr<Table>> table = world->engine->CreateTable(session, Definition(name), 1);
  if (!table.ok()) return table.status();
  BulkLoad load(session, table->get(), {kSortBytes});
  for (const auto& [id, row] : rows) {
    const Status status = EngineFixture::Load(&load, id, row);
    if (!status.ok()) return status;
  }
  const Status status = load.Finish();
  return status.ok() ? Drop(world, session, old) : status;
}

Status CrashDdl::Drop(EngineFixture* world, Session* session, TableId table) {
  return world->engine->DropTable(session, table);
}

Result<TableId> CrashDdl::Find(EngineFixture* world, const std::string& name) {
  for (const TableDef& definition : world->engine->ListTables()) {
    if (definition.name == name) return definition.id;
  }
  ADD_FAILURE() << "no table " << name;
  return Status(Code::kNotFound, "the program's table is gone");
}

CrashDdl::State CrashDdl::Read(EngineFixture* world, TableId other) {
  EXPECT_TRUE(world->engine->RemoveOrphanFiles().ok());
  while (world->engine->orphans_pending() && !world->engine->stopped()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  State found;
  for (const TableDef& definition : world->engine->ListTables()) {
    if (definition.id == other) continue;
    Result<std::shared_ptr<Table>> table = world->engine->OpenTable(definition.id);
    if (!table.ok()) {
      ADD_FAILURE() << definition.name << ": " << table.status().message();
      return found;
    }
    const ToyRows rows = world->ReadAll(table->get());
    world->CheckTable(table->get(), rows);
    EXPECT_TRUE(found.emplace((*table)->name(), rows).second) << "two tables " << definition.name;
  }
  return found;
}

void CrashDdl::CheckCopy(EngineFixture* world, TableId other, Lsn end) const {
  const State found = Read(world, other);
  size_t first = 0;
  size_t behind_last = 0;
  for (size_t i = 0; i < moments_.size(); ++i) {
    if (moments_[i].by <= end) first = i;
    // One that wrote nothing came and stayed at one position.
    if (moments_[i].by <= end || moments_[i].from < end) behind_last = i + 1;
  }
  const auto begin = history_.begin() + static_cast<ptrdiff_t>(first);
  const auto stop = history_.begin() + static_cast<ptrdiff_t>(behind_last);
  EXPECT_NE(std::find(begin, stop, found), stop)
      << "the tables of the copy are none of the " << stop - begin << " states at its end";
}

void CrashDdl::Settle(EngineFixture* world, TableId other, CrashKind kind) {
  State found = Read(world, other);
  size_t least = durable_;
  if (kind == CrashKind::kProcess) least = std::max(least, written_);
  if (kind >= CrashKind::kClean) least = committed_;
  const auto state =
      std::find(history_.begin() + static_cast<ptrdiff_t>(least), history_.end(), found);
  EXPECT_NE(state, history_.end()) << "the tables are none of the " << history_.size() - least
                                   << " states since the last acknowledged DDL";
  CheckFiles(world);
  CheckExport(world);
  history_ = {std::move(found)};
  moments_ = {{}};
  durable_ = written_ = committed_ = 0;
  in_doubt_ = false;
}

void CrashDdl::CheckFiles(EngineFixture* world) {
  std::unordered_set<std::string> owned;
  for (const TableDef& definition : world->engine->ListTables()) {
    owned.insert(FileOf(definition));
  }
  owned.insert("space_" + std::to_string(kSystemSpace.value()) + ".rws");
  owned.insert("space_" + std::to_string(kUndoSpace.value()) + ".rws");
  Result<std::vector<std::string>> names = world->files.List(world->options.storage.folder);
  if (!names.ok()) {
    ADD_FAILURE() << names.status().message();
    return;
  }
  for (const std::string& name : *names) {
    if (!name.starts_with("space_") || !name.ends_with(".rws")) continue;
    EXPECT_EQ(owned.count(name), 1u) << name << " belongs to no table";
  }
  CheckPlacedFiles(world);
  // Nothing was restored by hand, so no file may come as a surprise.
  const Result<std::vector<std::string>> lost =
      world->files.List(world->options.storage.folder + "/" + kLostFolderName);
  if (!lost.ok()) return;
  for (const std::string& name : lost.value()) ADD_FAILURE() << name << " is set aside";
}

void CrashDdl::CheckPlacedFiles(EngineFixture* world) {
  // Before the links: a file goes first, in the background.
  const Result<std::vector<std::string>> names =
      world->files.List(std::string(kCrashDirectory) + "/ddl");
  ASSERT_TRUE(names.ok());
  const std::unordered_set<std::string> linked = LinkedPlaces(world);
  for (const std::string& name : names.value()) {
    const std::string path = std::string(kCrashDirectory) + "/ddl/" + name;
    // Its link may have become trash while the links were read, and trash may have gone since.
    EXPECT_TRUE(linked.contains(path) || LinkedPlaces(world).contains(path) ||
                !world->files.Exists(path).value())
        << name << " has no link in the instance folder";
  }
}

std::unordered_set<std::string> CrashDdl::LinkedPlaces(EngineFixture* world) {
  std::unordered_set<std::string> linked;
  const std::string& instance = world->options.storage.folder;
  for (const std::string& folder : {instance, instance + "/" + kLostFolderName}) {
    const Result<std::vector<std::string>> links = world->files.List(folder);
    if (!links.ok()) continue;
    for (const std::string& name : links.value()) {
      if (!name.starts_with("space_")) continue;
      const Result<std::string> target = world->files.ReadLink(folder + "/" + name);
      if (!target.ok() || target.value().empty()) continue;
      linked.insert(target.value());
      // Of a table of the catalog, which was read just now; trash may have lost its file already.
      EXPECT_TRUE(name.ends_with(".trash") || world->files.Exists(target.value()).value()) << name;
    }
  }
  return linked;
}

}  // namespace rowan
