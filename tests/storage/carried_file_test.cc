// SPDX-License-Identifier: GPL-2.0-only
// A file whose end is kept in the redo log, beside a model: what was acknowledged is in it after a
// power cut, what it says was logged before is, too, and it ends with a whole append.
#include "storage/carried_file.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "buffer/buffer_redo.h"
#include "buffer/mini_txn.h"
#include "space/blob_store.h"
#include "tests/space/space_fixture.h"
#include "tests/support/log_capture.h"

namespace rowan::carried_file_test {
namespace {

constexpr char kFolder[] = "/binlog";
constexpr uint32_t kMark = 77;
constexpr uint64_t kLogBytes = uint64_t{1} << 20;

std::string NameOf(uint32_t number) { return "log." + std::to_string(number); }
std::string PathOf(uint32_t number) { return std::string(kFolder) + "/" + NameOf(number); }

/// An append: its number, its length, and filling that depends on both.
std::string MakeAppend(uint64_t number, size_t filling) {
  std::string text(2 * sizeof(uint64_t), '\0');
  StoreLe<uint64_t>(reinterpret_cast<std::byte*>(text.data()), number);
  StoreLe<uint64_t>(reinterpret_cast<std::byte*>(text.data()) + sizeof(uint64_t), filling);
  for (size_t i = 0; i < filling; ++i) text += static_cast<char>(number * 31 + i * 7);
  return text;
}

/// An instance that counts its transactions in a page, and the file that says which there were.
class CarriedWorld {
 public:
  explicit CarriedWorld(uint64_t seed) : files(seed), world_(&files, {.log_bytes = kLogBytes}) {}

  void Create() {
    ASSERT_TRUE(files.CreateFolder(kFolder).ok());
    ASSERT_TRUE(files.SyncDirectory("/").ok());
    ASSERT_TRUE(world_.Create().ok());
    Result<BlobRef> ref =
        world_.storage().blobs()->Write(SpaceFixture::kSpace, AsBytes("counted"),
                                        [](MiniTxn*, const BlobRef&) { return Status::Ok(); });
    ASSERT_TRUE(ref.ok());
    page_ = {SpaceFixture::kSpace, ref->first_page};
    ASSERT_TRUE(world_.pool().FlushAndCheckpoint().ok());
  }
  /// The number of the newest transaction is logged, not made durable.
  Status Count(uint64_t number) {
    std::byte bytes[sizeof(number)];
    StoreLe<uint64_t>(bytes, number);
    MiniTxn mini_txn(&world_.pool());
    const Status started = mini_txn.Start(256);
    if (!started.ok()) return started;
    Result<MutablePage> held = mini_txn.Fix(page_);
    if (!held.ok()) return held.status();
    LogPageBytes(&mini_txn, *held, world_.page_size() / 2, bytes);
    mini_txn.Commit();
    return Status::Ok();
  }
  uint64_t Counted() {
    Result<PageGuard> guard = world_.pool().Fix(page_, LatchMode::kShared);
    EXPECT_TRUE(guard.ok());
    return LoadLe<uint64_t>(guard->page() + world_.page_size() / 2);
  }
  /// As the server does: the file synced before anyone is told of it.
  Status NewFile(uint32_t number) {
    Result<std::unique_ptr<File>> opened = files.Open(PathOf(number), {.create = true});
    if (!opened.ok()) return opened.status();
    file_ = std::move(*opened);
    Status status = file_->Write(0, AsBytes("head"));
    if (status.ok()) status = file_->Sync(SyncMethod::kFsync);
    if (status.ok()) status = files.SyncDirectory(kFolder);
    size_ = 4;
    return status;
  }
  Status Append(const std::string& text) {
    const Status status = file_->Write(size_, AsBytes(text));
    size_ += text.size();
    return status;
  }
  std::string Contents(uint32_t number) {
    const Result<std::unique_ptr<File>> opened = files.Open(PathOf(number), {});
    if (!opened.ok()) return {};
    std::string text(opened.value()->Size().value(), '\0');
    EXPECT_TRUE(opened.value()->Read(0, AsWritableBytes(text)).ok());
    return text;
  }
  void CrashAndStart(uint64_t seed, CrashPlan::Keep keep = CrashPlan::Keep::kSubset) {
    file_.reset();
    world_.Kill();
    files.Crash({.keep = keep}, seed);
    ASSERT_TRUE(world_.Start().ok()) << files.Describe();
  }
  Result<CarriedTail::Restored> Restore(uint32_t number) {
    Result<CarriedTail::Restored> restored = carried().tail()->RestoreTo(PathOf(number));
    if (!restored.ok()) return restored;
    EXPECT_TRUE(carried().Settle().ok());
    return restored;
  }
  CarriedFile& carried() { return *world_.storage().carried_file(); }
  SpaceFixture& world() { return world_; }
  [[nodiscard]] uint64_t size() const { return size_; }

