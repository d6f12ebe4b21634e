// SPDX-License-Identifier: GPL-2.0-only
// What a newer build may leave: feature bits that this one does not know, in each of the three
// places, and a record of a version that nobody registered. Refusals name the file and change
// nothing.
#include <gtest/gtest.h>

#include "space/space_pages.h"
#include "tests/engine/engine_fixture.h"
#include "tests/engine/instance_image.h"
#include "tests/support/log_capture.h"
#include "wal/control_file.h"
#include "wal/log_file_header.h"

namespace rowan {
namespace {

constexpr size_t kControlFeaturesAt = 136;
constexpr size_t kControlUnknownAt = 4000;
constexpr size_t kLogFileFeaturesAt = 56;

class FeaturesTest : public ::testing::Test {
 protected:
  enum class Ending { kShutdown, kCrash };

  void Make(Ending ending) {
    ASSERT_TRUE(world.Open().ok());
    std::shared_ptr<Table> table = world.CreateTable("test/t");
    id = table->id();
    space_path = "/rowan/space_" + std::to_string(table->space().value()) + ".rws";
    // At home, so that its header can be changed there.
    ASSERT_TRUE(world.engine->impl()->storage->pool()->FlushAndCheckpoint().ok());
    std::unique_ptr<Session> session = world.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    for (uint64_t row = 1; row <= 50; ++row) {
      rows[row] = {static_cast<uint32_t>(row % 7), static_cast<uint32_t>(row), "text", ""};
      ASSERT_TRUE(EngineFixture::Insert(session.get(), table.get(), row, rows[row]).ok());
    }
    ASSERT_TRUE(session->Commit().ok());
    session.reset();
    table.reset();
    if (ending == Ending::kShutdown) {
      ASSERT_TRUE(world.Shutdown().ok());
    } else {
      world.engine.reset();
      world.files.Crash({.keep = CrashPlan::Keep::kEverything}, 1);
    }
  }
  void SetControl(const FormatFeatures& features) {
    for (const uint64_t slot : {0, 4096}) {
      ChangeBlock(&world.files, "/rowan/rowan.control", slot, [&](MutableBytes block) {
        StoreFeatures(block.data() + kControlFeaturesAt, features);
        block[kControlUnknownAt] = std::byte{77};
      });
    }
  }
  void SetLogFiles(const FormatFeatures& features) {
    for (const std::string& name : world.files.List("/rowan").value()) {
      if (!ParseLogFileName(name).has_value()) continue;
      ChangeBlock(&world.files, "/rowan/" + name, 0, [&](MutableBytes block) {
        StoreFeatures(block.data() + kLogFileFeaturesAt, features);
      });
    }
  }
  void SetSpace(const std::string& path, const FormatFeatures& features) {
    ChangeSpaceHeader(&world.files, path, world.options.storage.page_size_bytes,
                      [&](MutableBytes page) {
                        StoreFeatures(page.data() + space_layout::kFeaturesOffset, features);
                      });
  }
  FormatFeatures FeaturesAt(const std::string& path, size_t offset) {
    FormatFeatures features;
    ChangeBytes(&world.files, path, offset, kFormatFeaturesBytes,
                [&](MutableBytes bytes) { features = LoadFeatures(bytes.data()); });
    return features;
  }
  void ExpectRefused(const std::string& file, const std::string& what) {
    const uint64_t before = world.files.Digest();
    const LogCapture log;
    const Status status = world.Open();
    EXPECT_TRUE(status.Is(Code::kNewerFormat)) << status.message();
    EXPECT_TRUE(log.Has(file)) << log.Text();
    EXPECT_TRUE(log.Has(what)) << log.Text();
    EXPECT_TRUE(log.Has("newer version of Rowan")) << log.Text();
    EXPECT_EQ(world.files.Digest(), before) << "something was changed";
  }
  void ExpectOpens() {
    ASSERT_TRUE(world.Open().ok());
    world.ExpectTable(id, rows);
  }

