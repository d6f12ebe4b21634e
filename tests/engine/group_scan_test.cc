// SPDX-License-Identifier: GPL-2.0-only
// Group scans against a model: every way to count, both ends, both directions, ranges, NULLs, rows
// that the snapshot does not show.
#include "engine/group_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/random.h"
#include "engine/stored_row.h"
#include "tests/engine/engine_fixture.h"
#include "tests/engine/toy_row.h"

namespace rowan::group_scan_test {
namespace {

constexpr uint32_t kIndex = 1;  // value in 4 bytes, id in 8
constexpr uint64_t kRows = 300;

/// The group is the upper half of the value, the order its lower half, which is NULL if it is 0.
class HalvesOfValue final : public KeyParts {
 public:
  uint32_t PartCount(uint32_t) const override { return 3; }
  uint32_t EqualParts(uint32_t, Bytes, Bytes) const override { return 0; }
  GroupKey SplitKey(uint32_t, Bytes key, GroupParts parts) const override {
    const size_t group = 2 * size_t{parts.group};
    const bool is_null = key[group] == std::byte{0} && key[group + 1] == std::byte{0};
    return {group, group + 2 * size_t{parts.order}, is_null};
  }
};

struct Entry {
  uint32_t group = 0;
  uint32_t order = 0;
  uint64_t id = 0;
  auto operator<=>(const Entry&) const = default;
};

uint64_t Seeks() {
  return ReadCounter(Counter::kLeafSeeksLocal) + ReadCounter(Counter::kSeeksToNeighbour) +
         ReadCounter(Counter::kSeeksClimbed) + ReadCounter(Counter::kLeafSeeksDescend);
}

uint32_t ValueOf(const Entry& entry) { return entry.group << 16 | entry.order; }

std::vector<Entry> Ranked(std::vector<Entry> group, const GroupWinners& winners) {
  if (winners.from_end) std::reverse(group.begin(), group.end());
  if (winners.passes_nulls) {
    const auto has_value = [](const Entry& entry) { return entry.order != 0; };
    const auto first = std::find_if(group.begin(), group.end(), has_value);
    if (first != group.end() && group.front().order == 0) group.erase(group.begin(), first);
  }
  std::vector<Entry> wanted;
  uint64_t values = 0;
  for (const Entry& entry : group) {
    const bool tie = !wanted.empty() && wanted.back().order == entry.order;
    const uint64_t before =
        winners.count == GroupWinners::Count::kDenseRank ? values : wanted.size();
    const bool ties_count = winners.count != GroupWinners::Count::kRows;
    if (before >= winners.most && !(tie && ties_count)) break;
    if (!tie) ++values;
    wanted.push_back(entry);
  }
  return wanted;
}

std::vector<Entry> Expected(const std::vector<Entry>& entries, const GroupWinners& winners,
                            GroupScan::Direction direction) {
  std::map<uint32_t, std::vector<Entry>> groups;
  for (const Entry& entry : entries) groups[entry.group].push_back(entry);
  std::vector<Entry> expected;
  const auto add = [&](const std::vector<Entry>& group) {
    for (const Entry& entry : Ranked(group, winners)) expected.push_back(entry);
  };
  if (direction == GroupScan::Direction::kForward) {
    for (const auto& [number, group] : groups) add(group);
  } else {
    for (auto it = groups.rbegin(); it != groups.rend(); ++it) add(it->second);
  }
  return expected;
}

class GroupScanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(fixture_.Open().ok());
    table_ = fixture_.CreateTable("t");
    std::vector<Entry> all;
    for (uint64_t id = 1; id <= kRows; ++id) {
      // Groups of some dozen rows among groups of a few.
      const auto group =
          static_cast<uint32_t>(random_.Below(2) != 0 ? random_.Below(60) + 4 : random_.Below(8));
      all.push_back({group, static_cast<uint32_t>(random_.Below(group == 3 ? 1 : 6)), id});
    }
    fixture_.Fill(table_.get(), kRows, [&](uint64_t id) {
      return ToyRow{.value = ValueOf(all[id - 1]), .unique = static_cast<uint32_t>(id), .text = ""};
    });
    session_ = fixture_.engine->NewSession();
    session_->Begin(IsolationLevel::kRepeatableRead);
    TableCursor reader(session_.get(), table_.get(), &ToyCodec());
    ASSERT_TRUE(reader.CountEntries(kIndex).ok());  // opens the snapshot
    shown_ = all;
    std::sort(shown_.begin(), shown_.end());
    HideChanges(all);
  }

