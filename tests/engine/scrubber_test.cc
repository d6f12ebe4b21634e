// SPDX-License-Identifier: GPL-2.0-only
// Scrubbing finds damage that no statement has met, and only that.
#include "storage/scrubber.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "base/counters.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/log_capture.h"

namespace rowan::scrubber_test {
namespace {

constexpr uint64_t kRows = 400;

ToyRow RowOf(uint64_t id, uint32_t version) {
  return {version, static_cast<uint32_t>(id), std::string(200 + version % 300, 'x')};
}

class ScrubberTest : public testing::Test {
 protected:
  ScrubberTest() : world_(TestSeed()) {
    world_.options.storage.scrub_bytes_per_second = 0;
    // What is there once stays there.
    world_.options.storage.buffer.pool_bytes =
        uint64_t{1024} * world_.options.storage.page_size_bytes;
  }

  void Fill() {
    ASSERT_TRUE(world_.Open().ok());
    const std::shared_ptr<Table> table = world_.CreateTable("test/scrubbed");
    ASSERT_NE(table, nullptr);
    table_ = table->id();
    space_ = table->space();
    rows_ = world_.Fill(table.get(), kRows, [](uint64_t id) { return RowOf(id, 0); });
    ASSERT_TRUE(Instance()->pool()->FlushAndCheckpoint().ok());
    Result<uint32_t> pages = Instance()->files()->PageCount(space_);
    ASSERT_TRUE(pages.ok());
    for (uint32_t page = 0; page < *pages; ++page) {
      Result<bool> used = Instance()->allocator()->IsAllocated({space_, PageNumber(page)});
      ASSERT_TRUE(used.ok());
      if (*used) page_ = page;
    }
    ASSERT_GT(page_, 0U);
  }

  Storage* Instance() { return world_.engine->impl()->storage.get(); }
  [[nodiscard]] PageId Page() const { return {space_, PageNumber(page_)}; }
  [[nodiscard]] std::string Path() { return Instance()->files()->PathOf(space_); }
  /// The last page of the table that is in use, on disk.
  void Damage(const std::string& path) {
    ASSERT_TRUE(world_.files.FlipBit(
        path, uint64_t{page_} * world_.options.storage.page_size_bytes + 1000, 3));
  }

  /// Findings of one whole round.
  struct Findings {
    uint64_t damaged = 0;
    uint64_t rewritten = 0;
    bool operator==(const Findings&) const = default;
  };
  Findings Scrub() {
    const Findings before = Counted();
    while (!Instance()->scrubber()->ReadSome()) {
    }
    const Findings after = Counted();
    return {after.damaged - before.damaged, after.rewritten - before.rewritten};
  }
  static Findings Counted() {
    return {ReadCounter(Counter::kScrubPagesDamaged), ReadCounter(Counter::kScrubPagesRewritten)};
  }

  EngineFixture world_;
  TableId table_;
  SpaceId space_;
  uint32_t page_ = 0;
  ToyRows rows_;
};

TEST_F(ScrubberTest, NamesAColdPageThatIsDamaged) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  const std::string path = Path();
  ASSERT_TRUE(world_.Shutdown().ok());
  ASSERT_TRUE(world_.Open().ok());
  ASSERT_NO_FATAL_FAILURE(Damage(path));
  LogCapture log;
  EXPECT_EQ(Scrub(), (Findings{1, 0}));
  const std::string finding = Instance()->scrubber()->Figures().last_finding;
  EXPECT_NE(finding.find(path), std::string::npos) << finding;
  EXPECT_NE(finding.find("Page " + std::to_string(page_)), std::string::npos) << finding;
  EXPECT_TRUE(log.Has("test/scrubbed")) << log.Text();
  EXPECT_EQ(Scrub(), (Findings{1, 0})) << "what is damaged is found again";
}

TEST_F(ScrubberTest, WritesAgainWhatThePoolHasWhole) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  ASSERT_TRUE(Instance()->pool()->Fix(Page(), LatchMode::kShared).ok());
  ASSERT_NO_FATAL_FAILURE(Damage(Path()));
  EXPECT_EQ(Scrub(), (Findings{0, 1}));
  ASSERT_TRUE(Instance()->pool()->FlushAndCheckpoint().ok());
  EXPECT_EQ(Scrub(), (Findings{0, 0}));
  ASSERT_TRUE(world_.Shutdown().ok());
  ASSERT_TRUE(world_.Open().ok());
  world_.ExpectTable(table_, rows_);
}

TEST_F(ScrubberTest, APageThatCannotBeReadIsAFindingUntilItCan) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  const std::string path = Path();
  ASSERT_TRUE(world_.Shutdown().ok());
  ASSERT_TRUE(world_.Open().ok());
  world_.files.Inject({.call = FileCall::kRead, .path_part = path, .lasting = true});
  EXPECT_GT(Scrub().damaged, 0U);
  world_.files.ClearFaults();
  EXPECT_EQ(Scrub(), (Findings{0, 0}));
  world_.ExpectTable(table_, rows_);
}

TEST_F(ScrubberTest, FindsNothingBesideWritersAndDroppedTables) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  std::atomic<bool> stop{false};
  std::atomic<uint32_t> changes{0};
  std::thread writer([&] {
    Result<std::shared_ptr<Table>> table = world_.engine->OpenTable(table_);
    ASSERT_TRUE(table.ok());
    for (uint32_t version = 0; !stop.load(); ++version) {
      const std::unique_ptr<Session> session = world_.engine->NewSession();
      session->Begin();
      for (uint64_t id = 1 + version % 7; id <= kRows; id += 7) {
        const auto row = rows_.find(id);
        const ToyRow next = RowOf(id, version);
        ASSERT_TRUE(EngineFixture::Update(session.get(), table->get(), id, row->second, next).ok());
        row->second = next;
      }
      ASSERT_TRUE(session->Commit().ok());
      const std::shared_ptr<Table> passing = world_.CreateTable("test/passing");
      ASSERT_NE(passing, nullptr);
      session->Begin();
      ASSERT_TRUE(world_.engine->DropTable(session.get(), passing->id()).ok());
      ASSERT_TRUE(session->Commit().ok());
      changes.fetch_add(1);
    }
  });
  while (changes.load() < 20) EXPECT_EQ(Scrub(), (Findings{0, 0}));
  stop.store(true);
  writer.join();
  world_.ExpectTable(table_, rows_);
}

TEST_F(ScrubberTest, ReadsAtTheRateThatIsSet) {
  world_.options.storage.background = false;  // its thread would read, too
  ASSERT_NO_FATAL_FAILURE(Fill());
  Scrubber* const scrubber = Instance()->scrubber();
  const std::atomic<bool> stopping{false};
  const uint64_t before = ReadCounter(Counter::kScrubPagesRead);
  for (int i = 0; i < 100; ++i) scrubber->Step(stopping);
  EXPECT_EQ(ReadCounter(Counter::kScrubPagesRead), before);
  scrubber->SetRate(uint64_t{1} << 30);
  while (scrubber->Figures().rounds == 0) {
    scrubber->Step(stopping);
    std::this_thread::yield();
  }
  const ScrubFigures figures = scrubber->Figures();
  EXPECT_EQ(figures.pages_done, figures.pages_total);
  EXPECT_TRUE(figures.last_finding.empty()) << figures.last_finding;
}

}  // namespace
}  // namespace rowan::scrubber_test
