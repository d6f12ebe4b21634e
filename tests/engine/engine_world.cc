// SPDX-License-Identifier: GPL-2.0-only
#include "tests/engine/engine_world.h"

#include <algorithm>

namespace rowan {
namespace {

std::string BigEndian32(uint32_t value) {
  std::string bytes(4, '\0');
  StoreBe32(reinterpret_cast<std::byte*>(bytes.data()), value);
  return bytes;
}

constexpr uint64_t kPoolPagesMin = 64;

}  // namespace

std::string ToyKey(uint64_t id) {
  std::string bytes(8, '\0');
  StoreBe64(reinterpret_cast<std::byte*>(bytes.data()), id);
  return bytes;
}

std::string ToyEncode(const ToyRow& row) {
  return BigEndian32(row.value) + BigEndian32(row.unique) + row.text;
}

ToyRow ToyDecode(Bytes row) {
  if (row.size() < 8) {
    ADD_FAILURE() << "row of " << row.size() << " bytes";
    return {};
  }
  return {LoadBe32(row.data()), LoadBe32(row.data() + 4), std::string(AsText(row.subspan(8)))};
}

std::string ToyValueEntry(uint64_t id, const ToyRow& row) {
  return BigEndian32(row.value) + ToyKey(id);
}

std::string ToyUniqueEntry(uint64_t id, const ToyRow& row) {
  return BigEndian32(row.unique) + ToyKey(id);
}

EngineWorld::EngineWorld(uint64_t seed) : files(seed) {
  options.folder = "/rowan";
  options.page_size_bytes = TestPageSizeBytes();
  const uint64_t pages = std::max<uint64_t>(TestPoolPages(), kPoolPagesMin);
  options.buffer_pool_bytes = pages * options.page_size_bytes;
  options.redo_log_capacity_bytes = uint64_t{4} << 20;
  options.log_buffer_bytes = uint64_t{1} << 20;
  options.log_sync_method = LogSyncMethod::kFdatasync;
  options.io_backend = IoBackend::kThreads;
}

EngineWorld::~EngineWorld() { engine.reset(); }

Status EngineWorld::Open() {
  Result<std::unique_ptr<Engine>> opened = Engine::Open(&files, options);
  if (!opened.ok()) return opened.status();
  engine = std::move(*opened);
  return Status::Ok();
}

Status EngineWorld::Shutdown() {
  const Status status = engine->Close();
  engine.reset();
  return status;
}

void EngineWorld::Crash(uint64_t seed) {
  engine.reset();
  files.Crash(seed);
}

TableDef EngineWorld::ToyDefinition(const std::string& name) {
  TableDef definition;
  definition.name = name;
  definition.descriptor = "toy";
  definition.indexes = {{IndexId(0), kNoPage, "PRIMARY", true, true, "id"},
                        {IndexId(0), kNoPage, "value", false, false, "value"},
                        {IndexId(0), kNoPage, "unique", false, true, "unique"}};
  return definition;
}

std::shared_ptr<Table> EngineWorld::CreateTable(const std::string& name) {
  std::unique_ptr<Session> session = engine->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
  Result<std::shared_ptr<Table>> table =
      engine->CreateTable(session.get(), ToyDefinition(name), 1);
  EXPECT_TRUE(table.ok()) << table.status().message();
  if (!table.ok()) return nullptr;
  EXPECT_TRUE(session->Commit(Durability::kDurable, true).ok());
  return *table;
}

Status EngineWorld::Insert(Session* session, Table* table, uint64_t id, const ToyRow& row) {
  const std::string value = ToyValueEntry(id, row);
  const std::string unique = ToyUniqueEntry(id, row);
  const EntryImage entries[] = {{1, AsBytes(value), {}, 0},
                                {2, AsBytes(unique), {}, kToyUniqueBytes}};
  return session->InsertRow(table, AsBytes(ToyKey(id)), AsBytes(ToyEncode(row)), entries, false);
}

Status EngineWorld::Update(Session* session, Table* table, uint64_t id, const ToyRow& before,
                           const ToyRow& after) {
  const std::string keys[] = {ToyValueEntry(id, before), ToyValueEntry(id, after),
                              ToyUniqueEntry(id, before), ToyUniqueEntry(id, after)};
  std::vector<EntryChange> changes;
  for (uint32_t index = 1; index <= 2; ++index) {
    const std::string& old_key = keys[2 * (index - 1)];
    const std::string& new_key = keys[2 * (index - 1) + 1];
    const uint32_t unique_bytes = index == 2 ? kToyUniqueBytes : 0;
    if (old_key == new_key) continue;
    changes.push_back({{index, AsBytes(old_key), {}, unique_bytes},
                       {index, AsBytes(new_key), {}, unique_bytes}});
  }
  const std::string key = ToyKey(id);
  return session->UpdateRow(table, AsBytes(key), AsBytes(key), AsBytes(ToyEncode(after)), changes);
}

Status EngineWorld::Delete(Session* session, Table* table, uint64_t id, const ToyRow& row) {
  const std::string value = ToyValueEntry(id, row);
  const std::string unique = ToyUniqueEntry(id, row);
  const EntryImage entries[] = {{1, AsBytes(value), {}, 0},
                                {2, AsBytes(unique), {}, kToyUniqueBytes}};
  return session->DeleteRow(table, AsBytes(ToyKey(id)), entries);
}

Status EngineWorld::ReadForUpdate(Session* session, Table* table, uint64_t id, ToyRow* row) {
  VersionCursor cursor(session->engine()->txns());
  ReadOptions options;
  options.mode = ReadMode::kLockExclusive;
  cursor.Open(session->txn(), table->index(0), options);
  VersionView view;
  const Status status = cursor.Get(AsBytes(ToyKey(id)), &view);
  if (status.ok()) *row = ToyDecode(view.value);
  cursor.Close();
  return status;
}

ToyRows EngineWorld::ReadAll(Table* table) {
  ToyRows rows;
  std::unique_ptr<Session> session = engine->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
  session->OpenSnapshot();
  VersionCursor cursor(engine->txns());
  cursor.Open(session->txn(), table->index(0), ReadOptions{});
  VersionView view;
  Status status = cursor.SeekFirst(&view);
  for (; status.ok(); status = cursor.Next(&view)) {
    rows[LoadBe64(view.key.data())] = ToyDecode(view.value);
  }
  EXPECT_EQ(status.code(), Code::kEndOfRange) << status.message();
  cursor.Close();
  EXPECT_TRUE(session->Commit(Durability::kDurable, true).ok());
  return rows;
}

void EngineWorld::ExpectTable(TableId id, const ToyRows& rows) {
  Result<std::shared_ptr<Table>> opened = engine->OpenTable(id);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(ReadAll(opened->get()), rows);
  CheckTable(opened->get(), rows);
}

void EngineWorld::CheckSecondary(Session* session, Table* table, size_t index,
                                 const ToyRows& rows) {
  std::vector<std::string> expected;
  for (const auto& [id, row] : rows) {
    expected.push_back(index == 1 ? ToyValueEntry(id, row) : ToyUniqueEntry(id, row));
  }
  std::sort(expected.begin(), expected.end());
  std::vector<std::string> found;
  VersionCursor cursor(engine->txns());
  cursor.Open(session->txn(), table->index(index), ReadOptions{});
  VersionView view;
  Status status = cursor.SeekFirst(&view);
  for (; status.ok(); status = cursor.Next(&view)) found.emplace_back(AsText(view.key));
  EXPECT_EQ(status.code(), Code::kEndOfRange) << status.message();
  cursor.Close();
  EXPECT_EQ(found, expected) << "index " << index << " of " << table->name();
}

void EngineWorld::CheckTable(Table* table, const ToyRows& rows) {
  for (size_t i = 0; i < table->index_count(); ++i) {
    const Status status = engine->CheckIndex(table, i, {});
    EXPECT_TRUE(status.ok()) << "index " << i << ": " << status.message();
  }
  // Toy rows have no off-page values.
  const Status space = engine->CheckSpace(table, [](Bytes, std::vector<BlobRef>*) {});
  EXPECT_TRUE(space.ok()) << space.message();
  std::unique_ptr<Session> session = engine->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
  session->OpenSnapshot();
  CheckSecondary(session.get(), table, 1, rows);
  CheckSecondary(session.get(), table, 2, rows);
  EXPECT_TRUE(session->Commit(Durability::kDurable, true).ok());
}

}  // namespace rowan