  FaultFileSystem files;

 private:
  static MutableBytes AsWritableBytes(std::string& text) {
    return {reinterpret_cast<std::byte*>(text.data()), text.size()};
  }
  SpaceFixture world_;
  PageId page_;
  std::unique_ptr<File> file_;
  uint64_t size_ = 0;
};

/// The number of the last append of the file, which consists of whole ones; 0: of none.
uint64_t LastAppendOf(const std::string& text) {
  uint64_t last = 0;
  size_t at = 4;
  while (at + 2 * sizeof(uint64_t) <= text.size()) {
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data()) + at;
    const auto number = LoadLe<uint64_t>(bytes);
    const auto filling = LoadLe<uint64_t>(bytes + sizeof(uint64_t));
    const std::string whole = MakeAppend(number, filling);
    EXPECT_EQ(text.substr(at, whole.size()), whole) << "append " << number << " at " << at;
    at += whole.size();
    last = number;
  }
  EXPECT_EQ(at, text.size());
  return last;
}

class CarriedFileTest : public testing::Test {
 protected:
  CarriedFileTest() : carried_(TestSeed()) { carried_.Create(); }
  bool KeepsOlderBuildsAway() {
    return carried_.world().control().data().features.Has(kCarriedFileFeature);
  }
  void Begin(uint32_t number) {
    ASSERT_TRUE(carried_.NewFile(number).ok());
    ASSERT_TRUE(carried_.carried().Begin(PathOf(number), kMark).ok());
  }
  void AppendAndCarry(uint64_t number, size_t filling = 100) {
    ASSERT_TRUE(carried_.Count(number).ok());
    ASSERT_TRUE(carried_.Append(MakeAppend(number, filling)).ok());
    ASSERT_TRUE(carried_.carried().Carry().ok());
  }
  CarriedWorld carried_;
};

TEST_F(CarriedFileTest, WhoCarriesDoesNotSyncTheFile) {
  Begin(1);
  carried_.files.Inject({.call = FileCall::kSync,
                         .path_part = NameOf(1),
                         .lasting = true,
                         .whose = InjectedFault::Whose::kInjectors});
  AppendAndCarry(1);
}

TEST_F(CarriedFileTest, WhatWasCarriedIsRestored) {
  Begin(1);
  for (uint64_t number = 1; number <= 5; ++number) AppendAndCarry(number);
  const std::string whole = carried_.Contents(1);
  carried_.CrashAndStart(3, CrashPlan::Keep::kNothing);
  EXPECT_EQ(carried_.Contents(1), "head");
  ASSERT_NE(carried_.carried().tail(), nullptr);
  EXPECT_EQ(carried_.carried().tail()->name(), NameOf(1));
  EXPECT_EQ(carried_.carried().tail()->mark(), kMark);
  EXPECT_EQ(carried_.carried().tail()->end_bytes(), whole.size());
  ASSERT_TRUE(carried_.Restore(1).ok());
  EXPECT_EQ(carried_.Contents(1), whole);
  EXPECT_EQ(carried_.Counted(), 5u);
  EXPECT_EQ(carried_.carried().tail(), nullptr);
}

TEST_F(CarriedFileTest, WhatNobodyWasToldOfIsCut) {
  Begin(1);
  AppendAndCarry(1);
  const std::string whole = carried_.Contents(1);
  ASSERT_TRUE(carried_.Count(2).ok());
  ASSERT_TRUE(carried_.Append(MakeAppend(2, 3000)).ok());
  carried_.world().Kill();  // the process dies, the file keeps what the kernel has
  ASSERT_TRUE(carried_.world().Start().ok());
  Result<CarriedTail::Restored> restored = carried_.Restore(1);
  ASSERT_TRUE(restored.ok());
  EXPECT_EQ(restored->bytes_cut, MakeAppend(2, 3000).size());
  EXPECT_EQ(carried_.Contents(1), whole);
}

TEST_F(CarriedFileTest, ARestoreCanBeDoneAgain) {
  Begin(1);
  for (uint64_t number = 1; number <= 3; ++number) AppendAndCarry(number, 90'000);
  const std::string whole = carried_.Contents(1);
  carried_.CrashAndStart(4);
  ASSERT_TRUE(carried_.carried().tail()->RestoreTo(PathOf(1)).ok());
  carried_.CrashAndStart(5);
  ASSERT_NE(carried_.carried().tail(), nullptr);
  ASSERT_TRUE(carried_.Restore(1).ok());
  EXPECT_EQ(carried_.Contents(1), whole);
  carried_.CrashAndStart(6);
  EXPECT_EQ(carried_.carried().tail(), nullptr);
}

TEST_F(CarriedFileTest, NoCheckpointBeforeItIsSettled) {
  Begin(1);
  AppendAndCarry(1);
  carried_.CrashAndStart(7);
  const Lsn before = carried_.world().control().data().checkpoint_lsn;
  ASSERT_TRUE(carried_.Count(2).ok());
  ASSERT_TRUE(carried_.world().pool().FlushAndCheckpoint().ok());
  EXPECT_EQ(carried_.world().control().data().checkpoint_lsn, before);
  ASSERT_TRUE(carried_.Restore(1).ok());
  ASSERT_TRUE(carried_.world().pool().FlushAndCheckpoint().ok());
  EXPECT_GT(carried_.world().control().data().checkpoint_lsn, before);
}

TEST_F(CarriedFileTest, ACheckpointSyncsTheFileFirst) {
  Begin(1);
  AppendAndCarry(1, 5000);
  ASSERT_TRUE(carried_.world().pool().FlushAndCheckpoint().ok());
  EXPECT_EQ(carried_.world().control().data().carried.covered_bytes, carried_.size());
  const std::string whole = carried_.Contents(1);
  carried_.CrashAndStart(8);
  ASSERT_TRUE(carried_.Restore(1).ok());
  EXPECT_EQ(carried_.Contents(1), whole);
}

TEST_F(CarriedFileTest, ACheckpointUnderWayCoversNothingThatCameLater) {
  // One of the test's own, which the pool's checkpoints do not ask.
  CarriedFile file(&carried_.files, &carried_.world().log(), &carried_.world().control(), nullptr);
  ASSERT_TRUE(carried_.NewFile(1).ok());
  ASSERT_TRUE(file.Begin(PathOf(1), kMark).ok());
  const uint64_t end = carried_.size();
  ASSERT_TRUE(file.BeforeCheckpoint().ok());
  for (const size_t filling : {size_t{100}, size_t{3 * kLogBytes}}) {
    ASSERT_TRUE(carried_.Append(MakeAppend(1, filling)).ok());
    ASSERT_TRUE(file.Carry().ok());
    ControlData data = carried_.world().control().data();
    file.AtCheckpoint(&data);
    EXPECT_EQ(data.carried.covered_bytes, end);
  }
}

TEST_F(CarriedFileTest, AnAppendLargerThanTheLogGoesToTheFile) {
  Begin(1);
  AppendAndCarry(1, 3 * kLogBytes);
  AppendAndCarry(2);
  const std::string whole = carried_.Contents(1);
  carried_.CrashAndStart(9);
  ASSERT_TRUE(carried_.Restore(1).ok());
  EXPECT_EQ(carried_.Contents(1), whole);
  EXPECT_EQ(LastAppendOf(whole), 2u);
}

TEST_F(CarriedFileTest, AFileThatEndsSaysNothingThatTheLogLacks) {
  Begin(1);
  ASSERT_TRUE(carried_.Count(1).ok());
  ASSERT_TRUE(carried_.Append(MakeAppend(1, 100)).ok());
  ASSERT_TRUE(carried_.carried().LogAppended().ok());  // its durability is not waited for
  ASSERT_TRUE(carried_.carried().End().ok());
  carried_.CrashAndStart(12, CrashPlan::Keep::kNothing);
  EXPECT_EQ(LastAppendOf(carried_.Contents(1)), 1u);
  EXPECT_EQ(carried_.Counted(), 1u);
}

TEST_F(CarriedFileTest, AFileThatIsNotCarriedIsSyncedAfterTheLog) {
  ASSERT_TRUE(carried_.NewFile(1).ok());
  ASSERT_TRUE(carried_.Count(1).ok());
  ASSERT_TRUE(carried_.Append(MakeAppend(1, 100)).ok());
  ASSERT_TRUE(carried_.carried().SyncUncarried(PathOf(1)).ok());
  carried_.CrashAndStart(13, CrashPlan::Keep::kNothing);
  EXPECT_EQ(carried_.carried().tail(), nullptr);
  EXPECT_EQ(LastAppendOf(carried_.Contents(1)), 1u);
  EXPECT_EQ(carried_.Counted(), 1u);
}

TEST_F(CarriedFileTest, AFileThatEndedIsLeftAlone) {
  Begin(1);
  AppendAndCarry(1);
  ASSERT_TRUE(carried_.carried().End().ok());
  const std::string whole = carried_.Contents(1);
  ASSERT_TRUE(carried_.Append(MakeAppend(2, 10)).ok());
  carried_.CrashAndStart(10);
  EXPECT_EQ(carried_.carried().tail(), nullptr);
  EXPECT_EQ(carried_.Contents(1).substr(0, whole.size()), whole);
}

TEST_F(CarriedFileTest, OlderBuildsAreKeptAwayWhileItIsCarried) {
  Begin(1);
  EXPECT_TRUE(KeepsOlderBuildsAway());
  ASSERT_TRUE(carried_.carried().End().ok());
  EXPECT_FALSE(KeepsOlderBuildsAway());
}

TEST_F(CarriedFileTest, AnotherFileOfThatNameGetsNothing) {
  Begin(1);
  AppendAndCarry(1);
  ASSERT_TRUE(carried_.carried().End().ok());
  ASSERT_TRUE(carried_.files.Remove(PathOf(1)).ok());
  Begin(1);
  AppendAndCarry(2);
  const std::string whole = carried_.Contents(1);
  carried_.CrashAndStart(11);
  ASSERT_TRUE(carried_.Restore(1).ok());
  EXPECT_EQ(carried_.Contents(1), whole);
  EXPECT_EQ(LastAppendOf(whole), 2u);
}

TEST_F(CarriedFileTest, AFileThatLostWhatWasSyncedIsRefused) {
  Begin(1);
  AppendAndCarry(1);
  ASSERT_TRUE(carried_.world().pool().FlushAndCheckpoint().ok());
  carried_.world().Kill();
  ASSERT_TRUE(carried_.files.Open(PathOf(1), {}).value()->Truncate(10).ok());
  ASSERT_TRUE(carried_.world().Start().ok());
  EXPECT_TRUE(carried_.carried().tail()->RestoreTo(PathOf(1)).status().Is(Code::kCorrupt));
  EXPECT_EQ(carried_.Contents(1).size(), 10u);
}

TEST_F(CarriedFileTest, AFailedSyncOfTheFileStopsTheEngine) {
  LogCapture log;
  Begin(1);
  AppendAndCarry(1);
  carried_.files.Inject({.call = FileCall::kSync, .path_part = NameOf(1)});
  ASSERT_TRUE(carried_.Count(2).ok());
  EXPECT_FALSE(carried_.world().pool().FlushAndCheckpoint().ok());
  EXPECT_TRUE(carried_.world().storage().stopped());
  EXPECT_FALSE(carried_.carried().Carry().ok());
}

TEST_F(CarriedFileTest, ANameThatDoesNotFitIsRefused) {
  const std::string path = std::string(kFolder) + "/" + std::string(kCarriedNameBytesMax + 1, 'n');
  EXPECT_TRUE(carried_.carried().Begin(path, kMark).Is(Code::kUnsupported));
  EXPECT_FALSE(carried_.carried().carrying());
}

TEST_F(CarriedFileTest, ACleanShutdownLeavesNothing) {
  Begin(1);
  AppendAndCarry(1);
  ASSERT_TRUE(carried_.world().storage().Close({}).ok());
  carried_.world().Kill();
  ASSERT_TRUE(carried_.world().Start().ok());
  EXPECT_EQ(carried_.carried().tail(), nullptr);
  EXPECT_FALSE(carried_.world().control().data().carried.active);
}

TEST(CarriedPieceTest, ImpossibleBodiesAreRefused) {
  CarriedPiece piece{.file = 3, .ends = true, .offset = 9, .bytes = {}};
  std::string body(kCarriedHeaderBytes, '\0');
  auto* bytes = reinterpret_cast<std::byte*>(body.data());
  StoreCarriedHeader(bytes, piece);
  CarriedPiece loaded;
  body += "abc";
  ASSERT_TRUE(LoadCarriedPiece(AsBytes(body), &loaded));
  EXPECT_EQ(loaded.file, 3u);
  EXPECT_TRUE(loaded.ends);
  EXPECT_EQ(loaded.end(), 12u);
  EXPECT_FALSE(LoadCarriedPiece(AsBytes(body.substr(0, kCarriedHeaderBytes - 1)), &loaded));
  piece.offset = UINT64_MAX - 1;
  StoreCarriedHeader(reinterpret_cast<std::byte*>(body.data()), piece);
  EXPECT_FALSE(LoadCarriedPiece(AsBytes(body), &loaded));
}

/// A program of appends, checkpoints, new files and pauses that a power cut interrupts.
class PowerCut {
 public:
  explicit PowerCut(uint64_t seed) : random_(seed), carried_(seed) {}

  void Run() {
    ASSERT_NO_FATAL_FAILURE(carried_.Create());
    for (int life = 0; life < 3; ++life) ASSERT_NO_FATAL_FAILURE(Live());
  }

 private:
  void Live() {
    ++file_;
    Status status = carried_.NewFile(file_);
    ASSERT_TRUE(status.ok());
    acknowledged_ = written_ = 0;
    begun_ = false;
    carried_.files.PowerOffAfter(random_.Below(120));
    while (status.ok() && !carried_.files.powered_off()) status = Step();
    carried_.CrashAndStart(random_.Next());
    SCOPED_TRACE(carried_.files.Describe());
    if (carried_.carried().tail() == nullptr) {
      EXPECT_FALSE(begun_);
      return;
    }
    ASSERT_EQ(carried_.carried().tail()->name(), NameOf(file_));
    ASSERT_TRUE(carried_.Restore(file_).ok());
    const std::string text = carried_.Contents(file_);
    const uint64_t last = LastAppendOf(text);
    EXPECT_GE(last, acknowledged_);
    EXPECT_LE(last, written_);
    EXPECT_GE(carried_.Counted(), last);  // what the file says was logged
  }
  Status Step() {
    CarriedFile& file = carried_.carried();
    if (!file.carrying()) {
      const Status begun = file.Begin(PathOf(file_), kMark);
      begun_ = begun.ok();
      return begun;
    }
    if (random_.OneIn(8)) return carried_.world().pool().FlushAndCheckpoint();
    ++number_;
    Status status = carried_.Count(number_);
    if (!status.ok()) return status;
    written_ = number_;
    const size_t filling = random_.Below(random_.OneIn(6) ? 200'000 : 900);
    status = carried_.Append(MakeAppend(number_, filling));
    if (status.ok()) status = file.Carry();
    if (status.ok()) acknowledged_ = number_;
    return status;
  }

  Random random_;
  CarriedWorld carried_;
  uint32_t file_ = 0;
  bool begun_ = false;
  uint64_t number_ = 0;
  uint64_t written_ = 0;
  uint64_t acknowledged_ = 0;
};

TEST(CarriedFileCrashTest, TheFileAndTheEngineAgreeAfterPowerCuts) {
  const uint64_t cuts = TestSetting("ROWAN_TEST_POWER_CUTS", 60);
  for (uint64_t i = 0; i < cuts && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("program " + std::to_string(i));
    PowerCut(TestSeed() + i).Run();
  }
}

}  // namespace
}  // namespace rowan::carried_file_test
