// SPDX-License-Identifier: GPL-2.0-only
#include "io/space_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "io/aligned_buffer.h"
#include "io/spare_descriptors.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_settings.h"

namespace rowan::space_files_test {
namespace {

constexpr SpaceId kSpace{20};

PageId Page(SpaceId space, uint32_t page) { return {space, PageNumber(page)}; }

AlignedBuffer Filled(uint32_t size, uint8_t value) {
  AlignedBuffer buffer(size);
  std::fill_n(buffer.data(), size, static_cast<std::byte>(value));
  return buffer;
}

class SpaceFilesTest : public ::testing::Test {
 protected:
  static SpaceFilesOptions OptionsFor(uint32_t open_files_max = 4000) {
    return {.open_files_max = open_files_max};
  }

  TempDir dir_;
  uint32_t size_ = TestPageSizeBytes();
};

TEST_F(SpaceFilesTest, PagesSurviveReopening) {
  {
    SpaceFiles spaces(PosixFileSystem(), dir_.path(), size_, OptionsFor());
    ASSERT_TRUE(spaces.Create(kSpace, 4).ok());
    EXPECT_EQ(spaces.PageCount(kSpace).value(), 4u);
    AlignedBuffer page(size_);
    ASSERT_TRUE(spaces.ReadPage(Page(kSpace, 3), page.span()).ok());
    EXPECT_EQ(page.data()[size_ - 1], std::byte{0});
    ASSERT_TRUE(spaces.WritePage(Page(kSpace, 3), Filled(size_, 7).span()).ok());
    ASSERT_TRUE(spaces.Sync(kSpace, SyncMethod::kFdatasync).ok());
    EXPECT_TRUE(spaces.Create(kSpace, 4).Is(Code::kInvalidArgument));
  }
  SpaceFiles spaces(PosixFileSystem(), dir_.path(), size_, OptionsFor());
  EXPECT_FALSE(spaces.IsLive(kSpace));
  EXPECT_EQ(spaces.ListFiles().value(), std::vector<SpaceId>{kSpace});
  EXPECT_TRUE(spaces.Create(kSpace, 4).Is(Code::kInvalidArgument));
  ASSERT_TRUE(spaces.Open(kSpace).ok());
  ASSERT_TRUE(spaces.Open(kSpace).ok());
  EXPECT_TRUE(spaces.IsLive(kSpace));
  AlignedBuffer page(size_);
  ASSERT_TRUE(spaces.ReadPage(Page(kSpace, 3), page.span()).ok());
  EXPECT_EQ(page.data()[0], std::byte{7});
  EXPECT_TRUE(spaces.Open(SpaceId(21)).Is(Code::kNotFound));
}

TEST_F(SpaceFilesTest, ExtendGrowsWithZerosAndNeverShrinks) {
  SpaceFiles spaces(PosixFileSystem(), dir_.path(), size_, OptionsFor());
  ASSERT_TRUE(spaces.Create(kSpace, 1).ok());
  AlignedBuffer page(size_);
  const Status beyond = spaces.ReadPage(Page(kSpace, 9), page.span());
  EXPECT_TRUE(beyond.Is(Code::kIoError));
  EXPECT_EQ(beyond.detail(), 0u);
  ASSERT_TRUE(spaces.Extend(kSpace, 10).ok());
  ASSERT_TRUE(spaces.ReadPage(Page(kSpace, 9), page.span()).ok());
  ASSERT_TRUE(spaces.Extend(kSpace, 5).ok());
  EXPECT_EQ(spaces.PageCount(kSpace).value(), 10u);
}

TEST_F(SpaceFilesTest, ExtendClearsAPartialPageAtTheEnd) {
  FaultFileSystem files(1);
  SpaceFiles spaces(&files, "db", size_);
  ASSERT_TRUE(spaces.Create(kSpace, 1).ok());
  const auto raw = files.Open(spaces.PathOf(kSpace), {}).value();
  ASSERT_TRUE(raw->Write(size_, AsBytes("left over")).ok());
  EXPECT_EQ(spaces.PageCount(kSpace).value(), 1u);
  ASSERT_TRUE(spaces.Extend(kSpace, 2).ok());
  AlignedBuffer page = Filled(size_, 1);
  ASSERT_TRUE(spaces.ReadPage(Page(kSpace, 1), page.span()).ok());
  for (const std::byte byte : page.span()) ASSERT_EQ(byte, std::byte{0});
}

TEST_F(SpaceFilesTest, DroppedSpacesAreDeadAtOnceAndTheirTrashGoesLater) {
  SpaceFiles spaces(PosixFileSystem(), dir_.path(), size_, OptionsFor());
  ASSERT_TRUE(spaces.Create(kSpace, 2).ok());
  const Result<SpaceFiles::Location> held = spaces.Locate(Page(kSpace, 1), SpaceFiles::Use::kWrite);
  ASSERT_TRUE(held.ok());
  ASSERT_TRUE(spaces.Drop(kSpace).ok());
  EXPECT_FALSE(spaces.IsLive(kSpace));
  AlignedBuffer page(size_);
  EXPECT_TRUE(spaces.ReadPage(Page(kSpace, 0), page.span()).Is(Code::kNotFound));
  EXPECT_TRUE(spaces.WritePage(Page(kSpace, 0), page.span()).Is(Code::kNotFound));
  EXPECT_TRUE(spaces.Locate(Page(kSpace, 0), SpaceFiles::Use::kWrite).status().Is(Code::kNotFound));
  EXPECT_TRUE(spaces.PageCount(kSpace).status().Is(Code::kNotFound));
  EXPECT_TRUE(spaces.Extend(kSpace, 9).Is(Code::kNotFound));
  EXPECT_TRUE(spaces.Sync(kSpace, SyncMethod::kFsync).ok());
  EXPECT_TRUE(spaces.Drop(kSpace).Is(Code::kNotFound));
  // A write that was under way meets the renamed file and harms nobody.
  EXPECT_TRUE(held.value().file->Write(held.value().offset, page.span()).ok());
  EXPECT_TRUE(spaces.ListFiles().value().empty());
  EXPECT_EQ(PosixFileSystem()->List(dir_.path()).value().size(), 1u);
  while (!spaces.RemoveTrash().value()) {
  }
  EXPECT_TRUE(PosixFileSystem()->List(dir_.path()).value().empty());
}

TEST_F(SpaceFilesTest, TrashOfAnEarlierRunIsFoundAndForeignFilesAreLeftAlone) {
  FileSystem* files = PosixFileSystem();
  for (const char* name : {"space_7.rws.trash", "space_8.rws.trash", "space_x.rws", "space_.rws",
                           "space_09.rws", "space_9.rws2", "space_99999999999.rws", "other"}) {
    ASSERT_TRUE(files->Open(dir_.File(name), {.create = true}).ok());
  }
  SpaceFiles spaces(files, dir_.path(), size_, OptionsFor());
  EXPECT_TRUE(spaces.ListFiles().value().empty());
  while (!spaces.RemoveTrash().value()) {
  }
  EXPECT_EQ(files->List(dir_.path()).value().size(), 6u);
}

TEST_F(SpaceFilesTest, TrashThatCannotBeRemovedKeepsNoOtherAndIsTriedAgainLater) {
  FaultFileSystem files(TestSeed());
  SpaceFiles spaces(&files, "db", size_);
  constexpr SpaceId kStuck{21};
  for (const SpaceId space : {kSpace, kStuck}) {
    ASSERT_TRUE(spaces.Create(space, 2).ok());
    ASSERT_TRUE(spaces.Drop(space).ok());
  }
  files.Inject({.call = FileCall::kRemove, .path_part = "space_21", .lasting = true});
  constexpr uint64_t kCalls = 1000;
  const uint64_t removals_before = files.Calls(FileCall::kRemove);
  for (uint64_t i = 0; i < kCalls; ++i) ASSERT_TRUE(spaces.RemoveTrash().ok());
  EXPECT_EQ(files.List("db").value(), std::vector<std::string>{"space_21.rws.trash"});
  const uint64_t removals = files.Calls(FileCall::kRemove) - removals_before;
  EXPECT_GT(removals, 2u);
  EXPECT_LT(removals, 10u);
  files.ClearFaults();
  for (uint64_t i = 0; i < 2 * kCalls; ++i) ASSERT_TRUE(spaces.RemoveTrash().ok());
  EXPECT_TRUE(files.List("db").value().empty());
}

TEST_F(SpaceFilesTest, DropOfAnUnopenedFileRenamesIt) {
  {
    SpaceFiles spaces(PosixFileSystem(), dir_.path(), size_, OptionsFor());
    ASSERT_TRUE(spaces.Create(kSpace, 2).ok());
  }
  SpaceFiles spaces(PosixFileSystem(), dir_.path(), size_, OptionsFor());
  EXPECT_TRUE(spaces.Drop(kSpace).ok());
  EXPECT_TRUE(spaces.Open(kSpace).Is(Code::kNotFound));
}

TEST_F(SpaceFilesTest, ManySpacesShareFewHandles) {
  constexpr uint32_t kSpaces = 200;
  SpaceFiles spaces(PosixFileSystem(), dir_.path(), size_, OptionsFor(8));
  for (uint32_t i = 0; i < kSpaces; ++i) {
    const SpaceId space(100 + i);
    ASSERT_TRUE(spaces.Create(space, 1).ok());
    ASSERT_TRUE(spaces.WritePage(Page(space, 0), Filled(size_, i & 0xFF).span()).ok());
    ASSERT_TRUE(spaces.Sync(space, SyncMethod::kFdatasync).ok());
  }
  EXPECT_LE(spaces.OpenHandles(), 9u);
  AlignedBuffer page(size_);
  for (uint32_t i = kSpaces; i-- > 0;) {
    ASSERT_TRUE(spaces.ReadPage(Page(SpaceId(100 + i), 0), page.span()).ok());
    EXPECT_EQ(page.data()[0], static_cast<std::byte>(i & 0xFF));
  }
  EXPECT_LE(spaces.OpenHandles(), 9u);
}

TEST_F(SpaceFilesTest, HandlesInUseStayOpenAndWrittenOnesAreSyncedBeforeTheyAreClosed) {
  constexpr uint32_t kSpaces = 200;
  FaultFileSystem files(TestSeed());
  {
    SpaceFiles spaces(&files, "db", size_, {.open_files_max = 4});
    for (uint32_t i = 0; i < kSpaces; ++i) ASSERT_TRUE(spaces.Create(SpaceId(100 + i), 1).ok());
    Result<SpaceFiles::Location> held =
        spaces.Locate(Page(SpaceId(100), 0), SpaceFiles::Use::kWrite);
    for (uint32_t i = 1; i < kSpaces; ++i) {
      const AlignedBuffer page = Filled(size_, i & 0xFF);
      ASSERT_TRUE(spaces.WritePage(Page(SpaceId(100 + i), 0), page.span()).ok());
      ASSERT_LE(spaces.OpenHandles(), 5u) << "written and never synced by us";
    }
    // The held one may still be written, so a sync leaves its mark.
    ASSERT_TRUE(spaces.Sync(SpaceId(100), SyncMethod::kFsync).ok());
    ASSERT_TRUE(held.value().file->Write(0, Filled(size_, 99).span()).ok());
    const uint64_t syncs = files.Calls(FileCall::kSync);
    held.value().file.reset();
    for (uint32_t i = 0; i < kSpaces; ++i) {
      ASSERT_TRUE(spaces.Sync(SpaceId(100 + i), SyncMethod::kFsync).ok());
    }
    EXPECT_LE(files.Calls(FileCall::kSync), syncs + 5) << "those that were closed are durable";
  }
  files.Crash(CrashPlan{.keep = CrashPlan::Keep::kNothing}, 1);
  SpaceFiles spaces(&files, "db", size_);
  AlignedBuffer page(size_);
  for (uint32_t i = 0; i < kSpaces; ++i) {
    ASSERT_TRUE(spaces.Open(SpaceId(100 + i)).ok());
    ASSERT_TRUE(spaces.ReadPage(Page(SpaceId(100 + i), 0), page.span()).ok());
    ASSERT_EQ(page.data()[0], static_cast<std::byte>(i == 0 ? 99 : i & 0xFF)) << i;
  }
}

TEST_F(SpaceFilesTest, AFailedSyncOfAClosedHandleIsToldToAllWhoAskLater) {
  FaultFileSystem files(TestSeed());
  SpaceFiles spaces(&files, "db", size_, {.open_files_max = 2});
  for (uint32_t i = 0; i < 8; ++i) ASSERT_TRUE(spaces.Create(SpaceId(100 + i), 1).ok());
  const AlignedBuffer page = Filled(size_, 1);
  ASSERT_TRUE(spaces.WritePage(Page(SpaceId(100), 0), page.span()).ok());
  files.Inject({.call = FileCall::kSync, .path_part = "space_100"});
  AlignedBuffer read(size_);
  for (uint32_t i = 0; i < 64; ++i) {
    ASSERT_TRUE(spaces.ReadPage(Page(SpaceId(101 + i % 7), 0), read.span()).ok());
    if (i % 7 != 0) continue;
    ASSERT_TRUE(spaces.Locate(Page(SpaceId(101), 0), SpaceFiles::Use::kRead).ok());
  }
  // Closing is what syncs it: make all others clean and in use no more, then need its handle.
  for (uint32_t i = 1; i < 8; ++i) {
    (void)spaces.WritePage(Page(SpaceId(100 + i), 0), page.span()).ok();
  }
  EXPECT_TRUE(spaces.Sync(SpaceId(103), SyncMethod::kFdatasync).Is(Code::kIoError));
  EXPECT_TRUE(spaces.Sync(SpaceId(100), SyncMethod::kFdatasync).Is(Code::kIoError));
}

TEST_F(SpaceFilesTest, AShortageOfDescriptorsIsWaitedForAndOwnHandlesAreGivenUp) {
  constexpr uint32_t kSpaces = 40;
  FaultFileSystem files(TestSeed());
  SpaceFiles spaces(&files, "db", size_, {.open_files_max = 30});
  for (uint32_t i = 0; i < kSpaces; ++i) {
    ASSERT_TRUE(spaces.Create(SpaceId(100 + i), 1).ok());
    ASSERT_TRUE(spaces.WritePage(Page(SpaceId(100 + i), 0), Filled(size_, i).span()).ok());
  }
  const uint32_t open_before = spaces.OpenHandles();
  AlignedBuffer page(size_);
  for (const int error : {EMFILE, ENFILE, ENOMEM, EAGAIN}) {
    const uint64_t opens = files.Calls(FileCall::kOpen);
    for (int times = 0; times < 3; ++times) {
      files.Inject({.call = FileCall::kOpen, .path_part = "space_", .error = error});
    }
    for (uint32_t i = 0; files.Calls(FileCall::kOpen) == opens; ++i) {
      ASSERT_TRUE(spaces.ReadPage(Page(SpaceId(100 + i), 0), page.span()).ok()) << i;
    }
  }
  EXPECT_LT(spaces.OpenHandles(), open_before - 10);
  for (uint32_t i = 0; i < kSpaces; ++i) {
    ASSERT_TRUE(spaces.ReadPage(Page(SpaceId(100 + i), 0), page.span()).ok()) << i;
    EXPECT_EQ(page.data()[0], static_cast<std::byte>(i));
    ASSERT_TRUE(spaces.WritePage(Page(SpaceId(100 + i), 0), page.span()).ok()) << i;
  }
  // Other failures are not waited for.
  files.Inject({.call = FileCall::kOpen, .path_part = "space_", .lasting = true});
  uint32_t failed = 0;
  for (uint32_t i = 0; i < kSpaces; ++i) {
    if (!spaces.ReadPage(Page(SpaceId(100 + i), 0), page.span()).ok()) ++failed;
  }
  EXPECT_GE(failed, kSpaces - 31);
}

TEST_F(SpaceFilesTest, TheLimitFollowsFromWhatTheProcessMayOpen) {
  SpaceFiles spaces(PosixFileSystem(), dir_.path(), size_, OptionsFor(0));
  EXPECT_EQ(spaces.OpenHandlesMax(), std::clamp<uint64_t>(DescriptorLimit() / 2, 16, 32768));
}

TEST_F(SpaceFilesTest, OpeningVeryManySpacesOpensNoFile) {
  FaultFileSystem files(TestSeed());
  {
    SpaceFiles spaces(&files, "db", size_);
    for (uint32_t i = 0; i < 100; ++i) ASSERT_TRUE(spaces.Create(SpaceId(100 + i), 1).ok());
  }
  SpaceFiles spaces(&files, "db", size_);
  const uint64_t opens = files.Calls(FileCall::kOpen);
  for (uint32_t i = 0; i < 100; ++i) ASSERT_TRUE(spaces.Open(SpaceId(100 + i)).ok());
  EXPECT_EQ(files.Calls(FileCall::kOpen), opens);
  EXPECT_EQ(spaces.PageCount(SpaceId(150)).value(), 1u);
}

TEST_F(SpaceFilesTest, HandlesTakenToReadCanBeClosedWithoutASync) {
  constexpr uint32_t kSpaces = 20;
  SpaceFiles spaces(PosixFileSystem(), dir_.path(), size_, OptionsFor(2));
  for (uint32_t i = 0; i < kSpaces; ++i) {
    const SpaceId space(100 + i);
    ASSERT_TRUE(spaces.Create(space, 1).ok());
    ASSERT_TRUE(spaces.Locate(Page(space, 0), SpaceFiles::Use::kRead).ok());
  }
  EXPECT_LE(spaces.OpenHandles(), 3u);
}

TEST_F(SpaceFilesTest, FailedCreateLeavesNothingBehind) {
  FaultFileSystem files(1);
  SpaceFiles spaces(&files, "db", size_);
  files.Inject({.call = FileCall::kAllocate, .code = Code::kNoSpace});
  EXPECT_TRUE(spaces.Create(kSpace, 4).Is(Code::kNoSpace));
  EXPECT_FALSE(spaces.IsLive(kSpace));
  EXPECT_TRUE(spaces.ListFiles().value().empty());
  EXPECT_TRUE(spaces.Create(kSpace, 4).ok());
}

TEST_F(SpaceFilesTest, CreatedAndSyncedSpacesSurviveACrash) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    FaultFileSystem files(TestSeed());
    {
      SpaceFiles spaces(&files, "db", size_);
      ASSERT_TRUE(spaces.Create(kSpace, 2).ok());
      ASSERT_TRUE(spaces.WritePage(Page(kSpace, 1), Filled(size_, 3).span()).ok());
      ASSERT_TRUE(spaces.Sync(kSpace, SyncMethod::kFdatasync).ok());
    }
    files.Crash(seed);
    SpaceFiles spaces(&files, "db", size_);
    ASSERT_TRUE(spaces.Open(kSpace).ok());
    AlignedBuffer page(size_);
    ASSERT_TRUE(spaces.ReadPage(Page(kSpace, 1), page.span()).ok());
    EXPECT_TRUE(EqualBytes(page.span(), Filled(size_, 3).span()));
    ASSERT_TRUE(spaces.Drop(kSpace).ok());
    files.Crash(seed);
    EXPECT_FALSE(files.Exists(spaces.PathOf(kSpace)).value());
  }
}

