// SPDX-License-Identifier: GPL-2.0-only
// Scrubbing below the engine: how much is read and when, and what is judged. tests/engine has it
// beside tables and writers.
#include "storage/scrubber.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "base/counters.h"
#include "space/space_pages.h"
#include "tests/storage/stored_values.h"
#include "tests/support/await.h"
#include "tests/support/log_capture.h"

namespace rowan {
namespace {

constexpr uint64_t kFast = uint64_t{1} << 40;

/// What was read and found since the last look.
struct Found {
  uint64_t damaged = 0;
  uint64_t rewritten = 0;
  bool operator==(const Found&) const = default;
};

class StorageScrubberTest : public testing::Test {
 protected:
  StorageScrubberTest() {
    EXPECT_TRUE(world_.Create().ok());
    values_.ChangeSome(&world_, &random_, 30);
    EXPECT_TRUE(world_.pool().FlushAndCheckpoint().ok());
  }
  Scrubber& scrubber() { return *world_.storage().scrubber(); }
  static uint64_t PagesRead() { return ReadCounter(Counter::kScrubPagesRead); }
  Found ScrubAll() {
    const Found before = Counted();
    while (!scrubber().ReadSome()) {
    }
    const Found now = Counted();
    return {now.damaged - before.damaged, now.rewritten - before.rewritten};
  }
  static Found Counted() {
    return {ReadCounter(Counter::kScrubPagesDamaged), ReadCounter(Counter::kScrubPagesRewritten)};
  }
  /// Whether any page is read by some steps.
  bool StepsRead() {
    const uint64_t before = PagesRead();
    for (int i = 0; i < 50; ++i) scrubber().Step(stopping_);
    return PagesRead() > before;
  }
  void DamageOnDisk(PageId page) {
    const uint64_t at = uint64_t{page.page.value()} * world_.page_size() + 1000;
    ASSERT_TRUE(files_.FlipBit(world_.files().PathOf(page.space), at, 3));
  }
  /// Nothing is in the pool but what the start itself needs.
  void StartAgain() {
    ASSERT_TRUE(world_.storage().Close({}).ok());
    ASSERT_TRUE(world_.Start().ok());
  }

