// SPDX-License-Identifier: GPL-2.0-only
// What becomes of a start when something is wrong with a file that the log has changes of, as
// recovery_damage.txt has it; and recovery put together by hand, step by step.
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "storage/recovery.h"
#include "tests/storage/storage_fixture.h"
#include "tests/storage/text_cases.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"

namespace rowan::recovery_damage_test {
namespace {

constexpr SpaceId kTable = kFirstTableSpace;
constexpr uint64_t kOld = 1;
constexpr uint64_t kNew = 2;

StorageOptions OptionsOf(bool force) {
  StorageOptions options = StorageFixture::SmallOptions();
  options.background = false;
  options.buffer.doublewrite = DoublewriteMode::kOff;
  options.recovery.force = force;
  return options;
}

/// An instance whose three spaces have a change in the log each. `placed`: its table's file is on a
/// disk of its own.
class CrashedInstance {
 public:
  explicit CrashedInstance(bool placed = false) {
    EXPECT_TRUE(world_.Create().ok());
    EXPECT_TRUE(world_.allocator().CreateSpace(kTable, placed ? "/disk/shop" : "").ok());
    Count(kOld);
    EXPECT_TRUE(world_.pool().FlushAndCheckpoint().ok());
    Count(kNew);
    EXPECT_TRUE(world_.log().WaitDurable(world_.log().tail()).ok());
    table_path_ = world_.files().PlaceOf(kTable);
    world_.Kill();
    files_.Crash(TestSeed());
  }

  void Break(const std::string& what, SpaceId space) {
    const std::string path = PathOf(space);
    if (what == "damaged") {
      EXPECT_TRUE(files_.FlipBit(path, 500, 2));
    }
    if (what == "missing") {
      EXPECT_TRUE(files_.Rename(path, "/aside").ok());
    }
    if (what == "away") files_.Unmount("/disk");
    // The table's is opened by its link.
    const std::string part = "space_" + std::to_string(space.value()) + ".rws";
    if (what == "closed") {
      files_.Inject({.call = FileCall::kOpen, .path_part = part, .lasting = true, .error = EACCES});
    }
    if (what == "unreadable") {
      files_.Inject({.call = FileCall::kRead, .path_part = part, .lasting = true});
    }
  }
  void Mend(const std::string& what, SpaceId space) {
    if (what == "damaged") {
      EXPECT_TRUE(files_.FlipBit(PathOf(space), 500, 2));
    }
    if (what == "missing") {
      EXPECT_TRUE(files_.Rename("/aside", PathOf(space)).ok());
    }
    files_.Unmount("");
    files_.ClearFaults();
  }
  /// As the table names it.
  std::string Start(bool force) {
    const uint64_t before = files_.Digest();
    Result<std::unique_ptr<Storage>> storage = Storage::Open(&files_, OptionsOf(force));
    if (storage.status().Is(Code::kBusy)) return "retries";
    if (!storage.ok()) {
      const std::string code = CodeName(storage.status().code());
      return (files_.Digest() == before ? "early " : "late ") + code;
    }
    EXPECT_TRUE((*storage)->pool()->FlushAndCheckpoint().ok()) << "the log goes on";
    if ((*storage)->damaged()->Contains(kTable)) return "marked";
    return (*storage)->damaged()->Waits(kTable) ? "waits" : "served";
  }
  /// As the table names it.
  std::string Found() {
    const Status started = world_.Start();
    if (started.Is(Code::kCorrupt) && world_.storage().damaged()->Contains(kTable)) {
      EXPECT_EQ(CountOf(kSystemSpace), kNew);
      EXPECT_EQ(CountOf(kUndoSpace), kNew);
      return "marked";
    }
    EXPECT_TRUE(started.ok()) << started.message();
    EXPECT_EQ(CountOf(kSystemSpace), kNew);
    EXPECT_EQ(CountOf(kTable), kNew);
    return CountOf(kUndoSpace) == kNew ? "whole" : "old";
  }
  FaultFileSystem& files() { return files_; }
  StorageFixture& world() { return world_; }

