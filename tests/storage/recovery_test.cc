// SPDX-License-Identifier: GPL-2.0-only
// Recovery beside a model of what the space holds: in little memory, again and again, with pages
// that cannot be read for a time, and with a log that it must not touch.
#include "storage/recovery.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "buffer/buffer_redo.h"
#include "buffer/mini_txn.h"
#include "tests/storage/stored_values.h"
#include "tests/support/log_capture.h"
#include "wal/redo.h"

namespace rowan::recovery_test {
namespace {

StorageOptions OptionsOf(uint64_t memory_bytes_max, bool force) {
  StorageOptions options = StorageFixture::SmallOptions();
  options.log.capacity_bytes = uint64_t{16} << 20;
  options.background = false;
  options.buffer.doublewrite = DoublewriteMode::kOff;
  options.recovery = {.memory_bytes_max = memory_bytes_max, .workers = 2, .force = force};
  return options;
}

class StorageRecoveryTest : public testing::Test {
 protected:
  StorageRecoveryTest() {
    EXPECT_TRUE(world_.Create().ok());
    values_.ChangeSome(&world_, &random_, 20);
    EXPECT_TRUE(world_.pool().FlushAndCheckpoint().ok());
  }
  void ChangeAndCrash(int times) {
    values_.ChangeSome(&world_, &random_, times);
    ASSERT_TRUE(world_.log().WaitDurable(world_.log().tail()).ok());
    world_.Kill();
    files_.Crash(random_.Next());
  }
  /// Changes a byte that values do not use, of a page that the log does not begin.
  PageId TouchSomePage() {
    const PageId page = values_.SomePage();
    MiniTxn mini_txn(&world_.pool());
    EXPECT_TRUE(mini_txn.Start(256).ok());
    Result<MutablePage> held = mini_txn.Fix(page);
    EXPECT_TRUE(held.ok());
    if (held.ok()) LogPageBytes(&mini_txn, *held, kUnused, {&kTouched, 1});
    mini_txn.Commit();
    return page;
  }
  void ExpectTouched(PageId page) {
    const Result<PageGuard> guard = world_.pool().Fix(page, LatchMode::kShared);
    ASSERT_TRUE(guard.ok());
    EXPECT_EQ(guard.value().page()[kUnused], kTouched);
  }
  Result<std::unique_ptr<Storage>> Open(uint64_t memory_bytes_max, bool force = false) {
    return Storage::Open(&files_, OptionsOf(memory_bytes_max, force));
  }
  std::string SpacePath() { return "/instance/space_" + std::to_string(kSpace.value()) + ".rws"; }

