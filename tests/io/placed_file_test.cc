// SPDX-License-Identifier: GPL-2.0-only
// Tablespaces whose files lie outside of the instance folder.
#include "io/placed_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "io/aligned_buffer.h"
#include "io/space_files.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_settings.h"

namespace rowan::placed_file_test {
namespace {

constexpr SpaceId kSpace{20};
constexpr char kPlace[] = "/disk/shop/space_20_x.rws";
constexpr char kLink[] = "/db/space_20.rws";

class PlacedFileTest : public ::testing::Test {
 protected:
  Status WriteFirstPage(SpaceFiles* spaces, uint8_t value) {
    AlignedBuffer page(size_);
    std::fill_n(page.data(), size_, static_cast<std::byte>(value));
    const Status status = spaces->WritePage({kSpace, PageNumber(0)}, page.span());
    return status.ok() ? spaces->Sync(kSpace, SyncMethod::kFdatasync) : status;
  }
  std::byte ReadFirstPage(SpaceFiles* spaces) {
    AlignedBuffer page(size_);
    EXPECT_TRUE(spaces->ReadPage({kSpace, PageNumber(0)}, page.span()).ok());
    return page.data()[0];
  }
  /// What a start does to a space that no table owns, or that was dropped.
  static void ClearAway(SpaceFiles* spaces) {
    if (!spaces->Open(kSpace).ok()) {
      const Status status = spaces->RemoveDeadLink(kSpace);
      EXPECT_TRUE(status.ok() || status.Is(Code::kNotFound)) << status.message();
    } else {
      EXPECT_TRUE(spaces->Drop(kSpace).ok());
    }
    EXPECT_TRUE(spaces->RemoveTrash().value());
  }
  static bool IsEmpty(FaultFileSystem* files) {
    return files->List("/db").value().empty() && files->List("/disk/shop").value().empty();
  }

