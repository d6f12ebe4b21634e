// SPDX-License-Identifier: GPL-2.0-only
// Power cuts at random moments of a random program, then recovery, then comparison with the model:
// exactly the groups below the recovered log end are there, among them all that were made durable.
// Now and then a sync fails first, and what it lost looks to the next start as if it were there.
#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

#include "base/logging.h"
#include "base/random.h"
#include "buffer/buffer_redo.h"
#include "buffer/page/page_header.h"
#include "tests/buffer/pool_fixture.h"
#include "tests/support/fault_file_system.h"

namespace rowan::crash_test {
namespace {

constexpr uint32_t kPages = 60;

/// Programs per test, three power cuts each.
uint64_t Programs() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  constexpr uint64_t kStandard = 4;
#else
  constexpr uint64_t kStandard = 30;
#endif
  return TestSetting("ROWAN_TEST_CRASH_PROGRAMS", kStandard);
}

/// One committed group of the program: what it set, and where it ends in the log.
struct Step {
  Lsn end;
  std::vector<std::pair<uint32_t, uint64_t>> values;  ///< page, counter
};

/// Moves an amount between pages, or initialises a page anew after freeing it.
class Program {
 public:
  Program(PoolFixture* fixture, uint64_t seed) : fixture_(fixture), random_(seed) {}

  /// One group. False when the engine has stopped.
  bool RunStep() { return random_.OneIn(6) ? FreeAndInit() : Transfer(); }
  void MaybeDurable() {
    if (!random_.OneIn(5)) return;
    const Lsn end = steps.empty() ? kNoLsn : steps.back().end;
    if (fixture_->log().WaitDurable(end).ok()) durable = end;
  }

  std::vector<Step> steps;
  Lsn durable;

 private:
  bool Transfer() {
    MiniTxn mini_txn(&fixture_->pool());
    if (!mini_txn.Start(1024).ok()) return false;
    auto page = static_cast<uint32_t>(random_.Between(1, kPages / 2));
    Step step;
    for (uint64_t count = random_.Between(1, 3); count > 0; --count) {
      Result<MutablePage> fixed = mini_txn.Fix(PoolFixture::Id(page));
      if (!fixed.ok()) {
        // Nothing may be logged when a mini-transaction is given up: commit what there is.
        if (mini_txn.has_changes()) (void)mini_txn.Commit();
        return false;
      }
      const uint64_t counter = fixture_->CounterOf(fixed->bytes) + random_.Between(1, 9);
      fixture_->Change(&mini_txn, *fixed, counter);
      step.values.emplace_back(page, counter);
      page += static_cast<uint32_t>(random_.Between(1, kPages / 6));
    }
    step.end = mini_txn.Commit();
    steps.push_back(std::move(step));
    return true;
  }

  /// Frees a page in one group (its changes may never be written) and reuses it in the next.
  bool FreeAndInit() {
    const auto page = static_cast<uint32_t>(random_.Between(1, kPages - 1));
    const uint64_t counter = random_.Below(1000);
    {
      MiniTxn mini_txn(&fixture_->pool());
      if (!mini_txn.Start(256).ok()) return false;
      Result<MutablePage> fixed = mini_txn.Fix(PoolFixture::Id(page));
      if (!fixed.ok()) return false;
      fixture_->Change(&mini_txn, *fixed, counter);
      mini_txn.DiscardAtCommit(*fixed);
      steps.push_back({mini_txn.Commit(), {{page, counter}}});
    }
    // Only a durable freeing lets a page be used anew here, so that the model has no gap: between
    // the two groups the page counts as not readable.
    const Result<Lsn> end = fixture_->Init(page, counter + 1);
    if (!end.ok()) return false;
    unreadable.push_back({steps.back().end, end.value(), page});
    steps.push_back({end.value(), {{page, counter + 1}}});
    return true;
  }

 public:
  struct Gap {
    Lsn freed;
    Lsn initialised;
    uint32_t page;
  };
  std::vector<Gap> unreadable;