  static constexpr SpaceId kSpace = SpaceFixture::kSpace;
  static constexpr uint32_t kUnused = blob_layout::kWholeSize + 4;
  static constexpr std::byte kTouched{0x5A};
  FaultFileSystem files_{TestSeed()};
  SpaceFixture world_{&files_, {.background = false, .doublewrite = DoublewriteMode::kOff}};
  StoredValues values_;
  Random random_{TestSeed()};
};

TEST_F(StorageRecoveryTest, LittleMemoryTakesMoreStretchesToTheSameEnd) {
  ASSERT_NO_FATAL_FAILURE(ChangeAndCrash(60));
  {
    Result<std::unique_ptr<Storage>> storage = Open(4096);
    ASSERT_TRUE(storage.ok()) << storage.status().message();
    const RecoveryStatistics& done = (*storage)->recovery()->statistics();
    EXPECT_GT(done.stretches, 1u);
    EXPECT_GE(done.records, done.groups);
    EXPECT_GT(done.records_applied, 0u);
    EXPECT_TRUE((*storage)->is_after_crash());
  }
  ASSERT_TRUE(world_.Start().ok());
  values_.ExpectIn(&world_);
}

TEST_F(StorageRecoveryTest, RecoveriesCutShortAddUpToOne) {
  ASSERT_NO_FATAL_FAILURE(ChangeAndCrash(40));
  bool finished = false;
  for (uint64_t changes = 0; !finished && changes < 400; changes += random_.Between(1, 25)) {
    SCOPED_TRACE(files_.Describe());
    const LogCapture quiet;
    files_.PowerOffAfter(changes);
    {
      Result<std::unique_ptr<Storage>> storage = Open(random_.OneIn(2) ? 4096 : 0);
      finished = storage.ok() && (*storage)->pool()->FlushAndCheckpoint().ok();
    }
    files_.Crash(random_.Next());
  }
  ASSERT_TRUE(world_.Start().ok());
  values_.ExpectIn(&world_);
}

TEST_F(StorageRecoveryTest, ChangesOfAPageThatCannotBeReadAreKeptUntilItCan) {
  const PageId page = TouchSomePage();
  ASSERT_NO_FATAL_FAILURE(ChangeAndCrash(0));
  const LogCapture log;
  files_.Inject({.call = FileCall::kRead, .path_part = SpacePath(), .lasting = true});
  EXPECT_TRUE(Open(0).status().Is(Code::kBusy)) << "later it may be read";
  for (int run = 0; run < 3; ++run) {
    Result<std::unique_ptr<Storage>> storage = Open(0, true);
    ASSERT_TRUE(storage.ok()) << storage.status().message();
    EXPECT_TRUE((*storage)->recovery()->keeps());
    EXPECT_TRUE((*storage)->damaged()->Waits(kSpace));
    EXPECT_TRUE((*storage)->damaged()->All().empty());
    EXPECT_FALSE((*storage)->pool()->Fix(page, LatchMode::kShared).ok());
    // The log goes on without them.
    ASSERT_TRUE((*storage)->pool()->FlushAndCheckpoint().ok());
    storage->reset();
    if (run != 1) continue;
    files_.Crash(random_.Next());
    files_.Inject({.call = FileCall::kRead, .path_part = SpacePath(), .lasting = true});
  }
  EXPECT_TRUE(log.Has(SpacePath())) << log.Text();
  files_.ClearFaults();
  for (const bool kept : {true, false}) {
    ASSERT_TRUE(world_.Start().ok());
    EXPECT_EQ(world_.storage().recovery()->keeps(), kept);
    ExpectTouched(page);
    values_.ExpectIn(&world_);
    ASSERT_TRUE(world_.storage().Close({}).ok());
    EXPECT_EQ(world_.control().data().features.incompatible, 0u) << "older builds may have it";
  }
}

TEST_F(StorageRecoveryTest, APageThatRedoDoesNotFitMarksItsSpaceAndNoOther) {
  const PageId page = TouchSomePage();
  ASSERT_TRUE(world_.allocator().WriteCounter(kSystemSpace, 7).ok());
  ASSERT_NO_FATAL_FAILURE(ChangeAndCrash(0));
  ASSERT_TRUE(
      files_.FlipBit(SpacePath(), uint64_t{page.page.value()} * world_.page_size() + 500, 2));
  SpaceId told{0};
  StorageEvents events;
  events.space_damaged = [&told](SpaceId space) { told = space; };
  LogCapture log;
  for (int run = 0; run < 2; ++run) {
    Result<std::unique_ptr<Storage>> storage = Storage::Open(&files_, OptionsOf(0, false), events);
    ASSERT_TRUE(storage.ok()) << storage.status().message();
    EXPECT_EQ((*storage)->damaged()->All(), std::vector<SpaceId>{kSpace});
    EXPECT_EQ((*storage)->allocator()->ReadCounter(kSystemSpace).value(), 7u);
    ASSERT_TRUE((*storage)->pool()->FlushAndCheckpoint().ok());
  }
  EXPECT_EQ(told, kSpace);
  EXPECT_TRUE(log.Has("Page " + std::to_string(page.page.value()))) << log.Text();
}

TEST_F(StorageRecoveryTest, ARecordOfANewerBuildIsRefusedBeforeAnythingIsChanged) {
  constexpr auto kUnknown = static_cast<RecordType>(126);
  ASSERT_EQ(FindRedo(kUnknown), nullptr);
  GroupBuilder group;
  group.Add(kUnknown, {kSpace, PageNumber(3)}, 0);
  const auto bytes = static_cast<uint32_t>(group.size_bytes());
  ASSERT_TRUE(world_.log().ReserveOrWait(bytes).ok());
  world_.log().Append(&group);
  world_.log().Release(bytes);
  ASSERT_NO_FATAL_FAILURE(ChangeAndCrash(5));
  const uint64_t before = files_.Digest();
  const LogCapture log;
  EXPECT_TRUE(Open(0).status().Is(Code::kNewerFormat));
  EXPECT_EQ(files_.Digest(), before);
  EXPECT_NE(log.Text(), "");
}

}  // namespace
}  // namespace rowan::recovery_test
