// SPDX-License-Identifier: GPL-2.0-only
// The sentence that tells the operator what is damaged, whose it is and what to do; and how many
// page writers a pool has.
#include "buffer/damage_reporter.h"

#include <gtest/gtest.h>

#include <string>

#include "buffer/writer_slots.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

constexpr IndexId kIndex(7);

class DamageReporterTest : public testing::Test {
 protected:
  std::string Told(SpaceId space, const DamagedObject& owner) {
    reporter_.SetNamer([&owner](SpaceId, IndexId index) {
      EXPECT_EQ(index, kIndex);
      return owner;
    });
    const LogCapture log;
    reporter_.Report({space, PageNumber(4711)}, "it is not a node of its index", kIndex);
    const std::string begin =
        "Page 4711 of " + spaces_.PathOf(space) + " is damaged: it is not a node of its index. ";
    EXPECT_EQ(log.Text().substr(0, begin.size()), begin);
    return log.Text().substr(begin.size());
  }

  FaultFileSystem files_{TestSeed()};
  SpaceFiles spaces_{&files_, "/instance", TestPageSizeBytes()};
  DamageReporter reporter_{&spaces_};
};

TEST_F(DamageReporterTest, NamesTheTableAndTheIndexAndWhatToDo) {
  const std::string rebuilt = Told(kFirstTableSpace, {"shop/orders", "by_date", true});
  EXPECT_NE(rebuilt.find("index 'by_date' of table 'shop/orders'"), std::string::npos) << rebuilt;
  EXPECT_NE(rebuilt.find("adding it again"), std::string::npos) << rebuilt;
  const std::string rows = Told(kFirstTableSpace, {"shop/orders", "PRIMARY", false});
  EXPECT_NE(rows.find("restore a backup"), std::string::npos) << rows;
  const std::string table = Told(kFirstTableSpace, {"shop/orders", "", false});
  EXPECT_NE(table.find("It is of table 'shop/orders'."), std::string::npos) << table;
}

TEST_F(DamageReporterTest, SaysWhatIsKnownOfSpacesWithoutTables) {
  EXPECT_NE(Told(kUndoSpace, {}).find("of the undo space."), std::string::npos);
  const std::string undo = Told(kUndoSpace, {"shop/orders", "", false});
  EXPECT_NE(undo.find("has changes of table 'shop/orders'"), std::string::npos) << undo;
  EXPECT_NE(Told(kSystemSpace, {}).find("of the catalog"), std::string::npos);
  EXPECT_EQ(Told(kFirstTableSpace, {}), "Statements that need it fail; the rest works.\n");
}

TEST_F(DamageReporterTest, IsOfUseBeforeThereIsSomebodyToName) {
  const LogCapture log;
  reporter_.Report({kFirstTableSpace, PageNumber(1)}, "it rots", kNoIndex);
  EXPECT_TRUE(log.Has("is damaged: it rots. Statements that need it fail")) << log.Text();
}

TEST(WriterSlotsTest, AreDistinctAndBoundedForAnyPool) {
  for (uint64_t frames = 1; frames < (uint64_t{1} << 28); frames *= 3) {
    BufferOptions options;
    options.cleaners = 0;
    options.session_writers = 0;
    options.pool_bytes = frames * 16384;
    const WriterSlots slots = WriterSlots::Of(options, 16384);
    EXPECT_GE(slots.sessions, 1u);
    EXPECT_LE(slots.sessions, 4u);
    EXPECT_GE(slots.cleaners, 1u);
    EXPECT_LE(slots.cleaners, 8u);
    EXPECT_GT(slots.first_cleaner(), WriterSlots::kSessions + slots.sessions - 1);
    EXPECT_EQ(slots.total(), slots.first_cleaner() + slots.cleaners);
    options.cleaners = 3;
    options.session_writers = 2;
    EXPECT_EQ(WriterSlots::Of(options, 16384).total(), 1u + 2u + 3u) << "as they are set";
  }
}

}  // namespace
}  // namespace rowan
