// SPDX-License-Identifier: GPL-2.0-only
#include "tests/support/fault_file_system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "io/aligned_buffer.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

constexpr CrashPlan kLoseAll{.keep = CrashPlan::Keep::kNothing};
constexpr CrashPlan kKeepAll{.keep = CrashPlan::Keep::kEverything};

std::unique_ptr<File> Open(FaultFileSystem& files, const std::string& path,
                           FileOptions options = {.create = true}) {
  Result<std::unique_ptr<File>> file = files.Open(path, options);
  EXPECT_TRUE(file.ok()) << file.status().message();
  return file.ok() ? std::move(file).value() : nullptr;
}

std::string Contents(FaultFileSystem& files, const std::string& path) {
  const auto file = Open(files, path, {});
  if (file == nullptr) return "missing";
  std::vector<std::byte> bytes(file->Size().value());
  EXPECT_TRUE(file->Read(0, bytes).ok());
  return std::string(AsText(bytes));
}

TEST(FaultFileSystemTest, AFolderSurvivesOnlyBySyncingItsParent) {
  for (const bool synced : {false, true}) {
    FaultFileSystem files(1);
    ASSERT_TRUE(files.CreateFolder("/db").ok());
    ASSERT_TRUE(files.CreateFolder("/db").ok());
    EXPECT_TRUE(files.Exists("/db").value());
    auto file = Open(files, "/db/a");
    ASSERT_TRUE(file->Sync(SyncMethod::kFsync).ok());
    ASSERT_TRUE(files.SyncDirectory("/db").ok());
    if (synced) {
      ASSERT_TRUE(files.SyncDirectory("/").ok());
    }
    files.Crash(kLoseAll, 1);
    EXPECT_EQ(files.Exists("/db/a").value(), synced);
    EXPECT_EQ(files.Exists("/db").value(), synced);
  }
}

TEST(FaultFileSystemTest, ALockEndsWithItsHandleOrTheCrash) {
  FaultFileSystem files(1);
  auto first = Open(files, "db/a");
  auto second = Open(files, "db/a");
  ASSERT_TRUE(first->Lock().ok());
  EXPECT_TRUE(second->Lock().Is(Code::kBusy));
  first.reset();
  ASSERT_TRUE(second->Lock().ok());
  ASSERT_TRUE(files.SyncDirectory("db").ok());
  files.Crash(kKeepAll, 1);
  EXPECT_TRUE(Open(files, "db/a", {})->Lock().ok());
}

TEST(FaultFileSystemTest, BehavesAsAFileSystemWhileNothingFails) {
  FaultFileSystem files(1);
  EXPECT_TRUE(files.Open("db/a", {}).status().Is(Code::kNotFound));
  const auto file = Open(files, "db/a");
  EXPECT_EQ(file->descriptor(), -1);
  ASSERT_TRUE(file->Write(2, AsBytes("xyz")).ok());
  EXPECT_EQ(Contents(files, "db/a"), std::string("\0\0xyz", 5));
  std::vector<std::byte> tail(3);
  EXPECT_EQ(file->Read(3, tail).detail(), 0u);
  ASSERT_TRUE(file->Allocate(0, 8).ok());
  EXPECT_EQ(file->Size().value(), 8u);
  ASSERT_TRUE(file->Truncate(3).ok());
  EXPECT_EQ(Contents(files, "db/a"), std::string("\0\0x", 3));
  EXPECT_TRUE(
      files.Open("db/a", {.create = true, .exclusive = true}).status().Is(Code::kInvalidArgument));
  ASSERT_TRUE(files.Rename("db/a", "db/b").ok());
  Open(files, "other/c");
  EXPECT_EQ(files.List("db").value(), std::vector<std::string>{"b"});
  EXPECT_EQ(files.List("db/").value(), std::vector<std::string>{"b"});
  ASSERT_TRUE(files.Remove("db/b").ok());
  EXPECT_TRUE(files.Remove("db/b").Is(Code::kNotFound));
  EXPECT_FALSE(files.Exists("db/b").value());
}

TEST(FaultFileSystemTest, DirectFilesRefuseUnalignedTransfers) {
  FaultFileSystem files(1);
  const auto file = Open(files, "a", {.create = true, .direct = true});
  AlignedBuffer page(kDirectAlignment);
  EXPECT_TRUE(file->Write(0, page.span()).ok());
  EXPECT_FALSE(file->Write(512, page.span()).ok());
  EXPECT_FALSE(file->Write(0, page.span().first(512)).ok());
  EXPECT_FALSE(file->Read(0, page.span().subspan(8, 512)).ok());
}

