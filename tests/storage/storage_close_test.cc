// SPDX-License-Identifier: GPL-2.0-only
// How a storage ends: cleanly, at its deadline, with a failure, or without being closed; and what
// the next start finds. Ids that are reserved in the control file.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/storage.h"
#include "tests/storage/stored_values.h"
#include "tests/support/log_capture.h"

namespace rowan {
namespace {

class StorageCloseTest : public testing::Test {
 protected:
  StorageCloseTest() {
    EXPECT_TRUE(world_.Create().ok());
    values_.ChangeSome(&world_, &random_, 10);
    EXPECT_TRUE(world_.pool().FlushAndCheckpoint().ok());
    values_.ChangeSome(&world_, &random_, 30);
  }
  using Marks = std::function<void(ControlData&)>;
  Status Close(const Marks& marks, uint64_t deadline_nanos = UINT64_MAX) {
    return world_.storage().Close({deadline_nanos, {}, marks});
  }
  Status CloseAfter(const std::function<Status()>& last_changes, const Marks& marks = {}) {
    return world_.storage().Close({UINT64_MAX, last_changes, marks});
  }
  Result<std::unique_ptr<Storage>> Reopen() {
    world_.Kill();
    StorageOptions options = world_.options();
    options.background = false;
    return Storage::Open(&files_, options);
  }
  void ExpectNextStartAfterCrash(bool after_crash) {
    {
      const Result<std::unique_ptr<Storage>> storage = Reopen();
      ASSERT_TRUE(storage.ok()) << storage.status().message();
      EXPECT_EQ(storage.value()->is_after_crash(), after_crash);
      EXPECT_EQ(storage.value()->recovery()->statistics().groups > 0, after_crash);
    }
    ASSERT_TRUE(world_.Start().ok());
    values_.ExpectIn(&world_);
  }

