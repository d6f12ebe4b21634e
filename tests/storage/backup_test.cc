// SPDX-License-Identifier: GPL-2.0-only
// Backups of a storage whose space holds values that a model knows: taken while values come and go,
// put onto each other, and opened. tests/engine has tables and damage.
#include "storage/backup.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/backup_apply.h"
#include "storage/backup_verify.h"
#include "storage/carried_file.h"
#include "tests/storage/stored_values.h"
#include "tests/support/folder_copy.h"
#include "tests/support/log_capture.h"

namespace rowan {
namespace {

class StorageBackupTest : public testing::Test {
 protected:
  StorageBackupTest() {
    EXPECT_TRUE(world_.Create().ok());
    values_.ChangeSome(&world_, &random_, 30);
  }
  std::unique_ptr<Backup> Begin(const std::string& folder, const std::string& base = "") {
    const auto tables = [] {
      return std::map<SpaceId, std::string>{{SpaceFixture::kSpace, "test/values"}};
    };
    Result<std::unique_ptr<Backup>> backup =
        Backup::Begin({&world_.storage(), tables}, {.folder = folder, .base = base});
    EXPECT_TRUE(backup.ok()) << backup.status().message();
    return backup.ok() ? std::move(backup).value() : nullptr;
  }
  /// What the instance had when the backup ended; values change while its pages are copied.
  StoredValues BackUp(const std::string& folder, const std::string& base = "") {
    const std::unique_ptr<Backup> backup = Begin(folder, base);
    if (backup == nullptr) return {};
    int asked = 0;
    const auto change = [&] {
      if (++asked <= 10) values_.Change(&world_, &random_);
      return false;
    };
    EXPECT_TRUE(backup->CopyPages(change).ok());
    values_.ChangeSome(&world_, &random_, 5);
    EXPECT_TRUE(backup->Finish(kNoLsn).ok());
    EXPECT_GT(asked, 0);
    return values_;
  }
  std::string WrongWith(const std::string& folder) {
    std::string wrong;
    BackupVerify verify(&files_, folder, {[&](const std::string& what) { wrong += what; }, {}});
    const bool good = verify.Run();
    EXPECT_EQ(good, wrong.empty());
    return wrong;
  }
  Status Apply(const std::string& full, const std::string& increment) {
    BackupApply apply(&files_, full, increment);
    const Status checked = apply.Check();
    return checked.ok() ? apply.Run() : checked;
  }
  void ExpectRestored(const std::string& folder, const StoredValues& values) {
    SpaceFixture copy(&files_, {.background = false, .folder = folder});
    const Status started = copy.Start();
    ASSERT_TRUE(started.ok()) << started.message();
    EXPECT_TRUE(copy.storage().is_restored());
    values.ExpectIn(&copy);
    ASSERT_TRUE(copy.storage().EndRestore().ok());
    EXPECT_FALSE(files_.Exists(folder + "/" + kBackupManifestName).value());
  }