 private:
  void Count(uint64_t value) {
    for (const SpaceId space : {kSystemSpace, kUndoSpace, kTable}) {
      EXPECT_TRUE(world_.allocator().WriteCounter(space, value).ok());
    }
  }
  uint64_t CountOf(SpaceId space) {
    EXPECT_TRUE(world_.allocator().OpenSpace(space).ok());
    return world_.allocator().ReadCounter(space).value();
  }
  std::string PathOf(SpaceId space) {
    return space == kTable ? table_path_
                           : "/instance/space_" + std::to_string(space.value()) + ".rws";
  }

  FaultFileSystem files_{TestSeed()};
  StorageFixture world_{&files_, OptionsOf(false)};
  std::string table_path_;
};

std::string Joined(const std::string& text) {
  std::string joined;
  for (const std::string& word : Words(text)) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

TEST(RecoveryDamageTest, AStartEndsAndGoesOnAsTheTableHasIt) {
  const std::vector<TextCase> cases = ReadTextCases(ROWAN_TEST_DATA "/recovery_damage.txt");
  ASSERT_GT(cases.size(), 20u);
  for (const TextCase& one : cases) {
    SCOPED_TRACE(one.line);
    const std::vector<std::string> given = Words(one.given.at(0));
    const SpaceId space = given.at(1) == "system" ? kSystemSpace
                          : given.at(1) == "undo" ? kUndoSpace
                                                  : kTable;
    const LogCapture quiet;
    CrashedInstance instance(given.at(1) == "placed");
    instance.Break(given.at(0), space);
    EXPECT_EQ(instance.Start(given.size() > 2), Joined(one.expected.at(0))) << quiet.Text();
    instance.Mend(given.at(0), space);
    EXPECT_EQ(instance.Found(), Joined(one.expected.at(1)));
  }
}

/// What Storage does for a start, up to Finish.
class RecoveryByHandTest : public testing::Test {
 protected:
  void Begin() {
    auto control = ControlFile::Open(&files(), options_.folder);
    ASSERT_TRUE(control.ok());
    control_ = std::move(control).value();
    recovery_ = std::make_unique<Recovery>(
        &files(), options_.folder, control_->data(),
        RecoveryOptions{.memory_bytes_max = uint64_t{1} << 20, .workers = 2}, &damaged_);
    for (const SpaceId space : {kSystemSpace, kUndoSpace, kTable}) {
      ASSERT_TRUE(spaces_.Open(space).ok());
    }
    ASSERT_TRUE(recovery_->LoadKept().ok());
    ASSERT_TRUE(recovery_->Scan().ok());
    auto log = Log::Open(&files(), options_.log, control_.get(), recovery_->end());
    ASSERT_TRUE(log.ok());
    log_ = std::move(log).value();
    auto pool = BufferPool::Open(options_.buffer, &spaces_, &files(), log_.get(), control_.get());
    ASSERT_TRUE(pool.ok());
    pool_ = std::move(pool).value();
    ASSERT_TRUE(recovery_->Repair(pool_.get(), &spaces_, control_.get()).ok());
    ASSERT_TRUE(recovery_->Redo().ok());
    allocator_ = std::make_unique<PageAllocator>(pool_.get(), control_->data().instance_id);
    ASSERT_TRUE(recovery_->ResolveSuspended(allocator_.get()).ok());
  }
  /// Drops all of it, as a crash does.
  void End() {
    allocator_.reset();
    pool_.reset();
    log_.reset();
    recovery_.reset();
    control_.reset();
  }
  FaultFileSystem& files() { return instance_.files(); }

  CrashedInstance instance_;
  const StorageOptions options_ = OptionsOf(false);
  DamagedSpaces damaged_{&files(), options_.folder};
  SpaceFiles spaces_{&files(), options_.folder, options_.page_size_bytes};
  std::unique_ptr<ControlFile> control_;
  std::unique_ptr<Recovery> recovery_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<BufferPool> pool_;
  std::unique_ptr<PageAllocator> allocator_;
};

TEST_F(RecoveryByHandTest, NoCheckpointIsPublishedBeforeItIsFinished) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  const Lsn checkpoint = control_->data().checkpoint_lsn;
  EXPECT_TRUE(recovery_->HasPending()) << "the table's page can wait";
  pool_->FlushAndCheckpoint().Ignore();
  EXPECT_EQ(control_->data().checkpoint_lsn, checkpoint);
  EXPECT_FALSE(recovery_->finished());
  ASSERT_TRUE(recovery_->Finish(allocator_.get(), Recovery::Try::kOneOfSome).ok());
  EXPECT_TRUE(recovery_->finished());
  EXPECT_FALSE(recovery_->HasPending());
  EXPECT_FALSE(recovery_->keeps());
  ASSERT_TRUE(pool_->FlushAndCheckpoint().ok());
  EXPECT_GE(control_->data().checkpoint_lsn, recovery_->end());
  EXPECT_EQ(recovery_->statistics().records_applied, 3u);
}

TEST_F(RecoveryByHandTest, APageIsRedoneBeforeItIsUsed) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  const PageId header{kTable, PageNumber(0)};
  ASSERT_NE(recovery_->backlog().Find(header.Packed()), nullptr);
  ASSERT_TRUE(allocator_->OpenSpace(kTable).ok());
  EXPECT_EQ(allocator_->ReadCounter(kTable).value(), kNew);
  EXPECT_EQ(recovery_->backlog().Find(header.Packed()), nullptr);
}

TEST_F(RecoveryByHandTest, AbandonedItEndsEarlyAndTheNextStartDoesItAll) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  recovery_->Abandon();
  for (const auto which : {Recovery::Try::kOneOfSome, Recovery::Try::kLast}) {
    EXPECT_TRUE(recovery_->Finish(allocator_.get(), which).Is(Code::kInterrupted));
  }
  EXPECT_FALSE(recovery_->finished());
  EXPECT_FALSE(recovery_->keeps());
  EXPECT_TRUE(recovery_->HasPending());
  End();
  files().Crash({.keep = CrashPlan::Keep::kNothing}, TestSeed());
  EXPECT_EQ(instance_.Found(), "whole");
}