TEST(FaultFileSystemTest, SyncedDataAndNamesSurviveEveryCrash) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    FaultFileSystem files(TestSeed());
    SCOPED_TRACE(files.Describe() + " crash " + std::to_string(seed));
    auto file = Open(files, "db/a");
    ASSERT_TRUE(file->Write(0, AsBytes("durable")).ok());
    ASSERT_TRUE(file->Sync(SyncMethod::kFdatasync).ok());
    ASSERT_TRUE(files.SyncDirectory("db").ok());
    files.Crash(seed);
    EXPECT_FALSE(file->Write(0, AsBytes("old handle")).ok());
    EXPECT_FALSE(file->Sync(SyncMethod::kFsync).ok());
    EXPECT_EQ(Contents(files, "db/a"), "durable");
  }
}

TEST(FaultFileSystemTest, UnsyncedWritesAreLostKeptOrTorn) {
  const std::string old_page(16384, 'o');
  const std::string new_page(16384, 'n');
  std::set<std::string> outcomes;
  uint64_t torn = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    FaultFileSystem files(TestSeed());
    auto file = Open(files, "db/a");
    ASSERT_TRUE(file->Write(0, AsBytes(old_page)).ok());
    ASSERT_TRUE(file->Sync(SyncMethod::kFsync).ok());
    ASSERT_TRUE(files.SyncDirectory("db").ok());
    ASSERT_TRUE(file->Write(0, AsBytes(new_page)).ok());
    files.Crash(seed);
    const std::string after = Contents(files, "db/a");
    ASSERT_EQ(after.size(), old_page.size());
    for (size_t offset = 0; offset < after.size(); offset += 512) {
      ASSERT_EQ(after.substr(offset, 512), std::string(512, after[offset]));
    }
    if (after != old_page && after != new_page) ++torn;
    outcomes.insert(after);
  }
  EXPECT_TRUE(outcomes.contains(old_page));
  EXPECT_TRUE(outcomes.contains(new_page));
  EXPECT_GT(torn, 10u);
}

TEST(FaultFileSystemTest, LaterWritesMaySurviveEarlierOnes) {
  bool reordered = false;
  for (uint64_t seed = 0; seed < 200 && !reordered; ++seed) {
    FaultFileSystem files(TestSeed());
    auto file = Open(files, "db/a");
    ASSERT_TRUE(file->Truncate(8192).ok());
    ASSERT_TRUE(file->Sync(SyncMethod::kFsync).ok());
    ASSERT_TRUE(files.SyncDirectory("db").ok());
    ASSERT_TRUE(file->Write(0, AsBytes("1")).ok());
    ASSERT_TRUE(file->Write(4096, AsBytes("2")).ok());
    files.Crash(seed);
    const std::string after = Contents(files, "db/a");
    reordered = after[0] == '\0' && after[4096] == '2';
  }
  EXPECT_TRUE(reordered);
}

TEST(FaultFileSystemTest, WriteThroughIsDurableAndWinsOverOlderUnsyncedWrites) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    FaultFileSystem files(TestSeed());
    auto cached = Open(files, "db/a");
    auto through = Open(files, "db/a", {.write_through = true});
    ASSERT_TRUE(files.SyncDirectory("db").ok());
    ASSERT_TRUE(cached->Write(0, AsBytes("aaaa")).ok());
    ASSERT_TRUE(through->Write(0, AsBytes("bb")).ok());
    files.Crash(seed);
    EXPECT_EQ(Contents(files, "db/a").substr(0, 2), "bb");
  }
}

TEST(FaultFileSystemTest, NamesWithoutDirectorySyncMayBeLost) {
  FaultFileSystem files(1);
  auto file = Open(files, "db/new");
  ASSERT_TRUE(file->Write(0, AsBytes("new")).ok());
  ASSERT_TRUE(file->Sync(SyncMethod::kFsync).ok());
  ASSERT_TRUE(files.SyncDirectory("db").ok());
  Open(files, "db/lost");
  ASSERT_TRUE(files.Rename("db/new", "db/name").ok());
  files.Crash(kLoseAll, 1);
  EXPECT_EQ(files.List("db").value(), std::vector<std::string>{"new"});
  ASSERT_TRUE(files.Rename("db/new", "db/name").ok());
  ASSERT_TRUE(files.SyncDirectory("db").ok());
  ASSERT_TRUE(files.Remove("db/name").ok());
  files.Crash(kLoseAll, 2);
  EXPECT_EQ(Contents(files, "db/name"), "new");
  ASSERT_TRUE(files.Remove("db/name").ok());
  files.Crash(kKeepAll, 3);
  EXPECT_TRUE(files.List("db").value().empty());
}

