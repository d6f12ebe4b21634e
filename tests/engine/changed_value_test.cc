// SPDX-License-Identifier: GPL-2.0-only
// Off-page values that are changed in part: what is written of them, and a model of many versions.
#include <gtest/gtest.h>

#include <list>

#include "base/counters.h"
#include "base/random.h"
#include "space/space_format.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/await.h"

namespace rowan {
namespace {

const size_t kPage = TestPageSizeBytes();

class ChangedValueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(world.Open().ok());
    table = world.CreateTable("test/t");
    ASSERT_NE(table, nullptr);
  }
  static ToyRow RowWith(std::string blob) { return {1, 4, "", std::move(blob)}; }
  void Insert(const ToyRow& row) {
    std::unique_ptr<Session> session = Begin();
    ASSERT_TRUE(EngineFixture::Insert(session.get(), table.get(), 1, row).ok());
    ASSERT_TRUE(session->Commit().ok());
  }
  void Update(const ToyRow& before, const ToyRow& after) {
    std::unique_ptr<Session> session = Begin();
    ASSERT_TRUE(EngineFixture::Update(session.get(), table.get(), 1, before, after).ok());
    ASSERT_TRUE(session->Commit().ok());
  }
  std::unique_ptr<Session> Begin() {
    std::unique_ptr<Session> session = world.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    return session;
  }
  ToyRows ReadIn(Session* session) {
    ToyRows rows;
    TableCursor cursor(session, table.get(), &ToyCodec());
    const Status status = cursor.VisitEntries(0, [&](Bytes key, Bytes row) {
      return EngineFixture::Decode(session, row, &rows[LoadBe64(key.data())]);
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return rows;
  }
  uint32_t UsedPages() {
    return world.engine->impl()
        ->storage->allocator()
        ->Statistics(table->space())
        .value()
        .used_pages;
  }
  bool SaysSo() {
    Result<PageGuard> header = world.engine->impl()->storage->pool()->Fix(
        {table->space(), PageNumber(0)}, LatchMode::kShared);
    return LoadFeatures(header->page() + space_layout::kFeaturesOffset) == kChangedValuesFeature;
  }
  /// All old versions are gone: every page in use is one that a row leads to.
  void ExpectNothingLost(const ToyRows& rows) {
    ASSERT_TRUE(Await([&] { return world.engine->Figures().purge.history_length == 0; }));
    world.CheckTable(table.get(), rows);
  }

  EngineFixture world{TestSeed()};
  std::shared_ptr<Table> table;
};

TEST_F(ChangedValueTest, ASmallChangeWritesNoPageAndLittleLog) {
  ToyRow row = RowWith(std::string(20 * kPage, 'a'));
  Insert(row);
  EXPECT_FALSE(SaysSo());
  const uint32_t pages = UsedPages();
  const uint64_t log = ReadCounter(Counter::kLogBytes);
  for (char byte = 'b'; byte < 'g'; ++byte) {
    const ToyRow before = row;
    row.blob.replace(9 * kPage, 5, 5, byte);
    Update(before, row);
  }
  EXPECT_LT(ReadCounter(Counter::kLogBytes) - log, 2 * kPage);
  EXPECT_EQ(UsedPages(), pages);
  EXPECT_TRUE(SaysSo());
  EXPECT_EQ(world.ReadAll(table.get()).at(1), row);
  ExpectNothingLost({{1, row}});
}

TEST_F(ChangedValueTest, ManyChangesMoveIntoAPatchAndThenTheValueIsWrittenWhole) {
  ToyRow row = RowWith(std::string(20 * kPage, 'a'));
  Insert(row);
  const uint32_t pages = UsedPages();
  const uint64_t log = ReadCounter(Counter::kLogBytes);
  constexpr uint32_t kUpdates = 1500;
  uint32_t patched = 0;
  uint64_t bytes = 0;
  Random random(TestSeed());
  const uint64_t changed = ReadCounter(Counter::kValuesChanged);
  for (uint32_t i = 0; i < kUpdates; ++i) {
    const ToyRow before = row;
    const size_t at = random.Below(row.blob.size() - 16);
    for (size_t byte = at; byte < at + 16; ++byte) {
      row.blob[byte] = static_cast<char>(random.Below(256));
    }
    Update(before, row);
    bytes += row.blob.size();
    if (UsedPages() > pages) ++patched;
  }
  EXPECT_GT(patched, 0u);
  const uint64_t in_part = ReadCounter(Counter::kValuesChanged) - changed;
  EXPECT_GT(in_part, kUpdates - 100);
  EXPECT_LT(in_part, kUpdates) << "never written whole: the patch grows without bound";
  EXPECT_LT(ReadCounter(Counter::kLogBytes) - log, bytes / 10);
  ExpectNothingLost({{1, row}});
  EXPECT_LE(UsedPages(), pages + 20 / 4 + 1);
}

TEST_F(ChangedValueTest, OtherSizesAndLargeChangesAreWrittenWhole) {
  const uint64_t changed = ReadCounter(Counter::kValuesChanged);
  ToyRow row = RowWith(std::string(8 * kPage, 'a'));
  Insert(row);
  const auto change_to = [&](std::string blob) {
    const ToyRow after = RowWith(std::move(blob));
    Update(row, after);
    row = after;
    EXPECT_EQ(world.ReadAll(table.get()).at(1), row);
  };
  change_to(std::string(8 * kPage + 1, 'a'));
  change_to(std::string(8 * kPage, 'a'));
  change_to(std::string(8 * kPage, 'b'));
  change_to("");
  change_to("short");
  change_to("sport");
  EXPECT_EQ(ReadCounter(Counter::kValuesChanged), changed);
  EXPECT_FALSE(SaysSo());
  ExpectNothingLost({{1, row}});
}

TEST_F(ChangedValueTest, AReferenceThatHasNoRoomAnyMoreBecomesShorter) {
  for (const size_t pages : {2, 20}) {
    const std::string before(pages * kPage, 'a');
    std::string after = before;
    after.replace(kPage, kPage / 40, kPage / 40, 'b');
    std::unique_ptr<Session> session = Begin();
    const OffPageValue whole{.base = session->WriteBlob(table.get(), AsBytes(before)).value()};
    const auto change = [&](const OffPageValue& stored, const std::string& old, size_t most) {
      const ValueChange wanted{.stored = &stored,
                               .before = AsBytes(old),
                               .after = AsBytes(after),
                               .reference_bytes_max = most};
      OffPageValue value = session->ChangeValue(table.get(), wanted).value();
      EXPECT_LE(ReferenceBytes(value), most);
      std::string read(after.size(), '\0');
      EXPECT_TRUE(
          session->ReadValue(value, {reinterpret_cast<std::byte*>(read.data()), read.size()}).ok());
      EXPECT_TRUE(read == after);
      return value;
    };
    const OffPageValue changed = change(whole, before, kPage / 8);
    EXPECT_FALSE(changed.recent.empty());
    // The same bytes again: as they are stored, but where that is too long.
    EXPECT_TRUE(SameValue(change(changed, after, ReferenceBytes(changed)), changed));
    EXPECT_EQ(change(changed, after, ReferenceBytes(changed) - 1).has_patch(), pages > 4);
    EXPECT_EQ(change(changed, after, kChangedReferenceBytes).has_patch(), pages > 4);
    EXPECT_FALSE(change(changed, after, kBlobRefBytes).is_changed());
    ASSERT_TRUE(session->Rollback().ok());
  }
}

TEST_F(ChangedValueTest, TheTableSaysSoAfterACrashToo) {
  ToyRow row = RowWith(std::string(4 * kPage, 'a'));
  Insert(row);
  ToyRow after = row;
  after.blob[kPage] = 'b';
  Update(row, after);
  const TableId id = table->id();
  table.reset();
  world.Crash(TestSeed());
  ASSERT_TRUE(world.Open().ok());
  table = world.engine->OpenTable(id).value();
  EXPECT_TRUE(SaysSo());
  world.ExpectTable(id, {{1, after}});
}

/// Rows whose values are changed in all ways, beside snapshots that see versions of any age.
class VersionsModel {
 public:
  VersionsModel(EngineFixture* world, Table* table, const std::function<ToyRows(Session*)>& read)
      : world_(world), table_(table), read_(read) {}

  void Run(uint32_t transactions) {
    for (uint32_t i = 0; i < transactions && !::testing::Test::HasFailure(); ++i) {
      Transaction();
      if (random_.OneIn(4)) OpenSnapshot();
      if (snapshots_.size() > 4 || random_.OneIn(6)) CloseAnySnapshot();
      if (random_.OneIn(8)) CheckSnapshots();
    }
    CheckSnapshots();
    while (!snapshots_.empty()) CloseAnySnapshot();
  }
  [[nodiscard]] const ToyRows& rows() const { return rows_; }

 private:
  struct Seen {
    std::unique_ptr<Session> session;
    ToyRows rows;
  };

  void Transaction() {
    std::unique_ptr<Session> session = NewSession();
    ToyRows rows = rows_;
    for (uint64_t changes = 1 + random_.Below(5); changes > 0; --changes) {
      const UndoPosition savepoint = session->Savepoint();
      const ToyRows before = rows;
      ASSERT_TRUE(Change(session.get(), &rows).ok());
      if (!random_.OneIn(4)) continue;
      ASSERT_TRUE(session->RollbackTo(savepoint).ok());
      rows = before;
    }
    EXPECT_EQ(read_(session.get()), rows);
    if (random_.OneIn(4)) {
      ASSERT_TRUE(session->Rollback().ok());
    } else {
      ASSERT_TRUE(session->Commit().ok());
      rows_ = std::move(rows);
    }
  }
  Status Change(Session* session, ToyRows* rows) {
    constexpr uint64_t kIds = 4;
    const uint64_t id = 1 + random_.Below(kIds);
    const auto found = rows->find(id);
    if (found == rows->end()) {
      const ToyRow row = RandomRow(id);
      (*rows)[id] = row;
      return EngineFixture::Insert(session, table_, id, row);
    }
    const ToyRow before = found->second;
    if (random_.OneIn(12)) {
      rows->erase(found);
      return EngineFixture::Delete(session, table_, id, before);
    }
    const bool in_part = !before.blob.empty() && !random_.OneIn(8);
    found->second = in_part ? Changed(before) : RandomRow(id);
    return EngineFixture::Update(session, table_, id, before, found->second);
  }
  ToyRow RandomRow(uint64_t id) {
    return {.value = 1,
            .unique = static_cast<uint32_t>(id),
            .text = std::string(random_.Below(kPage / 8), 't'),
            .blob = std::string(random_.Below(10 * kPage), static_cast<char>(random_.Next()))};
  }
  ToyRow Changed(ToyRow row) {
    const size_t most = random_.OneIn(6) ? kPage / 2 : 40;
    for (uint64_t changes = 1 + random_.Below(4); changes > 0; --changes) {
      const size_t at = random_.Below(row.blob.size());
      const size_t size = std::min<size_t>(row.blob.size() - at, random_.Below(most));
      row.blob.replace(at, size, size, static_cast<char>(random_.Next()));
    }
    return row;
  }
  std::unique_ptr<Session> NewSession() {
    std::unique_ptr<Session> session = world_->engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    return session;
  }
  void OpenSnapshot() {
    snapshots_.push_back({NewSession(), rows_});
    snapshots_.back().session->OpenSnapshot();
  }
  void CheckSnapshots() {
    for (Seen& seen : snapshots_) EXPECT_TRUE(read_(seen.session.get()) == seen.rows);
  }
  void CloseAnySnapshot() {
    if (snapshots_.empty()) return;
    const auto closed =
        std::next(snapshots_.begin(), static_cast<ptrdiff_t>(random_.Below(snapshots_.size())));
    EXPECT_TRUE(read_(closed->session.get()) == closed->rows);
    EXPECT_TRUE(closed->session->Commit().ok());
    snapshots_.erase(closed);
  }

  EngineFixture* const world_;
  Table* const table_;
  const std::function<ToyRows(Session*)> read_;
  Random random_{TestSeed()};
  ToyRows rows_;
  std::list<Seen> snapshots_;
};

TEST_F(ChangedValueTest, EveryVersionKeepsItsBytesAndNoPageIsLost) {
  VersionsModel model(&world, table.get(), [this](Session* session) { return ReadIn(session); });
  const uint64_t changed = ReadCounter(Counter::kValuesChanged);
  model.Run(250);
  EXPECT_GT(ReadCounter(Counter::kValuesChanged) - changed, 100u);
  EXPECT_TRUE(world.ReadAll(table.get()) == model.rows());
  ExpectNothingLost(model.rows());
}

}  // namespace
}  // namespace rowan
