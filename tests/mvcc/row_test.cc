// SPDX-License-Identifier: GPL-2.0-only
// Clustered rows: insert, update, delete, rollback, purge, locks between writers, blobs, formats.
#include <thread>

#include "base/random.h"
#include "mvcc/row/row_undo_format.h"
#include "tests/mvcc/row_fixture.h"

namespace rowan {
namespace {

class RowTest : public ::testing::Test {
 protected:
  std::unique_ptr<Actor> NewActor() {
    auto actor = std::make_unique<Actor>(fixture_.manager());
    RowFixture::Begin(actor.get());
    return actor;
  }
  Status InsertRaw(Actor* actor, uint32_t id, std::string_view row) {
    return actor->writer.InsertRow(&actor->txn, fixture_.index(0), AsBytes(BigEndian(id)),
                                   AsBytes(row));
  }
  Status UpdateRaw(Actor* actor, uint32_t id, std::string_view row) {
    return actor->writer.UpdateRow(&actor->txn, fixture_.index(0), AsBytes(BigEndian(id)),
                                   AsBytes(row));
  }
  Status DeleteRaw(Actor* actor, uint32_t id) {
    return actor->writer.DeleteRow(&actor->txn, fixture_.index(0), AsBytes(BigEndian(id)));
  }
  std::string ReadRaw(Actor* actor, uint32_t id) {
    fixture_.manager()->OpenSnapshot(&actor->txn);
    VersionView view;
    actor->cursor.Open(&actor->txn, fixture_.index(0), {});
    const Status status = actor->cursor.Get(AsBytes(BigEndian(id)), &view);
    return status.ok() ? std::string(AsText(view.value)) : CodeName(status.code());
  }
  RowFixture fixture_;
};

TEST(RowUndoFormat, UpdateGoesThereAndBack) {
  Random random(TestSeed());
  for (int round = 0; round < 3000; ++round) {
    std::string old_row(random.Below(40), 'x');
    for (char& c : old_row) c = static_cast<char>('a' + random.Below(2));
    std::string new_row = old_row;
    if (!new_row.empty() && random.OneIn(2)) new_row[random.Below(new_row.size())] = 'z';
    if (random.OneIn(3)) new_row.insert(random.Below(new_row.size() + 1), "inserted");
    if (random.OneIn(3)) new_row.resize(random.Below(new_row.size() + 1));
    const ClusteredHeader header{
        random.OneIn(2), TxnId(random.Below(kTxnIdLimit)), {PageNumber(7), 99}};
    const RowUpdateUndo update =
        MakeRowUpdate(AsBytes("key"), header, AsBytes(old_row), AsBytes(new_row), true);
    const RowUpdatePieces pieces = EncodeRowUpdate(update);
    std::string payload(AsText(pieces.head()));
    payload += "key";
    payload += AsText(pieces.tail());
    payload += AsText(update.old_middle);
    EXPECT_EQ(payload.size(), RowUpdateBytes(update, pieces));
    RowUpdateUndo decoded;
    ASSERT_TRUE(DecodeRowUpdate(AsBytes(payload), &decoded));
    EXPECT_EQ(AsText(decoded.key), "key");
    EXPECT_EQ(decoded.flags, kUndoRowDelete);
    EXPECT_EQ(decoded.old_header.txn, header.txn);
    EXPECT_EQ(decoded.old_header.deleted, header.deleted);
    std::vector<std::byte> rebuilt;
    ASSERT_TRUE(AppendOldRow(decoded, AsBytes(new_row), &rebuilt));
    EXPECT_EQ(AsText(rebuilt), old_row);
    // Cut anywhere it is refused or decodes to something, but never reads outside.
    payload.resize(random.Below(payload.size()));
    const std::vector<std::byte> exact(AsBytes(payload).begin(), AsBytes(payload).end());
    if (DecodeRowUpdate(exact, &decoded)) AppendOldRow(decoded, AsBytes(new_row), &rebuilt);
  }
}

TEST_F(RowTest, InsertUpdateDelete) {
  auto writer = NewActor();
  ASSERT_TRUE(InsertRaw(writer.get(), 1, "one").ok());
  EXPECT_TRUE(InsertRaw(writer.get(), 1, "again").Is(Code::kDuplicate));
  EXPECT_TRUE(UpdateRaw(writer.get(), 2, "none").Is(Code::kNotFound));
  auto reader = NewActor();
  EXPECT_EQ(ReadRaw(reader.get(), 1), CodeName(Code::kNotFound));
  ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
  EXPECT_EQ(ReadRaw(reader.get(), 1), CodeName(Code::kNotFound));

  writer = NewActor();
  ASSERT_TRUE(UpdateRaw(writer.get(), 1, "a longer one").ok());
  EXPECT_EQ(ReadRaw(writer.get(), 1), "a longer one");
  auto beside = NewActor();
  EXPECT_EQ(ReadRaw(beside.get(), 1), "one");
  ASSERT_TRUE(DeleteRaw(writer.get(), 1).ok());
  EXPECT_TRUE(DeleteRaw(writer.get(), 1).Is(Code::kNotFound));
  ASSERT_TRUE(InsertRaw(writer.get(), 1, "back").ok());
  EXPECT_EQ(ReadRaw(beside.get(), 1), "one");
  ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
  EXPECT_EQ(ReadRaw(beside.get(), 1), "one");
  auto late = NewActor();
  EXPECT_EQ(ReadRaw(late.get(), 1), "back");
}

TEST_F(RowTest, RowsTooLargeAreRefused) {
  auto writer = NewActor();
  const std::string huge(70000, 'h');
  EXPECT_TRUE(InsertRaw(writer.get(), 1, huge).Is(Code::kTooBig));
  const size_t most = Tree::MaxEntryBytes(TestPageSizeBytes()) - 4 - kClusteredHeaderBytes;
  ASSERT_TRUE(InsertRaw(writer.get(), 1, std::string(most, 'a')).ok());
  EXPECT_TRUE(UpdateRaw(writer.get(), 1, huge).Is(Code::kTooBig));
  // The largest row completely changed: the largest undo payload there is.
  ASSERT_TRUE(UpdateRaw(writer.get(), 1, std::string(most, 'b')).ok());
  ASSERT_TRUE(UpdateRaw(writer.get(), 1, "").ok());
  ASSERT_TRUE(fixture_.Rollback(writer.get()).ok());
  EXPECT_EQ(fixture_.Raw(0).size(), 0u);
}

// Two rows of the largest size fill a leaf: inserted between others, grown and shrunk in place,
// rolled back, deleted and purged.
TEST_F(RowTest, RowsOfTheLargestSizeGrowShrinkAndGoBack) {
  constexpr uint32_t kRows = 60;
  const size_t most = Tree::MaxEntryBytes(TestPageSizeBytes()) - 4 - kClusteredHeaderBytes;
  auto writer = NewActor();
  for (uint32_t i = 0; i < kRows; ++i) {
    const uint32_t id = i * 37 % kRows;
    ASSERT_TRUE(InsertRaw(writer.get(), id, std::string(id % 2 == 0 ? most : 9, 'o')).ok());
  }
  ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
  auto reader = NewActor();
  EXPECT_EQ(ReadRaw(reader.get(), 0).size(), most);
  for (const bool commits : {false, true}) {
    writer = NewActor();
    for (uint32_t id = 0; id < kRows; ++id) {
      ASSERT_TRUE(UpdateRaw(writer.get(), id, std::string(id % 2 == 0 ? 9 : most, 'n')).ok());
    }
    for (uint32_t id = kRows; id < 2 * kRows; ++id) {
      ASSERT_TRUE(InsertRaw(writer.get(), id, std::string(most, 'x')).ok());
    }
    for (uint32_t id = 0; id < kRows; id += 3) ASSERT_TRUE(DeleteRaw(writer.get(), id).ok());
    const Status end = commits ? fixture_.Commit(writer.get()) : fixture_.Rollback(writer.get());
    ASSERT_TRUE(end.ok());
    ASSERT_TRUE(fixture_.index(0)->tree.Check({}).ok());
    for (uint32_t id = 0; id < kRows; ++id) {
      ASSERT_EQ(ReadRaw(reader.get(), id), std::string(id % 2 == 0 ? most : 9, 'o'));
    }
  }
  ASSERT_TRUE(fixture_.Commit(reader.get()).ok());
  writer = NewActor();
  for (uint32_t id = kRows; id < 2 * kRows; ++id) ASSERT_TRUE(DeleteRaw(writer.get(), id).ok());
  ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
  fixture_.Purge();
  EXPECT_EQ(fixture_.Raw(0).size(), kRows * 2 / 3);
  ASSERT_TRUE(fixture_.index(0)->tree.Check({}).ok());
}

// Splits on the way there, rows that grow again on the way back.
TEST_F(RowTest, RollbackOfManyRowsRestoresThem) {
  constexpr uint32_t kRows = 600;
  auto writer = NewActor();
  for (uint32_t id = 0; id < kRows; ++id) {
    ASSERT_TRUE(InsertRaw(writer.get(), id, std::string(100 + id % 50, 'o')).ok());
  }
  ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
  writer = NewActor();
  for (uint32_t id = 0; id < kRows; ++id) ASSERT_TRUE(UpdateRaw(writer.get(), id, "tiny").ok());
  for (uint32_t id = kRows; id < 6 * kRows; ++id) {
    ASSERT_TRUE(InsertRaw(writer.get(), id, "new").ok());
  }
  for (uint32_t id = 0; id < kRows; id += 2) ASSERT_TRUE(DeleteRaw(writer.get(), id).ok());
  ASSERT_TRUE(fixture_.Rollback(writer.get()).ok());
  const auto rows = fixture_.Raw(0);
  ASSERT_EQ(rows.size(), kRows);
  for (uint32_t id = 0; id < kRows; ++id) {
    ASSERT_EQ(rows[id].value.substr(kClusteredHeaderBytes), std::string(100 + id % 50, 'o'));
  }
}

TEST_F(RowTest, RollbackOverAPurgedDeleteLeavesNoGarbage) {
  auto blocker = NewActor();
  ASSERT_TRUE(InsertRaw(blocker.get(), 9, "blocker").ok());
  auto setup = NewActor();
  ASSERT_TRUE(InsertRaw(setup.get(), 1, "one").ok());
  ASSERT_TRUE(fixture_.Commit(setup.get()).ok());
  setup = NewActor();
  ASSERT_TRUE(DeleteRaw(setup.get(), 1).ok());
  ASSERT_TRUE(fixture_.Commit(setup.get()).ok());
  auto writer = NewActor();
  ASSERT_TRUE(InsertRaw(writer.get(), 1, "two").ok());
  fixture_.Purge();
  ASSERT_TRUE(fixture_.Rollback(writer.get()).ok());
  ASSERT_TRUE(fixture_.Rollback(blocker.get()).ok());
  fixture_.Purge();
  EXPECT_EQ(fixture_.Raw(0).size(), 0u);
}

TEST_F(RowTest, QueueTableStaysSmall) {
  for (uint32_t round = 0; round < 20; ++round) {
    auto writer = NewActor();
    for (uint32_t id = 0; id < 300; ++id) {
      ASSERT_TRUE(InsertRaw(writer.get(), round * 300 + id, std::string(50, 'q')).ok());
      if (round > 0) {
        ASSERT_TRUE(DeleteRaw(writer.get(), (round - 1) * 300 + id).ok());
      }
    }
    ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
    fixture_.Purge();
  }
  EXPECT_EQ(fixture_.Raw(0).size(), 300u);
  Result<TreeStatistics> statistics = fixture_.index(0)->tree.Statistics();
  ASSERT_TRUE(statistics.ok());
  EXPECT_LE(statistics->leaf_pages, 40u);
}

TEST_F(RowTest, WriterWaitsForWriter) {
  auto setup = NewActor();
  ASSERT_TRUE(InsertRaw(setup.get(), 1, "start").ok());
  ASSERT_TRUE(fixture_.Commit(setup.get()).ok());
  for (const bool commit : {true, false}) {
    auto first = NewActor();
    ASSERT_TRUE(UpdateRaw(first.get(), 1, "first").ok());
    std::thread second([&] {
      Actor actor(fixture_.manager());
      RowFixture::Begin(&actor);
      EXPECT_TRUE(UpdateRaw(&actor, 1, "second").ok());
      EXPECT_TRUE(fixture_.Commit(&actor).ok());
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(commit ? fixture_.Commit(first.get()).ok() : fixture_.Rollback(first.get()).ok());
    second.join();
    auto reader = NewActor();
    EXPECT_EQ(ReadRaw(reader.get(), 1), "second");
  }
}

TEST_F(RowTest, InsertersOfOneKeyWait) {
  for (const bool commit : {true, false}) {
    auto first = NewActor();
    ASSERT_TRUE(InsertRaw(first.get(), 5, "first").ok());
    Code outcome = Code::kOk;
    std::thread second([&] {
      Actor actor(fixture_.manager());
      RowFixture::Begin(&actor);
      outcome = InsertRaw(&actor, 5, "second").code();
      EXPECT_TRUE(fixture_.Rollback(&actor).ok());
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(commit ? fixture_.Commit(first.get()).ok() : fixture_.Rollback(first.get()).ok());
    second.join();
    EXPECT_EQ(outcome, commit ? Code::kDuplicate : Code::kOk);
    if (commit) {
      first = NewActor();
      ASSERT_TRUE(DeleteRaw(first.get(), 5).ok());
      ASSERT_TRUE(fixture_.Commit(first.get()).ok());
    }
  }
}

// A row that was inserted and undone again, alone or over a deleted one, keeps nobody waiting.
TEST_F(RowTest, WaitersForAnUndoneInsertGoOn) {
  auto setter = NewActor();
  ASSERT_TRUE(fixture_.Insert(setter.get(), 7, {1, 7, "t"}).ok());
  ASSERT_TRUE(fixture_.Commit(setter.get()).ok());
  auto old_reader = NewActor();  // keeps the deleted row
  fixture_.manager()->OpenSnapshot(&old_reader->txn);
  RowFixture::Begin(setter.get());
  ASSERT_TRUE(fixture_.Delete(setter.get(), 7, {1, 7, "t"}).ok());
  ASSERT_TRUE(fixture_.Commit(setter.get()).ok());

  const auto undo_before = [this](uint32_t id, auto wait) {
    auto owner = NewActor();
    ASSERT_TRUE(fixture_.Insert(owner.get(), 100, {1, 100, "t"}).ok());
    const UndoPosition before = fixture_.manager()->Savepoint(&owner->txn);
    ASSERT_TRUE(fixture_.Insert(owner.get(), id, {1, 50, "t"}).ok());
    auto waiter = NewActor();
    waiter->txn.locks.wait_timeout_s = 60;
    std::thread thread([&] {
      const Status status = wait(waiter.get(), id);
      EXPECT_FALSE(status.Is(Code::kLockTimeout)) << id;
    });
    while (waiter->txn.locks.waiting_for.load() == nullptr) std::this_thread::yield();
    ASSERT_TRUE(fixture_.manager()->RollbackTo(&owner->txn, before).ok());
    thread.join();
    ASSERT_TRUE(fixture_.Rollback(waiter.get()).ok());
    ASSERT_TRUE(fixture_.Rollback(owner.get()).ok());
  };
  const auto read = [this](Actor* actor, uint32_t id) {
    TestRow row;
    return fixture_.Get(actor, id, ReadMode::kLockShared, &row);
  };
  const auto insert = [this](Actor* actor, uint32_t id) {
    return fixture_.Insert(actor, id, {2, 51, "t"});
  };
  const auto insert_unique = [this](Actor* actor, uint32_t id) {
    return fixture_.Insert(actor, id + 1, {2, 50, "t"});
  };
  for (const uint32_t id : {5u, 7u}) {
    undo_before(id, read);
    undo_before(id, insert);
    undo_before(id, insert_unique);
  }
}

TEST_F(RowTest, UncontendedWritesMakeNoLockEntries) {
  auto setup = NewActor();
  for (uint32_t id = 0; id < 20; ++id) {
    ASSERT_TRUE(fixture_.Insert(setup.get(), id, {id, id, "t"}).ok());
  }
  ASSERT_TRUE(fixture_.Commit(setup.get()).ok());
  auto writer = NewActor();
  for (uint32_t id = 0; id < 20; ++id) {
    ASSERT_TRUE(fixture_.Update(writer.get(), id, {id, id, "t"}, {id + 1, id + 100, "u"}).ok());
  }
  ASSERT_TRUE(fixture_.Insert(writer.get(), 50, {7, 7, "new"}).ok());
  ASSERT_TRUE(fixture_.Delete(writer.get(), 3, {4, 103, "u"}).ok());
  EXPECT_EQ(fixture_.manager()->locks()->lock_count(), 0u);
  ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
}

TEST_F(RowTest, BlobsAreFreedByRollbackAndPurge) {
  PageAllocator* pages = fixture_.allocator();
  const uint32_t before = RowFixture::Take(pages->CheckSpace(kFirstTableSpace));
  const std::string value(200000, 'b');
  const auto write = [&](Actor* actor) {
    EXPECT_TRUE(actor->writer.PrepareUndo(&actor->txn, kBlobRefBytes).ok());
    return fixture_.blobs()->Write(kFirstTableSpace, AsBytes(value),
                                   [&](MiniTxn* mini_txn, const BlobRef& ref) {
                                     return actor->writer.LogBlobWrite(&actor->txn, mini_txn, ref);
                                   });
  };
  auto writer = NewActor();
  ASSERT_TRUE(write(writer.get()).ok());
  EXPECT_GT(RowFixture::Take(pages->CheckSpace(kFirstTableSpace)), before);
  ASSERT_TRUE(fixture_.Rollback(writer.get()).ok());
  EXPECT_EQ(RowFixture::Take(pages->CheckSpace(kFirstTableSpace)), before);

  writer = NewActor();
  const BlobRef ref = RowFixture::Take(write(writer.get()));
  ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
  writer = NewActor();
  ASSERT_TRUE(writer->writer.LogBlobDrop(&writer->txn, ref).ok());
  ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
  fixture_.Purge();
  EXPECT_EQ(RowFixture::Take(pages->CheckSpace(kFirstTableSpace)), before);
}

TEST_F(RowTest, ExtensionsReachTheirOwner) {
  auto writer = NewActor();
  ASSERT_TRUE(writer->writer.LogExtension(&writer->txn, AsBytes("undo me")).ok());
  ASSERT_TRUE(fixture_.Rollback(writer.get()).ok());
  EXPECT_EQ(fixture_.undone_extensions_, std::vector<std::string>{"undo me"});
  writer = NewActor();
  ASSERT_TRUE(writer->writer.LogExtension(&writer->txn, AsBytes("purge me")).ok());
  ASSERT_TRUE(fixture_.Commit(writer.get()).ok());
  fixture_.Purge();
  EXPECT_EQ(fixture_.purged_extensions_, std::vector<std::string>{"purge me"});
}

}  // namespace
}  // namespace rowan