TEST(FaultFileSystemTest, RenameReplacesTheTargetWholeOrNotAtAll) {
  bool old_seen = false;
  bool new_seen = false;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    FaultFileSystem files(TestSeed());
    for (const char* name : {"db/target", "db/source"}) {
      auto file = Open(files, name);
      ASSERT_TRUE(file->Write(0, AsBytes(name)).ok());
      ASSERT_TRUE(file->Sync(SyncMethod::kFsync).ok());
    }
    ASSERT_TRUE(files.SyncDirectory("db").ok());
    ASSERT_TRUE(files.Rename("db/source", "db/target").ok());
    files.Crash(seed);
    const std::string after = Contents(files, "db/target");
    old_seen |= after == "db/target";
    new_seen |= after == "db/source";
    EXPECT_TRUE(after == "db/target" || after == "db/source") << after;
  }
  EXPECT_TRUE(old_seen && new_seen);
}

TEST(FaultFileSystemTest, AFailedSyncLosesDataThatProgramsStillSee) {
  bool lost = false;
  for (uint64_t seed = 0; seed < 50 && !lost; ++seed) {
    FaultFileSystem files(seed);
    auto file = Open(files, "db/a");
    ASSERT_TRUE(files.SyncDirectory("db").ok());
    ASSERT_TRUE(file->Write(0, AsBytes("data")).ok());
    files.Inject({.call = FileCall::kSync, .path_part = "db/a"});
    EXPECT_TRUE(file->Sync(SyncMethod::kFsync).Is(Code::kIoError));
    EXPECT_EQ(Contents(files, "db/a"), "data");
    EXPECT_TRUE(file->Sync(SyncMethod::kFsync).ok());
    files.Crash(kKeepAll, seed);
    lost = Contents(files, "db/a").empty();
  }
  EXPECT_TRUE(lost);
}

TEST(FaultFileSystemTest, FaultsHitTheirCallAndPathOnly) {
  FaultFileSystem files(1);
  auto log = Open(files, "db/log");
  auto data = Open(files, "db/data");
  files.Inject({.call = FileCall::kWrite, .path_part = "data", .nth_call = 2});
  files.Inject({.call = FileCall::kWrite,
                .path_part = "log",
                .nth_call = 3,
                .lasting = true,
                .code = Code::kNoSpace});
  EXPECT_TRUE(data->Write(0, AsBytes("1")).ok());
  EXPECT_TRUE(log->Write(0, AsBytes("1")).ok());
  EXPECT_TRUE(data->Write(0, AsBytes("2")).Is(Code::kIoError));
  EXPECT_TRUE(data->Write(0, AsBytes("3")).ok());
  EXPECT_TRUE(log->Write(0, AsBytes("2")).ok());
  EXPECT_TRUE(log->Write(0, AsBytes("3")).Is(Code::kNoSpace));
  EXPECT_TRUE(log->Write(0, AsBytes("4")).Is(Code::kNoSpace));
  EXPECT_EQ(Contents(files, "db/log"), "2");
  files.ClearFaults();
  EXPECT_TRUE(log->Write(0, AsBytes("5")).ok());
  EXPECT_EQ(files.Calls(FileCall::kWrite), 8u);
}

TEST(FaultFileSystemTest, WritesCanBeDroppedOrMisdirectedAndBitsCanRot) {
  FaultFileSystem files(1);
  auto file = Open(files, "db/a");
  ASSERT_TRUE(file->Write(0, AsBytes("11112222")).ok());
  files.Inject({.call = FileCall::kWrite, .effect = InjectedFault::Effect::kDropWrite});
  EXPECT_TRUE(file->Write(0, AsBytes("xxxx")).ok());
  EXPECT_EQ(Contents(files, "db/a"), "11112222");
  files.Inject({.call = FileCall::kWrite,
                .effect = InjectedFault::Effect::kMisdirectWrite,
                .misdirect_bytes = 4});
  EXPECT_TRUE(file->Write(0, AsBytes("yyyy")).ok());
  EXPECT_EQ(Contents(files, "db/a"), "1111yyyy");
  EXPECT_TRUE(files.FlipBit("db/a", 0, 1));
  EXPECT_EQ(Contents(files, "db/a"), "3111yyyy");
  EXPECT_FALSE(files.FlipBit("db/a", 8, 0));
  EXPECT_FALSE(files.FlipBit("db/none", 0, 0));
}

