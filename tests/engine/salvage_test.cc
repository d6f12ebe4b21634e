// SPDX-License-Identifier: GPL-2.0-only
// What is readable of a damaged table is read with RecoveryOptions::force: the rows of all pages
// that are not damaged, forwards and backwards, by the clustered index and by another one, however
// the inner pages look. Nothing is read around damage otherwise, and nothing is changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/random.h"
#include "btree/leaf_directory.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/log_capture.h"

namespace rowan::salvage_test {
namespace {

constexpr uint64_t kRows = 2000;

class SalvageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(world_.Open().ok());
    std::shared_ptr<Table> table = world_.CreateTable("test/t");
    id_ = table->id();
    path_ = "/rowan/space_" + std::to_string(table->definition().space.value());
    rows_ = world_.Fill(table.get(), kRows, [](uint64_t id) {
      ToyRow row;
      row.value = static_cast<uint32_t>(id * 7 % kRows);
      row.unique = static_cast<uint32_t>(id);
      row.text = std::string(100, 'x');
      return row;
    });
    clustered_ = LeavesOf(table.get(), 0);
    ASSERT_GT(clustered_->After({})->page.value(), 0U);
    root_ = table->definition().indexes[0].root;
    table.reset();
    ASSERT_TRUE(world_.Shutdown().ok());
  }

  static std::shared_ptr<const LeafDirectory> LeavesOf(Table* table, size_t index) {
    auto built = LeafDirectory::Build(&table->index(index)->tree, [] { return false; });
    EXPECT_TRUE(built.ok());
    EXPECT_TRUE((*built)->unreadable().empty());
    return *built;
  }
  void Damage(PageNumber page) {
    const uint64_t offset = uint64_t{page.value()} * world_.options.storage.page_size_bytes + 500;
    ASSERT_TRUE(world_.files.FlipBit(path_ + ".rws", offset, 3));
    damaged_.insert(page.value());
  }
  /// Some leaves, the first and the last one among them.
  void DamageLeaves(Random* random) {
    std::vector<PageNumber> leaves;
    for (const LeafDirectory::Leaf* leaf = clustered_->First(); leaf != nullptr;
         leaf = clustered_->After(AsBytes(leaf->first_key))) {
      leaves.push_back(leaf->page);
    }
    ASSERT_GT(leaves.size(), 12U);
    Damage(leaves.front());
    Damage(leaves.back());
    for (int i = 0; i < 4; ++i) {
      const PageNumber page = leaves[1 + random->Below(leaves.size() - 2)];
      if (!damaged_.contains(page.value())) Damage(page);
    }
  }
  void OpenForced() {
    world_.options.storage.recovery.force = true;
    ASSERT_TRUE(world_.Open().ok()) << log_.Text();
    Result<std::shared_ptr<Table>> opened = world_.engine->OpenTable(id_);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    table_ = *opened;
  }
  ToyRows Expected() const {
    ToyRows rows;
    for (const auto& [id, row] : rows_) {
      const LeafDirectory::Leaf* leaf = clustered_->OwnerOf(AsBytes(ToyKey(id)));
      if (!damaged_.contains(leaf->page.value())) rows[id] = row;
    }
    return rows;
  }
  /// In the order in which they come.
  ToyRows Read(uint32_t index, bool forward, ReadMode mode = ReadMode::kSnapshot) {
    ToyRows rows;
    std::unique_ptr<Session> session = world_.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    TableCursor cursor(session.get(), table_.get(), &ToyCodec(), {.mode = mode});
    cursor.OpenScan(index);
    StoredRow stored;
    Status status = forward ? cursor.SeekFirst(&stored) : cursor.SeekLast(&stored);
    while (status.ok()) {
      const uint64_t id = LoadBe64(stored.key.data());
      EXPECT_FALSE(rows.contains(id)) << id << " comes twice";
      rows[id] = ToyDecode(stored.value);
      status = forward ? cursor.Next(&stored) : cursor.Prev(&stored);
    }
    EXPECT_EQ(status.code(), Code::kEndOfRange) << status.message();
    cursor.CloseScan();
    report_ = cursor.TakeSalvageReport();
    EXPECT_TRUE(session->Commit().ok());
    return rows;
  }
  void ExpectAllThatIsReadable() {
    const ToyRows expected = Expected();
    ASSERT_LT(expected.size(), rows_.size());
    ASSERT_GT(expected.size(), rows_.size() / 4);
    for (const uint32_t index : {0U, 1U, 2U}) {
      for (const bool forward : {true, false}) {
        EXPECT_EQ(Read(index, forward), expected) << "index " << index << " forward " << forward;
        EXPECT_NE(report_.find("Table 'test/t' is damaged"), std::string::npos) << report_;
      }
    }
    EXPECT_EQ(Read(0, true, ReadMode::kLockShared), expected);
    std::unique_ptr<Session> session = world_.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    TableCursor cursor(session.get(), table_.get(), &ToyCodec());
    Result<uint64_t> count = cursor.CountEntries(0);
    EXPECT_TRUE(count.ok() && *count == expected.size()) << (count.ok() ? *count : 0);
  }