TEST_F(SpaceFilesTest, ReadersWritersDropsAndEvictionsRunTogether) {
  constexpr uint32_t kSpaces = 24;
  SpaceFiles spaces(PosixFileSystem(), dir_.path(), size_, OptionsFor(6));
  for (uint32_t i = 0; i < kSpaces; ++i) ASSERT_TRUE(spaces.Create(SpaceId(100 + i), 4).ok());
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      Random random(TestSeed() + thread);
      AlignedBuffer page(size_);
      for (int round = 0; round < 1000; ++round) {
        const SpaceId space(100 + static_cast<uint32_t>(random.Below(kSpaces)));
        const PageId id = Page(space, static_cast<uint32_t>(random.Below(4)));
        Status status;
        switch (random.Below(8)) {
          case 0: status = spaces.WritePage(id, page.span()); break;
          case 1:
            status = random.OneIn(4) ? spaces.Sync(space, SyncMethod::kFdatasync) : status;
            break;
          case 2: status = random.OneIn(40) ? spaces.Drop(space) : status; break;
          case 3: status = spaces.RemoveTrash().status(); break;
          case 4: status = spaces.Extend(space, 4 + static_cast<uint32_t>(random.Below(3))); break;
          default: status = spaces.ReadPage(id, page.span()); break;
        }
        EXPECT_TRUE(status.ok() || status.Is(Code::kNotFound)) << status.message();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace rowan::space_files_test
