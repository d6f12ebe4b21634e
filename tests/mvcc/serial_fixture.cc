// SPDX-License-Identifier: GPL-2.0-only
#include "tests/mvcc/serial_fixture.h"

namespace rowan {

void SerialFixture::Begin(Actor* actor, bool read_only, bool optimistic) {
  RowFixture::Begin(actor, IsolationLevel::kSerializable);
  actor->txn.locks.wait_timeout_s = 0;
  actor->txn.refuses_newer_rows = true;
  if (optimistic) {
    manager()->BeginOptimistic(&actor->txn, read_only);
  } else {
    actor->txn.optimistic = false;
  }
}

std::unique_ptr<Actor> SerialFixture::NewActor(bool read_only) {
  auto actor = std::make_unique<Actor>(manager());
  Begin(actor.get(), read_only);
  return actor;
}

void SerialFixture::Fill(const std::map<uint32_t, uint32_t>& rows) {
  auto writer = std::make_unique<Actor>(manager());
  RowFixture::Begin(writer.get());
  for (const auto& [id, a] : rows) {
    ASSERT_TRUE(fixture_.Insert(writer.get(), id, {a, 100 + id, text_}).ok());
  }
  ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
}

bool SerialFixture::Commits(Actor* actor) {
  if (fixture_.Commit(actor).ok()) return true;
  EXPECT_TRUE(fixture_.Rollback(actor).ok());
  return false;
}

// --- operations ---

Status SerialFixture::Read(Actor* actor, uint32_t id, std::optional<TestRow>* row) {
  manager()->OpenSnapshot(&actor->txn);
  TestRow found;
  const Status status = fixture_.Get(actor, id, ReadMode::kSnapshot, &found);
  if (status.ok()) *row = found;
  return status.Is(Code::kNotFound) ? Status::Ok() : status;
}

Status SerialFixture::StartScan(Actor* actor, const Op& op, VersionView* view) {
  const bool locks = Locks(op.kind);
  if (!locks) manager()->OpenSnapshot(&actor->txn);
  const std::string low = BigEndian(op.low);
  const std::string high = BigEndian(op.high);
  VersionCursor& cursor = actor->cursor;
  cursor.Open(&actor->txn, fixture_.index(ScannedBy(op.kind)),
              {.mode = locks ? ReadMode::kLockShared : ReadMode::kSnapshot, .lock_gaps = locks});
  if (op.kind == OpKind::kScanBack) return cursor.SeekBefore(AsBytes(high), view);
  cursor.SetEnd(AsBytes(high));
  return cursor.SeekAtLeast(AsBytes(low), view);
}

Status SerialFixture::TakeRow(const Op& op, const VersionView& view, Seen* seen) {
  const uint32_t first = LoadBe32(view.key.data());
  if (first < op.low) return Status(Code::kEndOfRange);
  const bool clustered = ScannedBy(op.kind) == 0;
  if (clustered) {
    const TestRow row = ParseTestRow(view.value);
    seen->insert(seen->end(), {first, row.a, row.b});
  } else {
    seen->insert(seen->end(), {LoadBe32(view.key.data() + 4), first});
  }
  return seen->size() / (clustered ? 3 : 2) >= op.limit ? Status(Code::kEndOfRange) : Status::Ok();
}

Status SerialFixture::GoOn(Actor* actor, const Op& op, VersionView* view) {
  return op.kind == OpKind::kScanBack ? actor->cursor.Prev(view) : actor->cursor.Next(view);
}

Status SerialFixture::Scan(Actor* actor, const Op& op, Seen* seen) {
  VersionView view;
  Status status = StartScan(actor, op, &view);
  while (status.ok()) {
    status = TakeRow(op, view, seen);
    if (status.ok()) status = GoOn(actor, op, &view);
  }
  actor->cursor.Close();
  return status.Is(Code::kEndOfRange) ? Status::Ok() : status;
}

Status SerialFixture::Do(Actor* actor, const Op& op, Seen* seen) {
  if (op.kind == OpKind::kReplace) return Replace(actor, op, seen);
  if (op.kind == OpKind::kUndoneInsert) return UndoneInsert(actor, op, seen);
  if (op.kind != OpKind::kGet && Reads(op.kind)) return Scan(actor, op, seen);
  std::optional<TestRow> row;
  const Status status = Read(actor, op.low, &row);
  if (!status.ok()) return status;
  if (row.has_value()) *seen = {op.low, row->a, row->b};
  return op.kind == OpKind::kGet ? status : Change(actor, op, row, seen);
}

Status SerialFixture::Change(Actor* actor, const Op& op, const std::optional<TestRow>& row,
                             Seen* seen) {
  if (op.kind == OpKind::kDelete) {
    return row.has_value() ? fixture_.Delete(actor, op.low, *row) : Status::Ok();
  }
  if (op.kind != OpKind::kPut) return PutB(actor, op, row, seen);
  if (!row.has_value()) return fixture_.Insert(actor, op.low, {op.value, 100 + op.low, text_});
  TestRow changed = *row;
  changed.a = op.value;
  return fixture_.Update(actor, op.low, *row, changed);
}

Status SerialFixture::PutB(Actor* actor, const Op& op, const std::optional<TestRow>& row,
                           Seen* seen) {
  if (op.kind == OpKind::kTurnB && !row.has_value()) return Status::Ok();
  TestRow changed = row.value_or(TestRow{0, 0, text_});
  changed.b = op.value;
  Status status = row.has_value() ? fixture_.Update(actor, op.low, *row, changed)
                                  : fixture_.Insert(actor, op.low, changed);
  if (status.Is(Code::kDuplicate)) {
    seen->push_back(kTaken);
    return Status::Ok();
  }
  if (!status.ok()) return status;
  return op.kind == OpKind::kTurnB ? fixture_.Update(actor, op.low, changed, *row) : status;
}

Status SerialFixture::UndoneInsert(Actor* actor, const Op& op, Seen* seen) {
  const UndoPosition before = manager()->Savepoint(&actor->txn);
  const Status status = fixture_.Insert(actor, op.low, {0, op.value, text_});
  if (status.ok()) return manager()->RollbackTo(&actor->txn, before);
  if (!status.Is(Code::kDuplicate)) return status;
  seen->push_back(kTaken);
  return Status::Ok();
}

Status SerialFixture::Replace(Actor* actor, const Op& op, Seen* seen) {
  for (;;) {
    const Status status = fixture_.Insert(actor, op.low, {0, op.value, text_});
    if (!status.Is(Code::kDuplicate)) return status;
    uint32_t id = op.low;
    Status removed = Remove(actor, id);
    if (removed.Is(Code::kNotFound)) {
      Seen by_b;
      removed = Scan(
          actor, {.kind = OpKind::kLockedScanB, .low = op.value, .high = op.value + 1, .limit = 1},
          &by_b);
      if (!removed.ok()) return removed;
      EXPECT_EQ(by_b.size(), 2u) << "a duplicate stays until the transaction ends";
      id = by_b.at(0);
      removed = Remove(actor, id);
    }
    if (!removed.ok()) return removed;
    seen->push_back(id);
  }
}

Status SerialFixture::Remove(Actor* actor, uint32_t id) {
  TestRow row;
  const Status status = fixture_.Get(actor, id, ReadMode::kLockExclusive, &row);
  return status.ok() ? fixture_.Delete(actor, id, row) : status;
}

}  // namespace rowan