  FaultFileSystem files_{TestSeed()};
  SpaceFixture world_{&files_, {.background = false, .doublewrite = DoublewriteMode::kOff}};
  StoredValues values_;
  Random random_{TestSeed()};
};

TEST_F(StorageCloseTest, LeavesNothingToRedoAndSaysSoInTheControlFile) {
  uint64_t marked = 0;
  const auto mark = [&](ControlData& data) {
    marked = data.log_durable_lsn.value();
    data.next_csn = Csn(77);
  };
  ASSERT_TRUE(Close(mark).ok());
  EXPECT_EQ(marked, world_.log().tail().value()) << "the end of the log is known";
  files_.Crash({.keep = CrashPlan::Keep::kNothing}, TestSeed());
  {
    const auto control = [&] {
      world_.Kill();
      return ControlFile::Open(&files_, world_.options().folder);
    }();
    ASSERT_TRUE(control.ok());
    EXPECT_TRUE(control.value()->data().clean_shutdown);
    EXPECT_EQ(control.value()->data().next_csn, Csn(77));
    EXPECT_EQ(control.value()->data().log_durable_lsn.value(), marked);
  }
  ExpectNextStartAfterCrash(false);
}

TEST_F(StorageCloseTest, LastChangesAreWritten) {
  const auto change = [&] {
    values_.Change(&world_, &random_);
    return Status::Ok();
  };
  ASSERT_TRUE(CloseAfter(change).ok());
  ExpectNextStartAfterCrash(false);
}

TEST_F(StorageCloseTest, LastChangesThatFailLeaveTheEndOfACrash) {
  bool marked = false;
  const LogCapture log;
  const Status closed = CloseAfter([] { return Status(Code::kNoSpace, "no room"); },
                                   [&](ControlData&) { marked = true; });
  EXPECT_TRUE(closed.Is(Code::kNoSpace));
  EXPECT_FALSE(marked);
  EXPECT_TRUE(log.Has("no room")) << log.Text();
  ExpectNextStartAfterCrash(true);
}

TEST_F(StorageCloseTest, AtItsDeadlineTheRestStaysInTheLog) {
  // More than it writes before it looks at the clock.
  const uint64_t frames = std::min<uint64_t>(200, world_.pool().Statistics().frames / 2);
  while (world_.pool().Statistics().dirty_frames < frames) values_.Change(&world_, &random_);
  bool marked = false;
  const LogCapture log;
  ASSERT_TRUE(Close([&](ControlData&) { marked = true; }, 1).ok());
  EXPECT_FALSE(marked);
  EXPECT_TRUE(log.Has("time for the shutdown was over")) << log.Text();
  files_.Crash({.keep = CrashPlan::Keep::kNothing}, TestSeed());
  ExpectNextStartAfterCrash(true);
}

TEST_F(StorageCloseTest, AFailedWriteIsReportedAndRedone) {
  for (const FileCall call : {FileCall::kWrite, FileCall::kSync}) {
    files_.Inject({.call = call, .path_part = "space_", .lasting = true});
    {
      const LogCapture log;
      EXPECT_FALSE(world_.storage().Close({}).ok());
      EXPECT_TRUE(log.Has("the next start will recover")) << log.Text();
    }
    files_.ClearFaults();
    ExpectNextStartAfterCrash(true);
    values_.ChangeSome(&world_, &random_, 5);
  }
}

TEST_F(StorageCloseTest, WithoutItTheEndIsThatOfACrash) {
  ASSERT_TRUE(world_.log().WaitDurable(world_.log().tail()).ok());
  world_.storage().Stop();
  ExpectNextStartAfterCrash(true);
  values_.ChangeSome(&world_, &random_, 5);
  ASSERT_TRUE(world_.log().WaitDurable(world_.log().tail()).ok());
  ExpectNextStartAfterCrash(true);  // not even stopped
}

TEST_F(StorageCloseTest, WhatIsOnlyReadIsRedoneInMemoryAndNeverWritten) {
  ASSERT_TRUE(world_.log().WaitDurable(world_.log().tail()).ok());
  world_.Kill();
  files_.Crash(TestSeed());
  const uint64_t before = files_.Digest();
  {
    StorageOptions options = world_.options();
    options.read_only = true;
    StorageFixture reader(&files_, options);
    ASSERT_TRUE(reader.Start().ok());
    EXPECT_TRUE(reader.storage().is_after_crash());
    ASSERT_TRUE(reader.allocator().WriteCounter(kSystemSpace, 5).ok());
    EXPECT_EQ(reader.allocator().ReadCounter(kSystemSpace).value(), 5u);
    const auto never = [](ControlData&) { ADD_FAILURE() << "the control file is written"; };
    ASSERT_TRUE(reader.storage().Close({UINT64_MAX, {}, never}).ok());
  }
  EXPECT_EQ(files_.Digest(), before);
  ExpectNextStartAfterCrash(true);
}

// A page cannot be read until the very end: what it lacks is kept, and the log goes on.
TEST_F(StorageCloseTest, RedoThatCannotBeDoneIsKeptWhenItCloses) {
  ASSERT_TRUE(world_.log().WaitDurable(world_.log().tail()).ok());
  world_.Kill();
  const std::string path =
      world_.options().folder + "/space_" + std::to_string(kFirstTableSpace.value()) + ".rws";
  files_.Crash({.keep = CrashPlan::Keep::kNothing}, TestSeed());
  files_.Inject({.call = FileCall::kRead, .path_part = path, .lasting = true});
  {
    const LogCapture quiet;
    StorageOptions options = world_.options();
    options.background = true;
    const Result<std::unique_ptr<Storage>> storage = Storage::Open(&files_, options);
    ASSERT_TRUE(storage.ok()) << storage.status().message();
    EXPECT_TRUE(storage.value()->redoing());
    const Status closed = storage.value()->Close({});
    EXPECT_TRUE(closed.ok()) << closed.message();
  }
  files_.ClearFaults();
  {
    const Result<std::unique_ptr<Storage>> storage = Reopen();
    ASSERT_TRUE(storage.ok()) << storage.status().message();
    EXPECT_FALSE(storage.value()->is_after_crash());
    EXPECT_TRUE(storage.value()->recovery()->keeps());
  }
  ASSERT_TRUE(world_.Start().ok());
  values_.ExpectIn(&world_);
}

class ReserveIdsTest : public StorageCloseTest {
 protected:
  /// The first of ten.
  Result<uint64_t> Reserve() {
    uint64_t first = 0;
    const Status status = world_.storage().ReserveIds([&first](ControlData& data) {
      first = data.next_txn_id.value();
      data.next_txn_id = TxnId(first + 10);
    });
    if (!status.ok()) return status;
    return first;
  }
};

TEST_F(ReserveIdsTest, NoneIsGivenAgainAfterACrashAnywhere) {
  uint64_t given = 0;
  for (uint64_t changes = 0; changes < 12; ++changes) {
    SCOPED_TRACE(files_.Describe());
    const LogCapture quiet;
    files_.PowerOffAfter(changes);
    Result<uint64_t> first = Reserve();
    while (first.ok()) {
      ASSERT_GE(first.value(), given);
      given = first.value() + 10;
      first = Reserve();
    }
    world_.Kill();
    files_.Crash(random_.Next());
    ASSERT_TRUE(world_.Start().ok());
  }
  EXPECT_GT(given, 40u);
}

TEST_F(ReserveIdsTest, TheyAreInBothSlotsWithTheEndOfTheLog) {
  const Lsn tail = world_.log().tail();
  ASSERT_TRUE(world_.log().WaitDurable(tail).ok());
  const Result<uint64_t> first = Reserve();
  ASSERT_TRUE(first.ok());
  const std::string path = world_.options().folder + "/" + kControlFileName;
  for (const uint64_t slot : {0, 1}) {
    world_.Kill();
    const LogCapture quiet;
    ASSERT_TRUE(files_.FlipBit(path, slot * kControlSlotBytes + 50, 3));
    const auto control = ControlFile::Open(&files_, world_.options().folder);
    ASSERT_TRUE(control.ok());
    EXPECT_GE(control.value()->data().next_txn_id.value(), first.value() + 10);
    EXPECT_GE(control.value()->data().log_durable_lsn, tail) << "known with them";
    ASSERT_TRUE(files_.FlipBit(path, slot * kControlSlotBytes + 50, 3));
  }
}

TEST_F(ReserveIdsTest, AFailureStopsTheLog) {
  const LogCapture quiet;
  files_.Inject({.call = FileCall::kSync, .path_part = kControlFileName});
  EXPECT_FALSE(Reserve().ok());
  EXPECT_TRUE(world_.storage().stopped());
  EXPECT_FALSE(world_.log().ReserveOrWait(100).ok());
}

}  // namespace
}  // namespace rowan