  FaultFileSystem files_{TestSeed()};
  SpaceFixture world_{&files_, {.background = false, .doublewrite = DoublewriteMode::kOff}};
  StoredValues values_;
  Random random_{TestSeed()};
  std::atomic<bool> stopping_{false};
};

TEST_F(StorageScrubberTest, ARoundReadsEachPageOfEachSpaceOnceInSmallBatches) {
  uint64_t pages = 0;
  for (const SpaceId space : {kSystemSpace, kUndoSpace, kFirstTableSpace}) {
    pages += world_.files().PageCount(space).value();
  }
  for (uint64_t round = 1; round <= 2; ++round) {
    uint64_t read = 0;
    bool done = false;
    while (!done) {
      const uint64_t before = PagesRead();
      done = scrubber().ReadSome();
      EXPECT_LE((PagesRead() - before) * world_.page_size(), 256u << 10);
      read += PagesRead() - before;
      EXPECT_EQ(scrubber().Figures().pages_done, read);
      EXPECT_EQ(scrubber().Figures().pages_total, pages);
    }
    EXPECT_EQ(read, pages);
    EXPECT_EQ(scrubber().Figures().rounds, round);
  }
  EXPECT_EQ(scrubber().Figures().last_finding, "");
}

TEST_F(StorageScrubberTest, ReadsWhatTheRateAllows) {
  scrubber().SetRate(0);
  EXPECT_FALSE(StepsRead());
  // A batch takes three days.
  scrubber().SetRate(1);
  EXPECT_EQ(scrubber().Figures().bytes_per_second, 1u);
  EXPECT_FALSE(StepsRead());
  scrubber().SetRate(kFast);
  EXPECT_TRUE(Await([&] { return StepsRead() && scrubber().Figures().rounds > 0; }));
}

TEST_F(StorageScrubberTest, AStepIsAtMostOneRoundHoweverFastItMay) {
  scrubber().SetRate(kFast);
  uint64_t read = 0;
  ASSERT_TRUE(Await([&] {
    const uint64_t before = PagesRead();
    scrubber().Step(stopping_);
    read = PagesRead() - before;
    return read > 0;
  }));
  EXPECT_EQ(scrubber().Figures().rounds, 1u);
  EXPECT_EQ(scrubber().Figures().pages_done, read);
}

TEST_F(StorageScrubberTest, RestsWhileOthersReadAndWrite) {
  scrubber().SetRate(kFast);
  for (const Counter counter : {Counter::kPagesRead, Counter::kPagesReadAhead,
                                Counter::kPagesWritten, Counter::kLogSyncs}) {
    for (int i = 0; i < 20; ++i) {
      AddCounter(counter, 1'000'000'000);  // more than any device in the time between two steps
      const uint64_t before = PagesRead();
      scrubber().Step(stopping_);
      EXPECT_EQ(PagesRead(), before);
    }
  }
  EXPECT_TRUE(Await([&] { return StepsRead(); })) << "nobody else does any more";
}

TEST_F(StorageScrubberTest, RestsWhenItIsToStopAndWhenTheEngineHas) {
  scrubber().SetRate(kFast);
  stopping_ = true;
  EXPECT_FALSE(StepsRead());
  stopping_ = false;
  const LogCapture quiet;
  world_.log().Stop("a test");
  EXPECT_FALSE(StepsRead());
}

TEST_F(StorageScrubberTest, RestsInAnInstanceThatIsOnlyRead) {
  ASSERT_TRUE(world_.storage().Close({}).ok());
  world_.Kill();
  StorageOptions options = world_.options();
  options.read_only = true;
  const Result<std::unique_ptr<Storage>> storage = Storage::Open(&files_, options);
  ASSERT_TRUE(storage.ok());
  storage.value()->scrubber()->SetRate(kFast);
  const uint64_t before = PagesRead();
  for (int i = 0; i < 50; ++i) storage.value()->scrubber()->Step(stopping_);
  EXPECT_EQ(PagesRead(), before);
}

TEST_F(StorageScrubberTest, RestsUntilTheLastRunIsRedone) {
  values_.ChangeSome(&world_, &random_, 10);
  ASSERT_TRUE(world_.log().WaitDurable(world_.log().tail()).ok());
  world_.Kill();
  files_.Crash({.keep = CrashPlan::Keep::kNothing}, TestSeed());
  const std::string path = "space_" + std::to_string(kFirstTableSpace.value()) + ".rws";
  files_.Inject({.call = FileCall::kRead, .path_part = path, .lasting = true});
  const LogCapture quiet;
  StorageOptions options = world_.options();
  options.background = true;
  const Result<std::unique_ptr<Storage>> storage = Storage::Open(&files_, options);
  ASSERT_TRUE(storage.ok());
  ASSERT_TRUE(storage.value()->redoing());
  Scrubber* const scrubber = storage.value()->scrubber();
  scrubber->SetRate(kFast);
  const uint64_t before = PagesRead();
  for (int i = 0; i < 50; ++i) scrubber->Step(stopping_);
  EXPECT_EQ(PagesRead(), before);
  files_.ClearFaults();
  ASSERT_TRUE(Await([&] { return storage.value()->FinishRedo().ok(); }));
  EXPECT_TRUE(Await([&] {
    scrubber->Step(stopping_);
    return PagesRead() > before;
  }));
}

TEST_F(StorageScrubberTest, APageThatNobodyHasInThePoolIsFoundEachRound) {
  ASSERT_NO_FATAL_FAILURE(StartAgain());
  const PageId page = values_.SomePage();
  ASSERT_NO_FATAL_FAILURE(DamageOnDisk(page));
  LogCapture log;
  EXPECT_EQ(ScrubAll(), (Found{1, 0}));
  const std::string name = "Page " + std::to_string(page.page.value()) + " of '" +
                           world_.files().PathOf(page.space) + "'";
  EXPECT_NE(scrubber().Figures().last_finding.find(name), std::string::npos);
  EXPECT_TRUE(log.Has("Scrubbing: " + name)) << log.Text();
}

TEST_F(StorageScrubberTest, WhatThePoolHasWholeIsWrittenAgain) {
  const PageId page = values_.SomePage();
  ASSERT_TRUE(world_.pool().Fix(page, LatchMode::kShared).ok());
  ASSERT_NO_FATAL_FAILURE(DamageOnDisk(page));
  const LogCapture quiet;
  EXPECT_EQ(ScrubAll(), (Found{0, 1}));
  ASSERT_TRUE(world_.pool().FlushAndCheckpoint().ok());
  ASSERT_NO_FATAL_FAILURE(StartAgain());
  values_.ExpectIn(&world_);
}

// The image is good in itself, but old.
TEST_F(StorageScrubberTest, AWriteThatWasLostIsMadeAgain) {
  ASSERT_TRUE(world_.allocator().WriteCounter(kFirstTableSpace, 7).ok());
  files_.Inject({.call = FileCall::kWrite,
                 .path_part = world_.files().PathOf(kFirstTableSpace),
                 .lasting = true,
                 .effect = InjectedFault::Effect::kDropWrite});
  ASSERT_TRUE(world_.pool().FlushAndCheckpoint().ok());
  files_.ClearFaults();
  const LogCapture quiet;
  EXPECT_EQ(ScrubAll(), (Found{0, 1}));
  ASSERT_TRUE(world_.pool().FlushAndCheckpoint().ok());
  ASSERT_NO_FATAL_FAILURE(StartAgain());
  EXPECT_EQ(world_.allocator().ReadCounter(kFirstTableSpace).value(), 7u);
}

TEST_F(StorageScrubberTest, APageThatIsToBeWrittenAnywayIsNotJudged) {
  const PageId header{kFirstTableSpace, PageNumber(0)};
  ASSERT_TRUE(world_.allocator().WriteCounter(header.space, 7).ok());
  ASSERT_NO_FATAL_FAILURE(DamageOnDisk(header));
  EXPECT_EQ(ScrubAll(), (Found{0, 0}));
  ASSERT_TRUE(world_.pool().FlushAndCheckpoint().ok());
  EXPECT_EQ(ScrubAll(), (Found{0, 0}));
}

TEST_F(StorageScrubberTest, WhatIsNotInUseMayBeAnything) {
  ASSERT_NO_FATAL_FAILURE(StartAgain());
  const uint32_t pages = world_.files().PageCount(kFirstTableSpace).value();
  uint32_t damaged = 0;
  for (uint32_t number = 0; number < pages; ++number) {
    const PageId page{kFirstTableSpace, PageNumber(number)};
    if (world_.allocator().IsAllocated(page).value()) continue;
    ASSERT_NO_FATAL_FAILURE(DamageOnDisk(page));
    ++damaged;
  }
  ASSERT_GT(damaged, 0u);
  EXPECT_EQ(ScrubAll(), (Found{0, 0}));
}

// As a crash leaves it while the file grows, before the next bitmap page is made.
TEST_F(StorageScrubberTest, PagesBehindTheLastBitmapAreNotJudged) {
  const uint32_t pages = GroupPages(world_.page_size());
  ASSERT_TRUE(world_.files().Extend(kFirstTableSpace, pages + 8).ok());
  const LogCapture log;
  EXPECT_EQ(ScrubAll(), (Found{0, 0}));
  EXPECT_EQ(log.Text(), "");
}

TEST_F(StorageScrubberTest, WhatThePoolHasWholeIsWrittenAgainWithoutItsBitmap) {
  ASSERT_NO_FATAL_FAILURE(StartAgain());
  const PageId page = values_.SomePage();
  const PageId bitmap{page.space, BitmapPage(0, world_.page_size())};
  ASSERT_TRUE(world_.pool().Fix(page, LatchMode::kShared).ok());
  ASSERT_FALSE(world_.pool().IsResident(bitmap));
  ASSERT_NO_FATAL_FAILURE(DamageOnDisk(page));
  ASSERT_NO_FATAL_FAILURE(DamageOnDisk(bitmap));
  LogCapture log;
  EXPECT_EQ(ScrubAll(), (Found{1, 1}));
  EXPECT_TRUE(log.Has("Page 1 of ")) << log.Text();
}

TEST_F(StorageScrubberTest, ASpaceThatIsMarkedOrGoneIsPassedOver) {
  ASSERT_NO_FATAL_FAILURE(StartAgain());
  ASSERT_NO_FATAL_FAILURE(DamageOnDisk(values_.SomePage()));
  ASSERT_TRUE(world_.storage().damaged()->Mark(kFirstTableSpace, "A test.").ok());
  EXPECT_EQ(ScrubAll(), (Found{0, 0}));
  ASSERT_TRUE(world_.allocator().DropSpace(kFirstTableSpace).ok());
  world_.storage().damaged()->Forget(kFirstTableSpace);
  const uint64_t before = PagesRead();
  EXPECT_EQ(ScrubAll(), (Found{0, 0}));
  EXPECT_EQ(PagesRead() - before, world_.files().PageCount(kSystemSpace).value() +
                                      world_.files().PageCount(kUndoSpace).value());
}

}  // namespace
}  // namespace rowan
