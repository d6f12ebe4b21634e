// SPDX-License-Identifier: GPL-2.0-only
#include "tests/engine/crash_temporary.h"

#include <chrono>
#include <thread>

namespace rowan {
namespace {

constexpr uint64_t kIds = 60;
constexpr uint32_t kStatementsMax = 6;
constexpr uint32_t kRowsPerStatementMax = 10;
constexpr int kReadLooksMax = 6000;

}  // namespace

void CrashTemporary::Work(CrashContext* context, uint32_t transactions) {
  Status status = Open(context);
  for (uint32_t i = 0; i < transactions && status.ok(); ++i) status = Transaction(context);
  EXPECT_TRUE(status.ok() || context->MayFail())
      << "temporary table: " << CodeName(status.code()) << ": " << status.message();
}

Status CrashTemporary::Open(CrashContext* context) {
  if (table_ != nullptr) return Status::Ok();
  Result<std::shared_ptr<Table>> table =
      context->engine()->CreateTemporaryTable(EngineFixture::ToyDefinition("tmp"), 1);
  if (!table.ok()) return table.status();
  table_ = *table;
  session_ = context->engine()->NewSession();
  committed_.clear();
  return Status::Ok();
}

Status CrashTemporary::Transaction(CrashContext* context) {
  ToyRows rows = committed_;
  session_->Begin(IsolationLevel::kRepeatableRead);
  Status status;
  for (uint64_t turns = 1 + random_.Below(kStatementsMax); turns > 0 && status.ok(); --turns) {
    status = Statement(&rows);
  }
  if (status.ok() && random_.OneIn(4)) {
    Result<ToyRows> found = Read();
    status = found.status();
    EXPECT_TRUE(!status.ok() || *found == rows) << "in its transaction";
  }
  if (status.ok() && !random_.OneIn(4)) {
    status = session_->Commit();
    if (status.ok()) committed_ = std::move(rows);
    if (status.ok()) return status;
  }
  const Status undone = context->Rollback(session_.get(), RollbackOf::kRows);
  return status.ok() ? undone : status;
}

Status CrashTemporary::Statement(ToyRows* rows) {
  session_->StartStatement();
  Result<Session*> part = session_->Temporary();
  if (!part.ok()) return part.status();
  ToyRows changed = *rows;
  Status status;
  for (uint64_t turns = random_.Below(kRowsPerStatementMax); turns > 0 && status.ok(); --turns) {
    status = Change(*part, &changed);
  }
  const bool keep = status.ok() && !random_.OneIn(5);
  const Status ended = session_->EndStatement(keep ? StatementEnd::kKeep : StatementEnd::kUndo);
  if (status.ok()) status = ended;
  if (keep) *rows = std::move(changed);
  return status;
}

Status CrashTemporary::Change(Session* part, ToyRows* rows) {
  const uint64_t id = 1 + random_.Below(kIds);
  ToyRow row{static_cast<uint32_t>(random_.Below(5)),
             static_cast<uint32_t>(id * 4 + random_.Below(4)),
             std::string(random_.Below(600), 't')};
  if (random_.OneIn(12)) row.blob.assign(random_.Below(2 * TestPageSizeBytes()), 'T');
  const auto found = rows->find(id);
  Status status;
  if (found == rows->end()) {
    status = EngineFixture::Insert(part, table_.get(), id, row);
  } else if (random_.OneIn(3)) {
    status = EngineFixture::Delete(part, table_.get(), id, found->second);
    if (status.ok()) rows->erase(found);
    return status;
  } else {
    status = EngineFixture::Update(part, table_.get(), id, found->second, row);
  }
  if (status.ok()) (*rows)[id] = std::move(row);
  return status;
}

Result<ToyRows> CrashTemporary::Read() {
  Result<Session*> part = session_->Temporary();
  if (!part.ok()) return part.status();
  TableCursor cursor(*part, table_.get(), &ToyCodec(), {.mode = ReadMode::kReadUncommitted});
  cursor.OpenScan(0);
  ToyRows rows;
  StoredRow stored;
  Status status = cursor.SeekFirst(&stored);
  for (; status.ok(); status = cursor.Next(&stored)) {
    const Status read =
        EngineFixture::Decode(*part, stored.value, &rows[LoadBe64(stored.key.data())]);
    if (!read.ok()) return read;
  }
  cursor.CloseScan();
  if (!status.Is(Code::kEndOfRange)) return status;
  return rows;
}

void CrashTemporary::ExpectRows() {
  if (table_ == nullptr) return;
  session_->Begin(IsolationLevel::kRepeatableRead);
  session_->StartStatement();
  Result<ToyRows> found = Read();
  // A rollback that failed is tried again after pauses that grow.
  for (int look = 0; look < kReadLooksMax && found.status().Is(Code::kBusy); ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    found = Read();
  }
  ASSERT_TRUE(found.ok()) << "temporary table: " << found.status().message();
  EXPECT_EQ(*found, committed_) << "of the temporary table";
  EXPECT_TRUE(session_->Rollback().ok());
}

void CrashTemporary::Close(CrashContext* context) {
  if (table_ == nullptr) return;
  const Status dropped = context->engine()->DropTemporaryTable(table_->id());
  EXPECT_TRUE(dropped.ok() || context->MayFail()) << dropped.message();
  table_.reset();
  session_.reset();
}

void CrashTemporary::ExpectNoFiles(EngineFixture* world) {
  const Result<std::vector<std::string>> names = world->files.List(world->options.storage.folder);
  ASSERT_TRUE(names.ok());
  for (const std::string& name : names.value()) {
    EXPECT_FALSE(name.ends_with(kTemporarySuffix)) << name << " is of an earlier run";
  }
}

}  // namespace rowan
