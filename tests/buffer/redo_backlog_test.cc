// SPDX-License-Identifier: GPL-2.0-only
// Records gathered page by page, and pages that come into the pool while some are pending.
#include "buffer/redo_backlog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "buffer/buffer_redo.h"
#include "buffer/page/page_header.h"
#include "buffer/redo_worker.h"
#include "space/blob_store.h"
#include "tests/buffer/pool_fixture.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"
#include "wal/log_source.h"

namespace rowan::redo_backlog_test {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr uint16_t kPlace = 64;
constexpr uint64_t kMebibyte = uint64_t{1} << 20;

/// One record.
struct Change {
  uint32_t page = 0;
  RecordType type = RecordType::kPageBytes;
  std::vector<std::byte> body;
};

/// Overwrites the four bytes at `place`.
Change Overwrite(uint32_t page, uint32_t value, uint16_t place = kPlace) {
  std::vector<std::byte> body(6);
  StoreLe<uint16_t>(body.data(), place);
  StoreLe<uint32_t>(body.data() + 2, value);
  return {page, RecordType::kPageBytes, body};
}
/// Makes the page zero.
Change Image(uint32_t page) { return {page, RecordType::kPageImage, {}}; }
Change Malformed(uint32_t page) { return {page, RecordType::kPageBytes, {std::byte{0}}}; }

uint32_t ValueOf(const std::vector<std::byte>& page) { return LoadLe<uint32_t>(&page[kPlace]); }

/// Groups in a real log, and a backlog that has them.
class ListedGroups : public ::testing::Test {
 protected:
  explicit ListedGroups(PoolFixture::Options options) : fixture_(&files_, std::move(options)) {}

  void SetUp() override {
    RegisterBufferRedo();
    fixture_.Create();
    ASSERT_TRUE(fixture_.Start().ok());
  }
  LogRange Append(const std::vector<Change>& changes) {
    GroupBuilder group;
    for (const Change& change : changes) {
      std::byte* body = group.Add(change.type, PoolFixture::Id(change.page), change.body.size());
      std::copy(change.body.begin(), change.body.end(), body);
    }
    Result<LogRange> range = fixture_.AppendGroup(&group);
    EXPECT_TRUE(range.ok());
    if (!range.ok()) return {};
    for (const Change& change : changes) {
      backlog_.Add({change.type, PoolFixture::Id(change.page), change.body}, range->begin,
                   range->end);
    }
    return *range;
  }
  void Finish() {
    backlog_.Finish();
    Result<std::unique_ptr<LogGroups>> groups = fixture_.OpenLogGroups();
    ASSERT_TRUE(groups.ok());
    groups_ = std::move(groups).value();
    backlog_.SetLog(groups_.get());
  }
  RedoBacklog::Page* Find(uint32_t page) { return backlog_.Find(PoolFixture::Id(page).Packed()); }