  /// What is deleted and inserted behind the snapshot must not matter.
  void HideChanges(const std::vector<Entry>& all) {
    const auto writer = fixture_.engine->NewSession();
    writer->Begin(IsolationLevel::kReadCommitted);
    for (uint64_t id = 1; id <= kRows; id += 3) {
      const ToyRow row{
          .value = ValueOf(all[id - 1]), .unique = static_cast<uint32_t>(id), .text = ""};
      ASSERT_TRUE(EngineFixture::Delete(writer.get(), table_.get(), id, row).ok());
      const ToyRow moved{.value = static_cast<uint32_t>(random_.Below(25) << 16 | 9),
                         .unique = static_cast<uint32_t>(id),
                         .text = ""};
      ASSERT_TRUE(EngineFixture::Insert(writer.get(), table_.get(), id, moved).ok());
    }
    ASSERT_TRUE(writer->Commit().ok());
  }

  std::vector<Entry> Scan(const GroupWinners& winners, const GroupScan::Range& range,
                          GroupScan::Direction direction) {
    TableCursor cursor(session_.get(), table_.get(), &ToyCodec());
    cursor.OpenScan(kIndex);
    GroupScan scan(&cursor, &parts_, winners);
    std::vector<Entry> found;
    StoredRow record;
    Status status = scan.Begin(range, direction, &record);
    for (; status.ok(); status = scan.Next(&record)) {
      const Bytes key = cursor.entry_key();
      const uint32_t value = LoadBe32(key.data());
      found.push_back({value >> 16, value & 0xFFFF, LoadBe64(key.data() + 4)});
    }
    EXPECT_TRUE(status.Is(Code::kEndOfRange)) << status.message();
    return found;
  }

  EngineFixture fixture_{1};
  Random random_{7};
  HalvesOfValue parts_;
  std::shared_ptr<Table> table_;
  std::unique_ptr<Session> session_;
  std::vector<Entry> shown_;
};

std::string GroupStart(uint32_t group) {
  std::string bytes(2, '\0');
  bytes[0] = static_cast<char>(group >> 8);
  bytes[1] = static_cast<char>(group);
  return bytes;
}

TEST_F(GroupScanTest, DeliversTheFirstRowsOfEachGroup) {
  using Count = GroupWinners::Count;
  for (const Count count : {Count::kRows, Count::kRank, Count::kDenseRank}) {
    for (const uint64_t most : {1, 2, 4, 100}) {
      for (int choice = 0; choice < 8; ++choice) {
        GroupWinners winners{.index_number = kIndex, .group_parts = 1, .order_parts = 1};
        winners.count = count;
        winners.most = most;
        winners.from_end = (choice & 1) != 0;
        winners.passes_nulls = (choice & 2) != 0;
        const auto direction =
            (choice & 4) != 0 ? GroupScan::Direction::kBackward : GroupScan::Direction::kForward;
        EXPECT_EQ(Scan(winners, {}, direction), Expected(shown_, winners, direction))
            << static_cast<int>(count) << " " << most << " " << choice;
      }
    }
  }
}

TEST_F(GroupScanTest, KeepsToARangeOfWholeGroups) {
  const std::string low = GroupStart(4);
  const std::string high = GroupStart(9);
  std::vector<Entry> inside;
  std::copy_if(shown_.begin(), shown_.end(), std::back_inserter(inside),
               [](const Entry& entry) { return entry.group >= 4 && entry.group < 9; });
  for (int choice = 0; choice < 4; ++choice) {
    GroupWinners winners{.index_number = kIndex, .group_parts = 1, .order_parts = 1};
    winners.most = 2;
    winners.from_end = (choice & 1) != 0;
    const auto direction =
        (choice & 2) != 0 ? GroupScan::Direction::kBackward : GroupScan::Direction::kForward;
    EXPECT_EQ(Scan(winners, {AsBytes(low), AsBytes(high)}, direction),
              Expected(inside, winners, direction))
        << choice;
  }
}