  FaultFileSystem files_{TestSeed()};
  SpaceFixture world_{&files_, {.background = false}};
  StoredValues values_;
  Random random_{TestSeed()};
};

TEST_F(StorageBackupTest, IsTheInstanceAtItsEndThoughValuesCameAndWent) {
  const StoredValues then = BackUp("/full");
  values_.ChangeSome(&world_, &random_, 20);
  EXPECT_EQ(WrongWith("/full"), "");
  ExpectRestored("/full", then);
  values_.ExpectIn(&world_);
}

TEST_F(StorageBackupTest, KnowsNothingOfAFileThatWasCarried) {
  Result<std::unique_ptr<File>> log = files_.Open("/log.1", {.create = true});
  ASSERT_TRUE(log.ok());
  CarriedFile* const carried = world_.storage().carried_file();
  ASSERT_TRUE(carried->Begin("/log.1", 1).ok());
  ASSERT_TRUE((*log)->Write(0, AsBytes("carried")).ok());
  ASSERT_TRUE(carried->Carry().ok());
  const StoredValues then = BackUp("/full");
  EXPECT_EQ(WrongWith("/full"), "");
  SpaceFixture copy(&files_, {.background = false, .folder = "/full"});
  ASSERT_TRUE(copy.Start().ok());
  EXPECT_EQ(copy.storage().carried_file()->tail(), nullptr);
  EXPECT_EQ(copy.control().data().features, FormatFeatures{});
  // Its log has records of that id.
  EXPECT_EQ(copy.control().data().carried.id, world_.control().data().carried.id);
  then.ExpectIn(&copy);
}

TEST_F(StorageBackupTest, IncrementsPutOntoEachOtherAreTheInstanceAtEachEnd) {
  std::vector<StoredValues> ends{BackUp("/0")};
  for (const std::string number : {"1", "2", "3"}) {
    values_.ChangeSome(&world_, &random_, 10);
    if (number == "2") {
      ASSERT_TRUE(world_.pool().FlushAndCheckpoint().ok());
    }
    ends.push_back(BackUp("/" + number, "/" + std::to_string(ends.size() - 1)));
    ASSERT_EQ(WrongWith("/" + number), "");
  }
  for (size_t last = 0; last < ends.size(); ++last) {
    const std::string copy = "/copy" + std::to_string(last);
    CopyFolder(&files_, "/0", copy);
    for (size_t i = 1; i <= last; ++i) {
      ASSERT_TRUE(Apply(copy, "/" + std::to_string(i)).ok());
    }
    EXPECT_EQ(WrongWith(copy), "");
    ExpectRestored(copy, ends[last]);
  }
  const LogCapture log;
  EXPECT_TRUE(Apply("/0", "/3").Is(Code::kInvalidArgument)) << "one between them is missing";
  EXPECT_TRUE(Apply("/1", "/2").Is(Code::kInvalidArgument)) << "not onto an increment";
}

TEST_F(StorageBackupTest, ApplyingIsBegunAgainAfterACrashAnywhere) {
  BackUp("/full");
  values_.ChangeSome(&world_, &random_, 10);
  const StoredValues then = BackUp("/next", "/full");
  ASSERT_TRUE(world_.storage().Close({}).ok());
  world_.Kill();
  bool finished = false;
  for (uint64_t changes = 0; !finished; changes += random_.Between(1, 4)) {
    SCOPED_TRACE(files_.Describe());
    const std::string copy = "/copy" + std::to_string(changes);
    CopyFolder(&files_, "/full", copy);
    files_.PowerOffAfter(changes);
    const LogCapture quiet;
    finished = Apply(copy, "/next").ok();
    files_.Crash(random_.Next());
    // Neither as it was nor done: nothing starts on it, and it can be done.
    if (WrongWith(copy) != "") {
      ASSERT_TRUE(Apply(copy, "/next").ok());
    }
    ASSERT_EQ(WrongWith(copy), "");
    if (finished) ExpectRestored(copy, then);
  }
}

TEST_F(StorageBackupTest, WhatIsNotFinishedIsNoBackup) {
  {
    const std::unique_ptr<Backup> backup = Begin("/half");
    EXPECT_TRUE(backup->CopyPages([] { return true; }).Is(Code::kInterrupted));
  }
  EXPECT_NE(WrongWith("/half").find("no backup"), std::string::npos);
  const LogCapture log;
  const Status refused = Backup::Begin({&world_.storage(), {}}, {.folder = "/half"}).status();
  EXPECT_TRUE(refused.Is(Code::kInvalidArgument));
  EXPECT_TRUE(log.Has("'/half'")) << log.Text();
}

TEST_F(StorageBackupTest, ADiskThatFailsWhileItIsWrittenFailsIt) {
  uint64_t failures = 0;
  for (const FileCall call : {FileCall::kWrite, FileCall::kSync, FileCall::kOpen,
                              FileCall::kTruncate, FileCall::kRename, FileCall::kSyncDirectory}) {
    const std::string folder = "/backup" + std::to_string(++failures);
    const LogCapture log;
    files_.Inject({.call = call, .path_part = folder + "/", .nth_call = 1, .lasting = true});
    Result<std::unique_ptr<Backup>> backup = Backup::Begin(
        {&world_.storage(), [] { return std::map<SpaceId, std::string>(); }}, {.folder = folder});
    const bool good = backup.ok() && (*backup)->Finish(kNoLsn).ok();
    files_.ClearFaults();
    EXPECT_FALSE(good && call != FileCall::kSyncDirectory) << static_cast<int>(call);
    EXPECT_EQ(files_.Exists(folder + "/" + kBackupManifestName).value(), good);
  }
  values_.ChangeSome(&world_, &random_, 10);
  values_.ExpectIn(&world_);
}

}  // namespace
}  // namespace rowan