  FaultFileSystem files_{TestSeed()};
  PoolFixture fixture_;
  std::unique_ptr<LogGroups> groups_;
  RedoBacklog backlog_;
};

class RedoBacklogTest : public ListedGroups {
 protected:
  RedoBacklogTest() : ListedGroups({.log_capacity = 8 * kMebibyte, .space_pages = 8}) {}
};

TEST_F(RedoBacklogTest, AppliesWhatThePageLacksInTheOrderOfTheLog) {
  constexpr uint32_t kPages = 5000;  // the directory grows more than once
  std::vector<LogRange> first(kPages + 1);
  for (uint32_t round = 1; round <= 3; ++round) {
    for (uint32_t page = 1; page <= kPages; ++page) {
      const LogRange range = Append({Overwrite(page, round * 10)});
      if (round == 1) first[page] = range;
    }
  }
  Finish();
  ASSERT_EQ(backlog_.PendingPages().size(), kPages);
  for (uint32_t number = 1; number <= kPages; ++number) {
    RedoBacklog::Page* page = Find(number);
    ASSERT_NE(page, nullptr);
    EXPECT_EQ(page->start, first[number].begin);
    std::vector<std::byte> bytes(kPageBytes);
    SetPageLsn(bytes.data(), first[number].end);  // the first group is there already
    ASSERT_TRUE(backlog_.Apply(*page, bytes).ok());
    EXPECT_EQ(ValueOf(bytes), 30u);
    EXPECT_EQ(PageLsnOf(bytes.data()), RedoBacklog::EndOf(*page));
    backlog_.Remove(page);
    EXPECT_EQ(Find(number), nullptr);
  }
  EXPECT_EQ(backlog_.records_applied(), 2 * kPages);
}

TEST_F(RedoBacklogTest, APageThatLacksNothingStaysAsItIs) {
  const LogRange range = Append({Overwrite(1, 7)});
  Finish();
  std::vector<std::byte> bytes(kPageBytes);
  SetPageLsn(bytes.data(), Lsn(range.end.value() + 50));
  ASSERT_TRUE(backlog_.Apply(*Find(1), bytes).ok());
  EXPECT_EQ(ValueOf(bytes), 0u);
  EXPECT_EQ(PageLsnOf(bytes.data()), Lsn(range.end.value() + 50));
}

TEST_F(RedoBacklogTest, ARecordThatInitialisesThePageReplacesAllBeforeIt) {
  const LogRange first = Append({Malformed(1)});
  Append({Malformed(1), Image(1), Overwrite(2, 5)});
  const LogRange last = Append({Overwrite(1, 9)});
  Finish();
  RedoBacklog::Page* page = Find(1);
  EXPECT_TRUE(page->fresh);
  EXPECT_EQ(page->start, first.begin) << "the page is named since then";
  std::vector<std::byte> bytes(kPageBytes);  // what was there need not be read
  ASSERT_TRUE(backlog_.Apply(*page, bytes).ok());
  EXPECT_EQ(ValueOf(bytes), 9u);
  EXPECT_EQ(PageLsnOf(bytes.data()), last.end);
}

TEST_F(RedoBacklogTest, ARecordThatDoesNotFitLeavesThePagePending) {
  Append({Overwrite(1, 7)});
  Append({Malformed(1)});
  Finish();
  std::vector<std::byte> bytes(kPageBytes);
  EXPECT_TRUE(backlog_.Apply(*Find(1), bytes).Is(Code::kCorrupt));
  EXPECT_NE(Find(1), nullptr);
}

TEST_F(RedoBacklogTest, GathersAnyPagesInAnyMemoryToTheSameEnd) {
  constexpr uint32_t kPages = 200;
  Random random(TestSeed());
  std::vector<std::vector<std::byte>> expected(kPages, std::vector<std::byte>(kPageBytes));
  for (uint32_t group = 0; group < 6000; ++group) {
    std::vector<Change> changes;
    for (uint64_t left = 1 + random.Below(5); left > 0; --left) {
      // Page 3 has most of the log, in more slices than one.
      const uint32_t page = random.OneIn(2) ? 3 : static_cast<uint32_t>(random.Below(kPages));
      if (page != 3 && random.OneIn(20)) {
        changes.push_back(Image(page));
        std::fill(expected[page].begin(), expected[page].end(), std::byte{0});
      }
      const auto place = static_cast<uint16_t>(kPlace + random.Below(kPageBytes - kPlace - 4));
      changes.push_back(Overwrite(page, group + 1, place));
      StoreLe<uint32_t>(&expected[page][place], group + 1);
    }
    Append(changes);
  }
  for (uint32_t group = 0; group < 20000; ++group) Append({Overwrite(3, group)});
  StoreLe<uint32_t>(&expected[3][kPlace], 19999);
  Finish();
  const std::vector<uint64_t> keys = backlog_.PendingPages();
  for (const uint64_t bytes_max : {uint64_t{0}, uint64_t{3000}, 16 * kMebibyte}) {
    Result<std::unique_ptr<RedoPortion>> made = backlog_.Gather(keys, bytes_max);
    ASSERT_TRUE(made.ok());
    const std::unique_ptr<RedoPortion> portion = std::move(made).value();
    size_t gathered = 0;
    for (const uint64_t key : keys) {
      const RedoPortion::Record* record = nullptr;
      gathered += portion->Find(key, &record) ? 1 : 0;
      std::vector<std::byte> bytes(kPageBytes);
      ASSERT_TRUE(backlog_.Apply(*backlog_.Find(key), bytes, portion.get()).ok());
      SetPageLsn(bytes.data(), Lsn(0));
      EXPECT_EQ(bytes, expected[PageId::Unpack(key).page.value()]) << "bytes_max " << bytes_max;
    }
    EXPECT_EQ(gathered == keys.size(), bytes_max == 16 * kMebibyte);
    EXPECT_EQ(gathered == 0, bytes_max == 0);
  }
  EXPECT_LT(backlog_.MemoryBytes(), 150000u) << "26000 groups, 18000 records besides page 3's";
}

/// A pool with pages at counter 0, all clean, and records pending for some of them.
class PendingPages : public ListedGroups {
 protected:
  static constexpr uint32_t kPages = 200;