  EngineFixture world{TestSeed()};
  TableId id;
  std::string space_path;
  ToyRows rows;
};

TEST_F(FeaturesTest, OfTheControlFile) {
  Make(Ending::kCrash);
  SetControl({.incompatible = 8});
  ExpectRefused("'/rowan/rowan.control'",
                "incompatible features that this version of Rowan does "
                "not know (bit 3)");
  SetControl({.read_only_compatible = uint64_t{1} << 63 | 2});
  ExpectRefused("'/rowan/rowan.control'", "read-only compatible, bits 1, 63");
  SetControl({.compatible = 5});
  ExpectOpens();
  world.engine.reset();
  // The bit is kept, and so is what such a feature may have in the file.
  EXPECT_EQ(FeaturesAt("/rowan/rowan.control", kControlFeaturesAt).compatible, 5u);
  for (const uint64_t slot : {0, 4096}) {
    ChangeBytes(&world.files, "/rowan/rowan.control", slot + kControlUnknownAt, 1,
                [](MutableBytes bytes) { EXPECT_EQ(bytes[0], std::byte{77}); });
  }
}

TEST_F(FeaturesTest, OfLogFiles) {
  Make(Ending::kCrash);
  SetLogFiles({.incompatible = 1});
  ExpectRefused("'/rowan/redo_0000000000'",
                "incompatible features that this version of Rowan does "
                "not know (bit 0)");
  SetLogFiles({.read_only_compatible = 2});
  ExpectRefused("'/rowan/redo_0000000000'", "read-only compatible, bit 1");
  SetLogFiles({.compatible = 4});
  ExpectOpens();
  world.engine.reset();
  EXPECT_EQ(FeaturesAt("/rowan/redo_0000000000", kLogFileFeaturesAt).compatible, 4u);
}

TEST_F(FeaturesTest, OfATablespaceAfterAShutdown) {
  Make(Ending::kShutdown);
  for (const FormatFeatures& features :
       {FormatFeatures{.incompatible = 2}, FormatFeatures{.read_only_compatible = 2}}) {
    SetSpace(space_path, features);
    // The table alone is refused.
    ASSERT_TRUE(world.Open().ok());
    EXPECT_NE(world.CreateTable("test/other" + std::to_string(features.incompatible)), nullptr);
    const LogCapture log;
    EXPECT_TRUE(world.engine->OpenTable(id).status().Is(Code::kNewerFormat));
    EXPECT_TRUE(log.Has("'" + space_path + "' makes use of")) << log.Text();
    EXPECT_TRUE(log.Has("bit 1")) << log.Text();
    ASSERT_TRUE(world.Shutdown().ok());
  }
  SetSpace(space_path, {.compatible = 2});
  ExpectOpens();
  ASSERT_TRUE(world.Shutdown().ok());
  EXPECT_EQ(FeaturesAt(space_path, space_layout::kFeaturesOffset).compatible, 2u);
}

TEST_F(FeaturesTest, OfATablespaceWithSomethingToRedo) {
  Make(Ending::kCrash);
  SetSpace(space_path, {.incompatible = 2});
  ExpectRefused("'" + space_path + "'", "(bit 1)");
  SetSpace(space_path, {.read_only_compatible = 2});
  ExpectRefused("'" + space_path + "'", "bit 1");
  SetSpace(space_path, {.compatible = 2});
  ExpectOpens();
}

TEST_F(FeaturesTest, OfTheSystemSpaces) {
  Make(Ending::kShutdown);
  for (const char* path : {"/rowan/space_1.rws", "/rowan/space_2.rws"}) {
    SetSpace(path, {.incompatible = 2});
    ExpectRefused(std::string("'") + path + "'", "(bit 1)");
    SetSpace(path, {});
  }
  ExpectOpens();
}

TEST_F(FeaturesTest, ANewerVersionOfARecordTypeIsRefused) {
  Make(Ending::kCrash);
  ASSERT_TRUE(world.Open().ok());
  GroupBuilder group;
  group.Add(RecordType::kPageBytes, {SpaceId(16), PageNumber(3)}, 8, 9);
  const Lsn end = world.engine->impl()->storage->log()->Append(&group);
  ASSERT_TRUE(world.engine->WaitDurable(end).ok());
  world.engine.reset();
  world.files.Crash({.keep = CrashPlan::Keep::kEverything}, 1);
  ExpectRefused("record of unknown type 2, version 9", "Nothing was changed");
}

}  // namespace
}  // namespace rowan