  uint32_t size_ = TestPageSizeBytes();
};

TEST_F(PlacedFileTest, ALinkOfTheInstanceFolderLeadsToTheFile) {
  const TempDir dir;
  const std::string place = dir.File("disk/shop/space_20_x.rws");
  ASSERT_TRUE(std::filesystem::create_directory(dir.File("db")));
  {
    SpaceFiles spaces(PosixFileSystem(), dir.File("db"), size_);
    ASSERT_TRUE(spaces.Create(kSpace, 4, place).ok());
    ASSERT_TRUE(WriteFirstPage(&spaces, 7).ok());
  }
  EXPECT_EQ(std::filesystem::file_size(place), 4 * size_);
  EXPECT_TRUE(std::filesystem::is_symlink(dir.File("db/space_20.rws")));
  SpaceFiles spaces(PosixFileSystem(), dir.File("db"), size_);
  EXPECT_EQ(spaces.ListFiles().value(), std::vector<SpaceId>{kSpace});
  EXPECT_EQ(spaces.PlaceOf(kSpace), place);
  ASSERT_TRUE(spaces.Open(kSpace).ok());
  EXPECT_EQ(ReadFirstPage(&spaces), std::byte{7});
  ASSERT_TRUE(spaces.Extend(kSpace, 9).ok());
  EXPECT_EQ(std::filesystem::file_size(place), 9 * size_);
  ASSERT_TRUE(spaces.Drop(kSpace).ok());
  EXPECT_TRUE(std::filesystem::exists(place));
  ASSERT_TRUE(spaces.RemoveTrash().value());
  EXPECT_FALSE(std::filesystem::exists(place));
  EXPECT_TRUE(std::filesystem::is_empty(dir.File("db")));
}

TEST_F(PlacedFileTest, APlaceThatCannotBeHadLeavesNothing) {
  const TempDir dir;
  SpaceFiles spaces(PosixFileSystem(), dir.path(), size_);
  // A file where a folder should be; and a file of somebody else, which stays.
  ASSERT_EQ(PosixFileSystem()->Open(dir.File("other"), {.create = true}).status().code(),
            Code::kOk);
  EXPECT_TRUE(spaces.Create(kSpace, 4, dir.File("other/space_20_x.rws")).Is(Code::kIoError));
  EXPECT_TRUE(spaces.Create(kSpace, 4, dir.File("other")).Is(Code::kInvalidArgument));
  EXPECT_FALSE(spaces.IsLive(kSpace));
  EXPECT_TRUE(spaces.ListFiles().value().empty());
  EXPECT_TRUE(std::filesystem::exists(dir.File("other")));
  EXPECT_TRUE(spaces.Create(kSpace, 4).ok());
}

TEST_F(PlacedFileTest, ADiskThatIsAwayIsNoFileThatIsGone) {
  FaultFileSystem files(TestSeed());
  {
    SpaceFiles spaces(&files, "/db", size_);
    ASSERT_TRUE(spaces.Create(kSpace, 4, kPlace).ok());
    ASSERT_TRUE(WriteFirstPage(&spaces, 3).ok());
  }
  files.Unmount("/disk");
  {
    SpaceFiles spaces(&files, "/db", size_);
    EXPECT_TRUE(IsPlaceMissing(spaces.Open(kSpace)));
    EXPECT_TRUE(spaces.RemoveDeadLink(kSpace).ok());  // which it is not
  }
  files.Unmount("");
  {
    SpaceFiles spaces(&files, "/db", size_);
    ASSERT_TRUE(spaces.Open(kSpace).ok());
    EXPECT_EQ(ReadFirstPage(&spaces), std::byte{3});
  }
  // Dropped without it: the file goes when it is back.
  files.Unmount("/disk");
  {
    SpaceFiles spaces(&files, "/db", size_);
    ASSERT_TRUE(spaces.Drop(kSpace).ok());
    EXPECT_TRUE(spaces.RemoveTrash().value());
    EXPECT_TRUE(spaces.ListFiles().value().empty());
  }
  files.Unmount("");
  EXPECT_FALSE(IsEmpty(&files));
  SpaceFiles spaces(&files, "/db", size_);
  EXPECT_TRUE(spaces.RemoveTrash().value());
  EXPECT_TRUE(IsEmpty(&files));
}

TEST_F(PlacedFileTest, ALinkWhoseFileIsThereIsNotDead) {
  FaultFileSystem files(TestSeed());
  SpaceFiles spaces(&files, "/db", size_);
  ASSERT_TRUE(spaces.Create(kSpace, 4, kPlace).ok());
  SpaceFiles later(&files, "/db", size_);
  EXPECT_TRUE(later.RemoveDeadLink(kSpace).Is(Code::kInvalidArgument));
  EXPECT_TRUE(files.Exists(kPlace).value());
  EXPECT_TRUE(later.Open(kSpace).ok());
}

TEST_F(PlacedFileTest, NoFolderIsMadeInAnEmptyMountPoint) {
  const TempDir dir;
  const std::string disk = dir.File("disk");
  for (const char* const folder : {"db", "disk", "disk/shop", "other"}) {
    ASSERT_TRUE(std::filesystem::create_directory(dir.File(folder)));
  }
  SpaceFiles spaces(PosixFileSystem(), dir.File("db"), size_);
  ASSERT_TRUE(spaces.Create(kSpace, 4, disk + "/shop/space_20_x.rws").ok());
  uint32_t id = kSpace.value();
  for (const bool dropped : {false, true}) {
    if (dropped) {
      ASSERT_TRUE(spaces.Drop(kSpace).ok());
    }
    std::filesystem::rename(disk + "/shop", dir.File("away"));
    for (const char* const place : {"/shop/x.rws", "/new/x.rws"}) {
      EXPECT_TRUE(spaces.Create(SpaceId(++id), 4, disk + place).Is(Code::kUnsupported)) << place;
    }
    EXPECT_TRUE(std::filesystem::is_empty(disk));
    const std::string other = dir.File("other/shop" + std::to_string(++id));
    EXPECT_TRUE(spaces.Create(SpaceId(id), 4, other + "/x.rws").ok());
    std::filesystem::rename(dir.File("away"), disk + "/shop");
    const std::string folder = disk + "/new" + std::to_string(++id);
    EXPECT_TRUE(spaces.Create(SpaceId(id), 4, folder + "/x.rws").ok());
    EXPECT_TRUE(spaces.Drop(SpaceId(id)).ok());
    if (!dropped) {
      EXPECT_TRUE(spaces.RemoveTrash().value());
      std::filesystem::remove(folder);
    }
  }
}

TEST_F(PlacedFileTest, ARelativeLinkLeadsFromItsOwnFolder) {
  const TempDir dir;
  ASSERT_TRUE(std::filesystem::create_directory(dir.File("db")));
  std::filesystem::create_symlink("../disk/x", dir.File("db/space_20.rws"));
  EXPECT_EQ(PosixFileSystem()->ReadLink(dir.File("db/space_20.rws")).value(),
            dir.File("db/../disk/x"));
}

TEST_F(PlacedFileTest, AFileThatVanishesFromALiveSpaceIsAnError) {
  FaultFileSystem files(TestSeed());
  SpaceFiles spaces(&files, "/db", size_);
  ASSERT_TRUE(spaces.Create(kSpace, 4, kPlace).ok());
  SpaceFiles later(&files, "/db", size_);
  ASSERT_TRUE(later.Open(kSpace).ok());  // opens no file yet
  files.Unmount("/disk");
  // As for a dropped space, the page would be taken for written.
  EXPECT_TRUE(WriteFirstPage(&later, 1).Is(Code::kIoError));
}

TEST_F(PlacedFileTest, PagesThatMustBeUntornWantAPlaceThatPromisesIt) {
  FaultFileSystem files(TestSeed());
  SpaceFiles spaces(&files, "/db", size_);
  spaces.SetAtomic(true);
  EXPECT_TRUE(spaces.Create(kSpace, 4, kPlace).Is(Code::kUnsupported));
  EXPECT_TRUE(IsEmpty(&files));
  files.SetAtomicWriteUnitMax(size_);
  EXPECT_TRUE(spaces.Create(kSpace, 4, kPlace).ok());
}

TEST_F(PlacedFileTest, NoCrashLeavesAFileWithoutALinkOrALinkForGood) {
  // All changes that Create, Drop and RemoveTrash make; each is interrupted under many outcomes.
  for (uint64_t change = 0; change < 24; ++change) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(change * 1000 + seed);
      FaultFileSystem files(TestSeed() + seed);
      files.PowerOffAfter(change);
      {
        SpaceFiles spaces(&files, "/db", size_);
        bool ok = spaces.Create(kSpace, 4, kPlace).ok();
        ok = ok && spaces.Drop(kSpace).ok();
        if (ok) spaces.RemoveTrash().status().Ignore();
      }
      files.Crash(seed);
      if (files.Exists(kPlace).value()) {
        EXPECT_EQ(files.List("/db").value().size(), 1u) << "an orphan";
      }
      SpaceFiles spaces(&files, "/db", size_);
      ClearAway(&spaces);
      // Nor does what another crash keeps of that.
      files.Crash(seed + 1);
      SpaceFiles again(&files, "/db", size_);
      ClearAway(&again);
      EXPECT_TRUE(IsEmpty(&files));
    }
  }
}