  PendingPages() : ListedGroups({.pool_pages = 32, .space_pages = kPages + 1}) {}
  void SetUp() override {
    ListedGroups::SetUp();
    ASSERT_TRUE(fixture_.Add(kPages, 1).ok());
  }
  /// A group sets the page's counter, in both places.
  LogRange SetCounter(uint32_t page, uint64_t value) {
    std::vector<Change> changes;
    const size_t last = TestPageSizeBytes() - sizeof(value);
    for (const size_t offset : {kPageHeaderBytes, last}) {
      std::vector<std::byte> body(2 + sizeof(value));
      StoreLe<uint16_t>(body.data(), static_cast<uint16_t>(offset));
      StoreLe<uint64_t>(body.data() + 2, value);
      changes.push_back({page, RecordType::kPageBytes, body});
    }
    return Append(changes);
  }
  void Begin() {
    if (groups_ == nullptr) Finish();
    ASSERT_TRUE(fixture_.pool().RepairFromDoublewrite().ok());
    fixture_.pool().BeginRedo(&backlog_);
  }
  Status Work(std::vector<RedoWorker::Failure>* failures) {
    return RedoWorker(&fixture_.pool(), 1, kMebibyte).Run(backlog_.PendingPages(), failures);
  }
  /// The engine has stopped, no page is taken for damaged or whole, and the next start goes on.
  void ExpectStoppedForTheLog(const Status& status) {
    EXPECT_TRUE(status.Is(Code::kStopped)) << status.message();
    EXPECT_TRUE(fixture_.log().stopped());
    EXPECT_TRUE(messages_.Has("cannot be read again"));
    EXPECT_FALSE(messages_.Has("is damaged"));
  }
  void ExpectAllAfterRestart() {
    fixture_.Kill();
    groups_.reset();
    ASSERT_TRUE(fixture_.Start().ok());
    for (uint32_t page = 1; page < kPages; ++page) EXPECT_EQ(fixture_.Read(page).value(), page * 3);
  }

  LogCapture messages_;
};

TEST_F(PendingPages, AreRedoneOnFirstUseAndTheRestByWorkers) {
  for (uint32_t page = 1; page < kPages; ++page) SetCounter(page, page * 3);
  Begin();
  for (uint32_t page = 10; page < 60; ++page) EXPECT_EQ(fixture_.Read(page).value(), page * 3);
  OptimisticPage optimistic;
  ASSERT_TRUE(
      fixture_.pool().FixOptimistic(PoolFixture::Id(100), FixHint::kNormal, &optimistic).ok());
  EXPECT_EQ(fixture_.CounterOf(optimistic.page), 300u);
  EXPECT_EQ(backlog_.Find(PoolFixture::Id(100).Packed()), nullptr);
  EXPECT_NE(backlog_.Find(PoolFixture::Id(150).Packed()), nullptr);
  std::vector<RedoWorker::Failure> failures;
  ASSERT_TRUE(RedoWorker(&fixture_.pool(), 2, 5000).Run(backlog_.PendingPages(), &failures).ok());
  EXPECT_TRUE(failures.empty());
  EXPECT_TRUE(backlog_.PendingPages().empty());
  fixture_.pool().EndRedo();
  for (uint32_t page = 1; page < kPages; ++page) EXPECT_EQ(fixture_.Read(page).value(), page * 3);
}

TEST_F(PendingPages, ThatBeginAnewLackNothing) {
  SetCounter(7, 70);
  Begin();
  ASSERT_TRUE(fixture_.Init(7, 5).ok());
  EXPECT_EQ(fixture_.Read(7).value(), 5u);
  EXPECT_TRUE(backlog_.PendingPages().empty());
  fixture_.pool().EndRedo();
}

TEST_F(PendingPages, ThatAreNewerAtHomeDoNotGoBack) {
  // The beginning of a life that a later stretch of the log goes on with.
  Append({Image(7)});
  Append({Image(8)});
  Finish();
  ASSERT_TRUE(fixture_.Add(7, 5).ok());
  ASSERT_TRUE(fixture_.Add(8, 5).ok());
  ASSERT_TRUE(fixture_.pool().FlushAndCheckpoint().ok());
  for (uint32_t page = 20; page < kPages; ++page) ASSERT_TRUE(fixture_.Read(page).ok());
  ASSERT_FALSE(fixture_.pool().IsResident(PoolFixture::Id(7)));
  ASSERT_FALSE(fixture_.pool().IsResident(PoolFixture::Id(8)));
  Begin();
  EXPECT_EQ(fixture_.Read(7).value(), 5u) << "on first use";
  std::vector<RedoWorker::Failure> failures;
  ASSERT_TRUE(Work(&failures).ok());
  EXPECT_TRUE(failures.empty());
  EXPECT_EQ(fixture_.Read(8).value(), 5u);
  fixture_.pool().EndRedo();
}

TEST_F(PendingPages, HoldTheCheckpoint) {
  const Lsn before = fixture_.control().data().checkpoint_lsn;
  SetCounter(7, 70);
  Begin();
  ASSERT_TRUE(fixture_.Add(3, 1).ok());
  ASSERT_TRUE(fixture_.pool().FlushAndCheckpoint().ok());
  EXPECT_EQ(fixture_.control().data().checkpoint_lsn, before);
  EXPECT_EQ(fixture_.Read(7).value(), 70u);
  fixture_.pool().EndRedo();
  ASSERT_TRUE(fixture_.pool().FlushAndCheckpoint().ok());
  EXPECT_GT(fixture_.control().data().checkpoint_lsn, before);
}

TEST_F(PendingPages, OfADamagedFileAreReportedAndTheOthersRedone) {
  for (uint32_t page = 1; page < kPages; ++page) SetCounter(page, page * 3);
  fixture_.WriteHome(77, std::vector<std::byte>(TestPageSizeBytes(), std::byte{0x5a}));
  Begin();
  std::vector<RedoWorker::Failure> failures;
  ASSERT_TRUE(Work(&failures).ok());
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].page, PoolFixture::Id(77).Packed());
  EXPECT_TRUE(failures[0].status.Is(Code::kCorrupt));
  EXPECT_TRUE(fixture_.Read(77).status().Is(Code::kCorrupt)) << "on first use as well";
  EXPECT_EQ(backlog_.PendingPages(), std::vector<uint64_t>{PoolFixture::Id(77).Packed()});
  fixture_.pool().EndRedo();
}

