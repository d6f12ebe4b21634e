// SPDX-License-Identifier: GPL-2.0-only
#include "tests/engine/engine_fixture.h"

#include <algorithm>

namespace rowan {
namespace {

constexpr uint64_t kFixturePoolPagesMin = 64;

}  // namespace

EngineFixture::EngineFixture(uint64_t seed) : files(seed) {
  options.storage.folder = "/rowan";
  options.storage.page_size_bytes = TestPageSizeBytes();
  const uint64_t pages = std::max<uint64_t>(TestPoolPages(), kFixturePoolPagesMin);
  options.storage.buffer.pool_bytes = pages * options.storage.page_size_bytes;
  options.storage.log.capacity_bytes = uint64_t{4} << 20;
  options.storage.log.buffer_bytes = uint64_t{1} << 20;
  options.storage.log.sync_method = LogSyncMethod::kFdatasync;
  options.storage.buffer.io_backend = IoBackend::kThreads;
  options.storage.scrub_bytes_per_second = 0;  // its reads would meet faults meant for others
}

EngineFixture::~EngineFixture() { engine.reset(); }

Status EngineFixture::Open() {
  Result<std::unique_ptr<Engine>> opened = Engine::Open(&files, options);
  if (!opened.ok()) return opened.status();
  engine = std::move(*opened);
  return Status::Ok();
}

Status EngineFixture::Shutdown() {
  const Status status = engine->Close();
  engine.reset();
  return status;
}

void EngineFixture::Crash(uint64_t seed) {
  engine.reset();
  files.Crash(seed);
}

TableDef EngineFixture::ToyDefinition(const std::string& name) {
  TableDef definition;
  definition.name = name;
  definition.descriptor = "toy";
  definition.indexes = {{IndexId(0), kNoPage, "PRIMARY", true, true, "id"},
                        {IndexId(0), kNoPage, "value", false, false, "value"},
                        {IndexId(0), kNoPage, "unique", false, true, "unique"}};
  return definition;
}

std::shared_ptr<Table> EngineFixture::CreateTable(const std::string& name) {
  std::unique_ptr<Session> session = engine->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
  Result<std::shared_ptr<Table>> table = engine->CreateTable(session.get(), ToyDefinition(name));
  EXPECT_TRUE(table.ok()) << table.status().message();
  if (!table.ok()) return nullptr;
  EXPECT_TRUE(session->Commit().ok());
  return *table;
}

Status EngineFixture::Insert(Session* session, Table* table, uint64_t id, const ToyRow& row) {
  const ToyEntries entries(id, row);
  std::optional<OffPageValue> blob;
  const Status status = WriteBlob(session, table, row, &blob);
  if (!status.ok()) return status;
  return session->InsertRow(table, AsBytes(ToyKey(id)), AsBytes(ToyEncode(row, blob)),
                            entries.images());
}

ToyRows EngineFixture::Fill(Table* table, uint64_t rows,
                            const std::function<ToyRow(uint64_t id)>& row_of) {
  ToyRows model;
  std::unique_ptr<Session> session = engine->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
  for (uint64_t id = 1; id <= rows; ++id) {
    model[id] = row_of(id);
    EXPECT_TRUE(Insert(session.get(), table, id, model[id]).ok());
  }
  EXPECT_TRUE(session->Commit().ok());
  return model;
}

Status EngineFixture::Load(BulkLoad* load, uint64_t id, const ToyRow& row) {
  const ToyEntries entries(id, row);
  Status status = load->AddRow(AsBytes(ToyKey(id)), AsBytes(ToyEncode(row)));
  for (const IndexEntry& entry : entries.images()) {
    if (status.ok()) status = load->AddEntry(entry);
  }
  return status;
}

Status EngineFixture::Update(Session* session, Table* table, uint64_t id, const ToyRow& before,
                             const ToyRow& after) {
  const std::string keys[] = {ToyValueEntry(id, before), ToyValueEntry(id, after),
                              ToyUniqueEntry(id, before), ToyUniqueEntry(id, after)};
  std::vector<EntryChange> changes;
  for (uint32_t index = 1; index <= 2; ++index) {
    const std::string& old_key = keys[2 * (index - 1)];
    const std::string& new_key = keys[2 * (index - 1) + 1];
    const uint32_t unique_bytes = index == 2 ? kToyUniqueBytes : 0;
    if (old_key == new_key) continue;
    changes.push_back(
        {{index, AsBytes(old_key), {}, unique_bytes}, {index, AsBytes(new_key), {}, unique_bytes}});
  }
  std::optional<OffPageValue> old_blob;
  Status status = before.blob.empty() ? Status::Ok() : FindBlob(session, table, id, &old_blob);
  std::optional<OffPageValue> new_blob = old_blob;
  const bool replaced = before.blob != after.blob;
  if (status.ok() && replaced) status = ChangeBlob(session, table, before, after, &new_blob);
  if (!status.ok()) return status;
  const std::string key = ToyKey(id);
  status = session->UpdateRow(table, AsBytes(key), AsBytes(key),
                              AsBytes(ToyEncode(after, new_blob)), changes);
  if (!status.ok() || !replaced || !old_blob.has_value()) return status;
  return DropBlobs(session, *old_blob, new_blob);
}

Status EngineFixture::Delete(Session* session, Table* table, uint64_t id, const ToyRow& row) {
  const ToyEntries entries(id, row);
  std::optional<OffPageValue> blob;
  Status status = row.blob.empty() ? Status::Ok() : FindBlob(session, table, id, &blob);
  if (status.ok()) status = session->DeleteRow(table, AsBytes(ToyKey(id)), entries.images());
  if (!status.ok() || !blob.has_value()) return status;
  return DropBlobs(session, *blob, std::nullopt);
}

Status EngineFixture::ChangeBlob(Session* session, Table* table, const ToyRow& before,
                                 const ToyRow& after, std::optional<OffPageValue>* blob) {
  if (!blob->has_value() || after.blob.empty()) return WriteBlob(session, table, after, blob);
  const uint32_t page_size_bytes = session->engine()->options().storage.page_size_bytes;
  const OffPageValue stored = **blob;
  Result<OffPageValue> changed = session->ChangeValue(
      table, {.stored = &stored,
              .before = AsBytes(before.blob),
              .after = AsBytes(after.blob),
              .reference_bytes_max = ToyReferenceRoom(after, page_size_bytes)});
  if (changed.ok()) *blob = *changed;
  return changed.status();
}

Status EngineFixture::DropBlobs(Session* session, const OffPageValue& before,
                                const std::optional<OffPageValue>& now) {
  std::vector<BlobRef> old_blobs;
  std::vector<BlobRef> new_blobs;
  AppendBlobsOf(before, &old_blobs);
  if (now.has_value()) AppendBlobsOf(*now, &new_blobs);
  for (const BlobRef& blob : old_blobs) {
    const auto is_same = [&blob](const BlobRef& other) { return SameBlob(blob, other); };
    if (std::any_of(new_blobs.begin(), new_blobs.end(), is_same)) continue;
    const Status status = session->DropBlob(blob);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status EngineFixture::WriteBlob(Session* session, Table* table, const ToyRow& row,
                                std::optional<OffPageValue>* blob) {
  blob->reset();
  if (row.blob.empty()) return Status::Ok();
  const Result<BlobRef> written = session->WriteBlob(table, AsBytes(row.blob));
  if (written.ok()) *blob = OffPageValue{.base = written.value()};
  return written.status();
}

Status EngineFixture::FindBlob(Session* session, Table* table, uint64_t id,
                               std::optional<OffPageValue>* blob) {
  std::string stored;
  const Status status = ReadStored(session, table, id, &stored);
  if (!status.ok()) return status;
  *blob = ToyBlobOf(AsBytes(stored));
  EXPECT_TRUE(blob->has_value()) << "row " << id << " has lost its blob";
  return Status::Ok();
}

Status EngineFixture::ReadStored(Session* session, Table* table, uint64_t id, std::string* stored) {
  ByteBuffer row;
  const Status status = TableCursor(session, table, &ToyCodec()).LockRow(AsBytes(ToyKey(id)), &row);
  if (status.ok()) *stored = AsText(row);
  return status;
}

Status EngineFixture::ReadForUpdate(Session* session, Table* table, uint64_t id, ToyRow* row) {
  std::string stored;
  const Status status = ReadStored(session, table, id, &stored);
  return status.ok() ? Decode(session, AsBytes(stored), row) : status;
}

Status EngineFixture::Decode(Session* session, Bytes stored, ToyRow* row) {
  *row = ToyDecode(stored);
  const std::optional<OffPageValue> blob = ToyBlobOf(stored);
  if (!blob.has_value()) return Status::Ok();
  row->blob.resize(blob->size_bytes());
  return session->ReadValue(*blob, std::as_writable_bytes(std::span(row->blob)));
}

ToyRows EngineFixture::ReadAll(Table* table) {
  ToyRows rows;
  std::unique_ptr<Session> session = engine->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
  TableCursor cursor(session.get(), table, &ToyCodec());
  cursor.OpenScan(0);
  StoredRow stored;
  Status status = cursor.SeekFirst(&stored);
  for (; status.ok(); status = cursor.Next(&stored)) {
    const Status decoded = Decode(session.get(), stored.value, &rows[LoadBe64(stored.key.data())]);
    EXPECT_TRUE(decoded.ok()) << decoded.message();
  }
  EXPECT_EQ(status.code(), Code::kEndOfRange) << status.message();
  cursor.CloseScan();
  EXPECT_TRUE(session->Commit().ok());
  return rows;
}

void EngineFixture::ExpectTable(TableId id, const ToyRows& rows) {
  Result<std::shared_ptr<Table>> opened = engine->OpenTable(id);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(ReadAll(opened->get()), rows);
  CheckTable(opened->get(), rows);
}

void EngineFixture::CheckSecondary(Session* session, Table* table, uint32_t index,
                                   const ToyRows& rows) {
  std::vector<std::string> expected;
  for (const auto& [id, row] : rows) {
    expected.push_back(index == 1 ? ToyValueEntry(id, row) : ToyUniqueEntry(id, row));
  }
  std::sort(expected.begin(), expected.end());
  std::vector<std::string> found;
  TableCursor cursor(session, table, &ToyCodec());
  const Status status = cursor.VisitEntries(index, [&found](Bytes key, Bytes) {
    found.emplace_back(AsText(key));
    return Status::Ok();
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(found, expected) << "index " << index << " of " << table->name();
}

void EngineFixture::CheckTable(Table* table, const ToyRows& rows) {
  for (size_t i = 0; i < table->index_count(); ++i) {
    const Status status = engine->CheckIndex(table, i, {});
    EXPECT_TRUE(status.ok()) << "index " << i << ": " << status.message();
  }
  const Status space = engine->CheckSpace(table, FindToyBlobs);
  EXPECT_TRUE(space.ok()) << space.message();
  std::unique_ptr<Session> session = engine->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
  CheckSecondary(session.get(), table, 1, rows);
  CheckSecondary(session.get(), table, 2, rows);
  EXPECT_TRUE(session->Commit().ok());
}

}  // namespace rowan
