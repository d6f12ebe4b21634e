// SPDX-License-Identifier: GPL-2.0-only
// What a storage is by itself: created, closed, killed, opened again; and that redo writes each
// page again that the log mentions, whether it lacks anything or not.
#include "storage/storage.h"

#include <gtest/gtest.h>

#include <memory>

#include "buffer/mini_txn.h"
#include "tests/storage/storage_fixture.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"

namespace rowan {
namespace {

class StorageTest : public ::testing::Test {
 protected:
  static StorageOptions Options() {
    StorageOptions options = StorageFixture::SmallOptions();
    options.background = false;
    return options;
  }
  /// A change of a page that is in use from the beginning. The end of its group.
  Status SetCounter(uint64_t value) {
    return fixture_.allocator().WriteCounter(kSystemSpace, value);
  }

  FaultFileSystem files_{TestSeed()};
  StorageFixture fixture_{&files_, Options()};
};

TEST_F(StorageTest, AnInstanceKeepsItsIdAndPageSize) {
  ASSERT_TRUE(fixture_.Create().ok());
  const auto id = fixture_.control().data().instance_id;
  ASSERT_TRUE(SetCounter(7).ok());
  ASSERT_TRUE(fixture_.storage().Close({}).ok());
  fixture_.Kill();
  StorageOptions other = Options();
  other.page_size_bytes = other.page_size_bytes == 8192 ? 16384 : 8192;
  StorageFixture again(&files_, other);
  LogCapture messages;
  ASSERT_TRUE(again.Start().ok());
  EXPECT_TRUE(messages.Has("is ignored"));
  EXPECT_EQ(again.control().data().instance_id, id);
  EXPECT_EQ(again.storage().options().page_size_bytes, Options().page_size_bytes);
  ASSERT_TRUE(again.allocator().OpenSpace(kSystemSpace).ok());
  EXPECT_EQ(again.allocator().ReadCounter(kSystemSpace).value(), 7u);
}

TEST_F(StorageTest, ACreationCutShortIsBegunAnew) {
  {
    Result<std::unique_ptr<Storage>> unfinished = Storage::Open(&files_, Options());
    ASSERT_TRUE(unfinished.ok());
    EXPECT_TRUE((*unfinished)->is_new());
  }
  files_.Crash(TestSeed());
  ASSERT_TRUE(fixture_.Create().ok());
  ASSERT_TRUE(fixture_.Start().ok());
}

TEST_F(StorageTest, NothingIsCreatedWhereTheOwnerForbidsIt) {
  StorageEvents events;
  events.before_creation = [] { return Status(Code::kInvalidArgument); };
  EXPECT_TRUE(Storage::Open(&files_, Options(), events).status().Is(Code::kInvalidArgument));
  EXPECT_FALSE(files_.Exists(Options().folder).value());
}

TEST_F(StorageTest, APageSizeThatIsNoneIsRefusedWithASentence) {
  StorageOptions options = Options();
  for (const uint32_t bytes : {0u, 2048u, 12288u, 131072u}) {
    options.page_size_bytes = bytes;
    LogCapture messages;
    EXPECT_TRUE(Storage::Open(&files_, options).status().Is(Code::kInvalidArgument)) << bytes;
    EXPECT_TRUE(messages.Has("The page size must be")) << bytes;
  }
}

// Whoever died left writes that nobody synced: the page looks as if redo had nothing to do.
// The doublewrite file would have another copy.
TEST_F(StorageTest, APageThatTheLogMentionsIsWrittenAgainThoughItLacksNothing) {
  ASSERT_TRUE(fixture_.Create().ok());
  ASSERT_TRUE(fixture_.pool().SetDoublewriteMode(DoublewriteMode::kOff).ok());
  ASSERT_TRUE(SetCounter(7).ok());
  ASSERT_TRUE(fixture_.log().WaitDurable(fixture_.log().tail()).ok());
  // Home with the kernel, and its sync fails: no checkpoint, so the log keeps the change.
  files_.Inject({.call = FileCall::kSync, .path_part = "space_"});
  {
    LogCapture messages;
    EXPECT_FALSE(fixture_.pool().FlushAndCheckpoint().ok());
  }
  // The process dies and not the machine; the start reads the page as the kernel has it.
  ASSERT_TRUE(fixture_.Start().ok());
  // Now the machine.
  fixture_.Kill();
  files_.Crash({.keep = CrashPlan::Keep::kNothing}, TestSeed());
  ASSERT_TRUE(fixture_.Start().ok());
  ASSERT_TRUE(fixture_.allocator().OpenSpace(kSystemSpace).ok());
  EXPECT_EQ(fixture_.allocator().ReadCounter(kSystemSpace).value(), 7u);
}

}  // namespace
}  // namespace rowan