TEST_F(PendingPages, WhoseRecordsDoNotFitAreReportedToWhoeverTakesALook) {
  constexpr SpaceId kTable(PoolFixture::kSpace.value() + 1);
  ASSERT_TRUE(fixture_.allocator().CreateSpace(kTable).ok());
  Result<BlobRef> value = BlobStore(&fixture_.allocator()).Write(kTable, AsBytes("value"), {});
  ASSERT_TRUE(value.ok());
  const PageId id{kTable, value->first_page};
  ASSERT_TRUE(fixture_.pool().FlushAndCheckpoint().ok());
  for (uint32_t page = 1; page < kPages; ++page) ASSERT_TRUE(fixture_.Read(page).ok());
  ASSERT_FALSE(fixture_.pool().IsResident(id));
  const Change change = Malformed(0);
  GroupBuilder group;
  *group.Add(change.type, id, change.body.size()) = change.body[0];
  Result<LogRange> range = fixture_.AppendGroup(&group);
  ASSERT_TRUE(range.ok());
  backlog_.Add({change.type, id, change.body}, range->begin, range->end);
  Begin();
  EXPECT_TRUE(fixture_.allocator().FixInUse(id).status().Is(Code::kCorrupt));
  EXPECT_TRUE(messages_.Has("the redo log does not fit it")) << messages_.Text();
  fixture_.pool().EndRedo();
}

TEST_F(PendingPages, AreNeitherWholeNorDamagedWhenTheLogCannotBeRead) {
  for (uint32_t page = 1; page < kPages; ++page) SetCounter(page, page * 3);
  Begin();
  const Lsn checkpoint = fixture_.control().data().checkpoint_lsn;
  files_.Inject({.call = FileCall::kRead, .path_part = "redo_", .lasting = true});
  ExpectStoppedForTheLog(fixture_.Read(7).status());
  EXPECT_NE(Find(7), nullptr);
  std::vector<RedoWorker::Failure> failures;
  EXPECT_TRUE(Work(&failures).Is(Code::kStopped));
  EXPECT_TRUE(failures.empty());
  EXPECT_EQ(backlog_.PendingPages().size(), kPages - 1);
  EXPECT_EQ(fixture_.control().data().checkpoint_lsn, checkpoint);
  files_.ClearFaults();
  ExpectAllAfterRestart();
}

TEST_F(PendingPages, AreLeftAloneWhenTheLogIsDamagedMeanwhile) {
  LogRange damaged;
  for (uint32_t page = 1; page < kPages; ++page) {
    const LogRange range = SetCounter(page, page * 3);
    if (page == 150) damaged = range;
  }
  Begin();
  LogSource source(&files_, "/instance", fixture_.control().data().instance_id);
  ASSERT_TRUE(source.FindFiles().ok());
  const uint64_t offset = source.OffsetOf(damaged.end - 3);
  const std::string path = source.PathOf(damaged.end - 3);
  ASSERT_TRUE(files_.FlipBit(path, offset, 3));
  EXPECT_EQ(fixture_.Read(7).value(), 21u) << "its group is good";
  std::vector<RedoWorker::Failure> failures;
  ExpectStoppedForTheLog(Work(&failures));
  EXPECT_TRUE(failures.empty());
  EXPECT_TRUE(fixture_.Read(150).status().Is(Code::kStopped)) << "on first use as well";
  EXPECT_EQ(backlog_.PendingPages().size(), kPages - 2);
  ASSERT_TRUE(files_.FlipBit(path, offset, 3));
  ExpectAllAfterRestart();
}

}  // namespace
}  // namespace rowan::redo_backlog_test