TEST(FaultFileSystemTest, PowerGoesOffAtTheChosenChangeAndComesBackWithTheCrash) {
  for (uint64_t changes = 0; changes < 5; ++changes) {
    FaultFileSystem files(TestSeed());
    auto file = Open(files, "db/a");
    ASSERT_TRUE(file->Write(0, AsBytes("0")).ok());
    ASSERT_TRUE(file->Sync(SyncMethod::kFsync).ok());
    ASSERT_TRUE(files.SyncDirectory("db").ok());
    auto through = Open(files, "db/a", {.write_through = true});
    files.PowerOffAfter(changes);
    uint64_t done = 0;
    for (char mark = '1'; mark <= '4'; ++mark) {
      if (through->Write(0, AsBytes(std::string_view(&mark, 1))).ok()) ++done;
    }
    EXPECT_EQ(done, std::min<uint64_t>(changes, 4));
    EXPECT_EQ(files.powered_off(), changes < 4);
    if (changes < 4) {
      EXPECT_FALSE(files.Exists("db/a").ok());
      EXPECT_FALSE(files.List("db").ok());
      EXPECT_FALSE(file->Size().ok());
      EXPECT_FALSE(file->Sync(SyncMethod::kFsync).ok());
    }
    files.Crash(changes);
    EXPECT_FALSE(files.powered_off());
    const char after = Contents(files, "db/a")[0];
    const char acknowledged = static_cast<char>('0' + done);
    // The interrupted write may have reached the disk.
    EXPECT_TRUE(after == acknowledged || (changes < 4 && after == acknowledged + 1)) << after;
  }
}

TEST(FaultFileSystemTest, UntornWritesSurviveWholeOrNotAtAll) {
  const std::string page(16384, 'n');
  for (uint64_t seed = 0; seed < 100; ++seed) {
    FaultFileSystem files(TestSeed());
    files.SetAtomicWriteUnitMax(16384);
    EXPECT_EQ(files.AtomicWriteUnitMax("db/a").value(), 16384u);
    auto file = Open(files, "db/a", {.create = true, .atomic = true});
    ASSERT_TRUE(files.SyncDirectory("db").ok());
    ASSERT_TRUE(file->Write(0, AsBytes(page)).ok());
    EXPECT_FALSE(file->Write(0, AsBytes(page + page)).ok());
    files.Crash(seed);
    const std::string after = Contents(files, "db/a");
    EXPECT_TRUE(after.empty() || after == page);
  }
}

TEST(FaultFileSystemTest, SameSeedsGiveTheSameImages) {
  const auto run = [](uint64_t seed) {
    FaultFileSystem files(7);
    std::string images;
    for (uint64_t round = 0; round < 20; ++round) {
      auto file = Open(files, "db/f" + std::to_string(round % 3));
      const std::string page(8192, static_cast<char>('a' + round));
      EXPECT_TRUE(file->Write(round % 5 * 4096, AsBytes(page)).ok());
      if (round % 7 == 3) {
        EXPECT_TRUE(files.SyncDirectory("db").ok());
      }
      if (round % 4 == 3) files.Crash(seed + round);
    }
    files.Crash(seed);
    for (const std::string& name : files.List("db").value()) {
      images += name + Contents(files, "db/" + name);
    }
    return images;
  };
  EXPECT_EQ(run(5), run(5));
  EXPECT_NE(run(5), run(6));
}

TEST(FaultFileSystemTest, ThreadsWriteSyncAndListTogether) {
  FaultFileSystem files(TestSeed());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&files, thread] {
      const std::string own = "db/own" + std::to_string(thread);
      auto file = Open(files, own);
      auto shared = Open(files, "db/shared");
      const std::string bytes(4096, static_cast<char>('a' + thread));
      for (uint64_t round = 0; round < 200; ++round) {
        EXPECT_TRUE(file->Write(round * 512, AsBytes(bytes)).ok());
        EXPECT_TRUE(shared->Write(static_cast<uint64_t>(thread) * 4096, AsBytes(bytes)).ok());
        if (round % 10 == 0) {
          EXPECT_TRUE(shared->Sync(SyncMethod::kFdatasync).ok());
        }
        if (round % 20 == 0) {
          EXPECT_TRUE(files.SyncDirectory("db").ok());
        }
        EXPECT_TRUE(files.List("db").ok());
      }
      EXPECT_TRUE(shared->Sync(SyncMethod::kFsync).ok());
      EXPECT_TRUE(files.SyncDirectory("db").ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  files.Crash(kLoseAll, 1);
  const std::string shared = Contents(files, "db/shared");
  for (size_t thread = 0; thread < 4; ++thread) {
    EXPECT_EQ(shared.substr(thread * 4096, 4096), std::string(4096, "abcd"[thread]));
  }
}

}  // namespace
}  // namespace rowan