TEST_F(GroupScanTest, ReadsOneGroupFromEitherEnd) {
  for (const uint32_t group : {3, 5, 40}) {
    const std::string low = GroupStart(group);
    const std::string high = GroupStart(group + 1);
    std::vector<Entry> inside;
    std::copy_if(shown_.begin(), shown_.end(), std::back_inserter(inside),
                 [&](const Entry& entry) { return entry.group == group; });
    for (const bool from_end : {false, true}) {
      GroupWinners winners{.index_number = kIndex, .group_parts = 1, .order_parts = 1};
      winners.most = 2;
      winners.from_end = from_end;
      const auto direction = GroupScan::Direction::kForward;
      EXPECT_EQ(Scan(winners, {AsBytes(low), AsBytes(high), true}, direction),
                Expected(inside, winners, direction));
    }
  }
}

TEST_F(GroupScanTest, ReadsNoMoreOfTheWholeTableThanIsWanted) {
  for (const bool backward : {false, true}) {
    GroupWinners winners{.index_number = kIndex, .group_parts = 0, .order_parts = 1};
    winners.most = 2;
    winners.from_end = backward;
    TableCursor cursor(session_.get(), table_.get(), &ToyCodec());
    cursor.OpenScan(kIndex);
    GroupScan scan(&cursor, &parts_, winners);
    const uint64_t before = ReadCounter(Counter::kExaminedSingleTableEntries);
    StoredRow record;
    const auto direction =
        backward ? GroupScan::Direction::kBackward : GroupScan::Direction::kForward;
    uint32_t rows = 0;
    for (Status at = scan.Begin({}, direction, &record); at.ok(); at = scan.Next(&record)) ++rows;
    cursor.PublishCounts();
    EXPECT_EQ(rows, 2u);
    EXPECT_LT(ReadCounter(Counter::kExaminedSingleTableEntries) - before, kRows / 4);
  }
}

/// How often the tree is searched for the first rows of groups that have so many rows.
uint64_t SeeksFor(uint32_t rows_of_group, bool from_end) {
  constexpr uint64_t kAll = 2000;
  EngineFixture fixture(1);
  EXPECT_TRUE(fixture.Open().ok());
  const auto table = fixture.CreateTable("t");
  fixture.Fill(table.get(), kAll, [&](uint64_t id) {
    const auto group = static_cast<uint32_t>(id / rows_of_group);
    return ToyRow{.value = group << 16 | static_cast<uint32_t>(id % rows_of_group + 1),
                  .unique = static_cast<uint32_t>(id),
                  .text = ""};
  });
  const auto session = fixture.engine->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
  TableCursor cursor(session.get(), table.get(), &ToyCodec());
  cursor.OpenScan(kIndex);
  cursor.set_entry_only(true);
  const HalvesOfValue parts;
  GroupWinners winners{.index_number = kIndex, .group_parts = 1, .order_parts = 1};
  winners.from_end = from_end;
  GroupScan scan(&cursor, &parts, winners);
  const uint64_t before = Seeks();
  const auto direction =
      from_end ? GroupScan::Direction::kBackward : GroupScan::Direction::kForward;
  StoredRow record;
  uint64_t groups = 0;
  Status status = scan.Begin({}, direction, &record);
  for (; status.ok(); status = scan.Next(&record)) ++groups;
  EXPECT_EQ(groups, kAll / rows_of_group + 1);
  return Seeks() - before;
}

TEST(GroupScanCost, SmallGroupsAreSteppedOver) {
  for (const bool from_end : {false, true}) {
    EXPECT_LE(SeeksFor(2, from_end), 40);    // of 1001 groups: one for each leaf at most
    EXPECT_GE(SeeksFor(100, from_end), 15);  // of 21 groups
    EXPECT_LE(SeeksFor(100, from_end), 60);
  }
}

}  // namespace
}  // namespace rowan::group_scan_test