 private:
  PoolFixture* const fixture_;
  Random random_;
};

void CheckRecovered(PoolFixture* fixture, const Program& program,
                    const std::vector<uint64_t>& base) {
  const Lsn end = fixture->recovered_end();
  EXPECT_GE(end, program.durable) << "a group that was durable is gone";
  std::vector<uint64_t> expected = base;
  for (const Step& step : program.steps) {
    if (step.end > end) break;
    for (const auto& [page, counter] : step.values) expected[page] = counter;
  }
  for (uint32_t page = 1; page < kPages; ++page) {
    bool readable = true;
    for (const Program::Gap& gap : program.unreadable) {
      if (gap.page == page && gap.freed <= end && gap.initialised > end) readable = false;
    }
    if (!readable) continue;
    const Result<uint64_t> counter = fixture->Read(page);
    ASSERT_TRUE(counter.ok()) << page << ": " << counter.status().message();
    EXPECT_EQ(counter.value(), expected[page]) << page;
  }
}

void RunCrashes(uint64_t seed, DoublewriteMode mode, bool background) {
  FaultFileSystem fs(seed);
  if (mode == DoublewriteMode::kAtomic) fs.SetAtomicWriteUnitMax(TestPageSizeBytes());
  PoolFixture fixture(&fs, {.pool_pages = 24,
                            .doublewrite = mode,
                            .background = background,
                            .session_writers = 2,
                            .space_pages = kPages});
  fixture.Create();
  SetLogSink([](LogLevel, std::string_view) {});  // every crash is a long list of errors
  Random random(seed);
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(fs.Describe());
    std::vector<uint64_t> base(kPages);
    for (uint32_t page = 1; page < kPages; ++page) {
      Result<uint64_t> counter = fixture.Read(page);
      // A page freed and not reused before the last crash starts anew.
      if (!counter.ok()) {
        ASSERT_TRUE(fixture.Init(page, 0).ok());
        counter = uint64_t{0};
      }
      base[page] = counter.value();
    }
    ASSERT_TRUE(fixture.pool().FlushAndCheckpoint().ok());
    Program program(&fixture, random.Next());
    const bool process_dies = random.OneIn(3);
    if (process_dies) {
      fs.Inject(
          {.call = FileCall::kSync, .path_part = "space_16", .nth_call = random.Between(1, 3)});
    } else {
      fs.PowerOffAfter(random.Between(1, 250));
    }
    for (int step = 0; step < 400; ++step) {
      if (!program.RunStep()) break;
      program.MaybeDurable();
      if (random.OneIn(40)) fixture.pool().FlushAndCheckpoint().Ignore();
    }
    fixture.Kill();
    fs.ClearFaults();
    if (process_dies) {
      const Status between = fixture.Start();
      ASSERT_TRUE(between.ok()) << between.message();
      program.durable = fixture.recovered_end();
      fixture.Kill();
    }
    fs.Crash(random.Next());
    const Status started = fixture.Start();
    ASSERT_TRUE(started.ok()) << started.message();
    CheckRecovered(&fixture, program, base);
    if (::testing::Test::HasFailure()) return;
  }
}

class Crash : public ::testing::Test {
 protected:
  void TearDown() override { SetLogSink({}); }
};

TEST_F(Crash, RecoveryRestoresExactlyTheLoggedGroups) {
  for (uint64_t i = 0; i < Programs(); ++i) {
    RunCrashes(TestSeed() + i, DoublewriteMode::kOn, false);
    if (HasFailure()) return;
  }
}

TEST_F(Crash, AlsoWithBackgroundThreads) {
  for (uint64_t i = 0; i < Programs(); ++i) {
    RunCrashes(TestSeed() + 1000 + i, DoublewriteMode::kOn, true);
    if (HasFailure()) return;
  }
}

// Here no doublewrite file has another copy of what the kernel lost.
TEST_F(Crash, AlsoWithUntornWritesInPlaceOfTheDoublewriteFile) {
  for (uint64_t i = 0; i < Programs(); ++i) {
    RunCrashes(TestSeed() + 2000 + i, DoublewriteMode::kAtomic, i % 2 == 0);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace rowan::crash_test