TEST_F(RecoveryByHandTest, WhatCannotBeReadIsTriedAgainOrKeptOnTheLastTry) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  instance_.Break("unreadable", kTable);
  const LogCapture quiet;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(recovery_->Finish(allocator_.get(), Recovery::Try::kOneOfSome).Is(Code::kBusy));
    EXPECT_TRUE(recovery_->waits());
    EXPECT_FALSE(recovery_->finished());
  }
  ASSERT_TRUE(recovery_->Finish(allocator_.get(), Recovery::Try::kLast).ok());
  EXPECT_TRUE(recovery_->keeps());
  EXPECT_TRUE(damaged_.Waits(kTable));
  ASSERT_TRUE(recovery_->RetryKept(allocator_.get()).ok());
  EXPECT_TRUE(recovery_->keeps()) << "not readable so far";
  instance_.Mend("unreadable", kTable);
  ASSERT_TRUE(recovery_->RetryKept(allocator_.get()).ok());
  EXPECT_FALSE(recovery_->keeps());
  EXPECT_FALSE(damaged_.Waits(kTable));
  ASSERT_TRUE(allocator_->OpenSpace(kTable).ok());
  EXPECT_EQ(allocator_->ReadCounter(kTable).value(), kNew);
}

TEST_F(RecoveryByHandTest, WhatCannotBeKeptIsTriedAgain) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  const LogCapture quiet;
  instance_.Break("unreadable", kTable);
  files().Inject({.call = FileCall::kWrite, .path_part = ".redo", .lasting = true});
  EXPECT_TRUE(recovery_->Finish(allocator_.get(), Recovery::Try::kLast).Is(Code::kBusy));
  EXPECT_FALSE(recovery_->finished());
  instance_.Mend("unreadable", kTable);
  EXPECT_TRUE(recovery_->Finish(allocator_.get(), Recovery::Try::kLast).ok());
  EXPECT_FALSE(recovery_->keeps());
}

}  // namespace
}  // namespace rowan::recovery_damage_test
