// SPDX-License-Identifier: GPL-2.0-only
// Pages in the ledger of bytes written: by the reason why they left the pool.
#include "tests/support/write_ledger.h"

#include "tests/buffer/pool_fixture.h"
#include "tests/support/await.h"

namespace rowan::write_ledger_test {
namespace {

constexpr uint32_t kPages = 200;

class WriteLedgerTest : public ::testing::Test {
 protected:
  void Change(PoolFixture* fixture, uint32_t pages) {
    for (uint32_t page = 1; page <= pages; ++page) ASSERT_TRUE(fixture->Add(page, 1).ok());
  }
  FaultFileSystem files_{TestSeed()};
};

TEST_F(WriteLedgerTest, PagesAreCountedByReason) {
  PoolFixture fixture(&files_, {.space_pages = kPages + 1});
  fixture.Create();
  const uint64_t page_size = TestPageSizeBytes();
  ASSERT_TRUE(fixture.pool().FlushAndCheckpoint().ok());
  const WriteLedger ledger(&files_);
  Change(&fixture, 5);
  ASSERT_TRUE(fixture.pool().FlushAndCheckpoint().ok());
  EXPECT_EQ(ledger.Of(WriteCause::kDataCheckpoint), 5 * page_size);
  Change(&fixture, 7);
  ASSERT_TRUE(fixture.pool().FlushAndCheckpoint(FlushReason::kShutdown).ok());
  EXPECT_EQ(ledger.Of(WriteCause::kDataShutdown), 7 * page_size);
  Change(&fixture, kPages);
  EXPECT_GT(ledger.Of(WriteCause::kDataNoFreeFrame), 0u) << "more than the pool holds";
  ASSERT_TRUE(fixture.pool().Resize(16 * page_size).ok());
  EXPECT_GT(ledger.Of(WriteCause::kDataResize), 0u);
  EXPECT_EQ(ledger.Of(WriteCause::kDataCheckpoint), 5 * page_size) << "nothing more";
  EXPECT_EQ(ledger.Of(WriteCause::kDataShutdown), 7 * page_size) << "nothing more";
  ledger.ExpectWhole();
}

TEST_F(WriteLedgerTest, CleanersWriteAheadOfEviction) {
  PoolFixture fixture(&files_, {.background = true, .space_pages = kPages + 1});
  fixture.Create();
  const WriteLedger ledger(&files_);
  EXPECT_TRUE(Await([&] {
    Change(&fixture, kPages);
    return ledger.Of(WriteCause::kDataEviction) > 0;
  }));
}

}  // namespace
}  // namespace rowan::write_ledger_test