  LogCapture log_;
  EngineFixture world_{TestSeed()};
  Random random_{TestSeed()};
  TableId id_;
  std::string path_;  ///< of the table's file, without its ending
  ToyRows rows_;
  std::shared_ptr<const LeafDirectory> clustered_;  ///< of the table when it was whole
  PageNumber root_{0};
  std::set<uint32_t> damaged_;
  std::shared_ptr<Table> table_;
  std::string report_;
};

TEST_F(SalvageTest, RowsOfAllOtherLeaves) {
  DamageLeaves(&random_);
  OpenForced();
  const uint64_t before = ReadCounter(Counter::kSalvagePagesSkipped);
  ExpectAllThatIsReadable();
  EXPECT_GT(ReadCounter(Counter::kSalvagePagesSkipped), before);
}

TEST_F(SalvageTest, RowsOfAllOtherLeavesWithoutInnerPages) {
  DamageLeaves(&random_);
  Damage(root_);
  OpenForced();
  ExpectAllThatIsReadable();
}

TEST_F(SalvageTest, RowsOfATableWithoutItsHeader) {
  DamageLeaves(&random_);
  Damage(PageNumber(0));
  OpenForced();
  ExpectAllThatIsReadable();
}

TEST_F(SalvageTest, RowsOfATableThatWasMarked) {
  DamageLeaves(&random_);
  Result<std::unique_ptr<File>> mark = world_.files.Open(path_ + ".damaged", {.create = true});
  ASSERT_TRUE(mark.ok());
  OpenForced();
  ExpectAllThatIsReadable();
  table_.reset();
  ASSERT_TRUE(world_.Shutdown().ok());
  world_.options.storage.recovery.force = false;
  ASSERT_TRUE(world_.Open().ok());
  EXPECT_TRUE(world_.engine->OpenTable(id_).status().Is(Code::kCorrupt));
}

TEST_F(SalvageTest, NothingIsPassedOverUnlessAskedTo) {
  DamageLeaves(&random_);
  ASSERT_TRUE(world_.Open().ok());
  Result<std::shared_ptr<Table>> opened = world_.engine->OpenTable(id_);
  if (!opened.ok()) return;  // the last leaf is read to open it
  std::unique_ptr<Session> session = world_.engine->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
  TableCursor cursor(session.get(), opened->get(), &ToyCodec());
  cursor.OpenScan(0);
  StoredRow stored;
  EXPECT_TRUE(cursor.SeekFirst(&stored).Is(Code::kCorrupt));
}

TEST_F(SalvageTest, ReadsForChangesFailOnDamage) {
  DamageLeaves(&random_);
  OpenForced();
  std::unique_ptr<Session> session = world_.engine->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
  TableCursor cursor(session.get(), table_.get(), &ToyCodec(), {.mode = ReadMode::kLockExclusive});
  cursor.OpenScan(0);
  StoredRow stored;
  EXPECT_TRUE(cursor.SeekFirst(&stored).Is(Code::kCorrupt));
}

}  // namespace
}  // namespace rowan::salvage_test
