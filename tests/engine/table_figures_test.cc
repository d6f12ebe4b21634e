// SPDX-License-Identifier: GPL-2.0-only
// What is known of tables without opening them, and how their statistics are stored.
#include <gtest/gtest.h>

#include "engine/catalog/catalog_fields.h"
#include "engine/catalog/statistics_row.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/await.h"

namespace rowan::table_figures_test {
namespace {

constexpr uint64_t kRows = 2000;

/// One part, the whole key.
class WholeKey : public KeyParts {
 public:
  [[nodiscard]] uint32_t PartCount(uint32_t) const override { return 1; }
  [[nodiscard]] uint32_t EqualParts(uint32_t, Bytes left, Bytes right) const override {
    return CompareBytes(left, right) == 0 ? 1 : 0;
  }
  [[nodiscard]] GroupKey SplitKey(uint32_t, Bytes key, GroupParts) const override {
    return {key.size(), key.size(), false};
  }
};

void ExpectCounted(const TableFigures& figures, const Table::Statistics& expected) {
  EXPECT_TRUE(figures.counted);
  EXPECT_EQ(figures.statistics.rows, expected.rows);
  EXPECT_EQ(figures.statistics.used_pages, expected.used_pages);
  ASSERT_EQ(figures.indexes.size(), 3U);
  EXPECT_TRUE(figures.indexes[0].clustered);
  EXPECT_TRUE(figures.indexes[2].unique);
  for (const IndexFigures& index : figures.indexes) {
    EXPECT_GT(index.tree.leaf_pages, 0U) << index.name;
    EXPECT_GT(index.tree.levels, 0U) << index.name;
    EXPECT_NEAR(static_cast<double>(index.tree.entries), kRows, kRows / 2.0) << index.name;
    EXPECT_EQ(index.rows_per_key.size(), 1U);
    EXPECT_NE(index.root, kNoPage);
  }
}

TEST(TableFiguresTest, TheyAreKnownBeforeATableIsOpened) {
  EngineFixture world(TestSeed());
  ASSERT_TRUE(world.Open().ok());
  std::shared_ptr<Table> table = world.CreateTable("test/t");
  const TableId id = table->id();
  world.Fill(table.get(), kRows, [](uint64_t row) {
    return ToyRow{static_cast<uint32_t>(row % 7), static_cast<uint32_t>(row), "a text"};
  });
  EXPECT_FALSE(world.engine->FiguresOf(id)->counted);
  table->cardinalities()->Describe(std::make_shared<WholeKey>(), {});
  ASSERT_TRUE(world.engine->RefreshStatistics(table.get()).ok());
  const Table::Statistics expected = table->statistics();
  EXPECT_GT(world.engine->FiguresOf(id)->indexes[0].inserts.Of(InsertPlace::kAscending), kRows / 2);
  ExpectCounted(world.engine->FiguresOf(id).value(), expected);
  EXPECT_TRUE(world.engine->FiguresOf(id)->open);
  table.reset();
  ASSERT_TRUE(world.Shutdown().ok());
  ASSERT_TRUE(world.Open().ok());
  EXPECT_EQ(world.engine->ListTableIds(), std::vector<TableId>{id});
  Result<TableFigures> figures = world.engine->FiguresOf(id);
  ASSERT_TRUE(figures.ok());
  EXPECT_FALSE(figures->open);
  EXPECT_EQ(figures->name, "test/t");
  ExpectCounted(figures.value(), expected);
  ASSERT_TRUE(world.engine->OpenTable(id).ok());
  EXPECT_TRUE(world.engine->FiguresOf(id)->open);
  ExpectCounted(world.engine->FiguresOf(id).value(), expected);
  EXPECT_TRUE(world.engine->FiguresOf(TableId(id.value() + 1)).status().Is(Code::kNotFound));
}

TEST(TableFiguresTest, StatisticsOfTheFirstVersionAreRead) {
  std::string row(1, 0x41);
  for (const uint64_t number : {1000, 10, 5, 64, 17, 1}) PutNumber(&row, number);
  PutNumber(&row, 2);  // parts
  PutNumber(&row, 1);  // of them stored
  PutFloat(&row, 4.0F);
  Result<StoredStatistics> read = DecodeStatistics(AsBytes(row));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->table.rows, 1000U);
  EXPECT_EQ(read->table.used_pages, 17U);
  EXPECT_EQ(read->rows_per_key, (Cardinalities::RowsPerKey{{4.0F, 1.0F}}));
  EXPECT_TRUE(read->trees.empty());
  row[0] = 0x43;
  EXPECT_TRUE(DecodeStatistics(AsBytes(row)).status().Is(Code::kNewerFormat));
  row[0] = 0x42;
  EXPECT_TRUE(DecodeStatistics(AsBytes(row)).status().Is(Code::kCorrupt));
}

TEST(TableFiguresTest, MapsOfTablesThatNobodyHasOpenGiveTheirMemoryBack) {
  EngineFixture world(TestSeed());
  ASSERT_TRUE(world.Open().ok());
  std::shared_ptr<Table> table = world.CreateTable("test/mapped");
  const TableId id = table->id();
  const ToyRows model = world.Fill(table.get(), kRows, [](uint64_t row) {
    return ToyRow{static_cast<uint32_t>(row % 7), static_cast<uint32_t>(row), "text"};
  });
  Catalog* const catalog = world.engine->impl()->catalog.get();
  const auto known = [&] { return world.engine->FiguresOf(id)->indexes[0].visibility.known; };
  const uint64_t leaves = known();
  EXPECT_GT(leaves, 2u);
  EXPECT_NE(world.engine->Figures().visibility_map_bytes, 0u);
  catalog->ForgetUnusedLeafMaps();
  EXPECT_EQ(known(), leaves) << "it is open";
  table.reset();
  // Purge may have it for a moment, and know some leaves again.
  EXPECT_TRUE(Await([&] {
    catalog->ForgetUnusedLeafMaps();
    return known() == 0 && world.engine->Figures().visibility_map_bytes == 0;
  }));
  world.ExpectTable(id, model);
}

}  // namespace
}  // namespace rowan::table_figures_test