// The folder of the folder was made before, by a call whose sync failed.
TEST_F(PlacedFileTest, AFolderThatWasNotSyncedIsSyncedByTheNextOne) {
  FaultFileSystem files(TestSeed());
  ASSERT_TRUE(files.CreateFolder("/db").ok());
  ASSERT_TRUE(files.SyncDirectory("/").ok());
  SpaceFiles spaces(&files, "/db", size_);
  files.Inject({.call = FileCall::kSyncDirectory, .path_part = "/"});
  EXPECT_FALSE(spaces.Create(kSpace, 4, kPlace).ok());
  files.ClearFaults();
  ASSERT_TRUE(spaces.Create(kSpace, 4, kPlace).ok());
  files.Crash({.keep = CrashPlan::Keep::kNothing}, 1);
  EXPECT_TRUE(files.Exists(kPlace).value());
}

TEST_F(PlacedFileTest, ACreatedFileAndItsLinkSurviveAnyCrash) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    FaultFileSystem files(TestSeed());
    {
      SpaceFiles spaces(&files, "/db", size_);
      ASSERT_TRUE(spaces.Create(kSpace, 2, kPlace).ok());
      ASSERT_TRUE(WriteFirstPage(&spaces, 5).ok());
    }
    files.Crash(seed);
    EXPECT_EQ(files.ReadLink(kLink).value(), kPlace);
    SpaceFiles spaces(&files, "/db", size_);
    ASSERT_TRUE(spaces.Open(kSpace).ok());
    EXPECT_EQ(ReadFirstPage(&spaces), std::byte{5});
  }
}

}  // namespace
}  // namespace rowan::placed_file_test
