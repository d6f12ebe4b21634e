// SPDX-License-Identifier: GPL-2.0-only
// Records gathered from the log: those of the wanted pages in the wanted groups, in the order of
// the log, whatever lies between them.
#include "buffer/redo_portion.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "buffer/buffer_redo.h"
#include "tests/buffer/pool_fixture.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"

namespace rowan {
namespace {

uint64_t Key(uint32_t page) { return PoolFixture::Id(page).Packed(); }

struct Written {
  uint32_t page = 0;
  std::string body;
  RecordType type = RecordType::kPageBytes;
};

class RedoPortionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    RegisterBufferRedo();
    fixture_.Create();
    ASSERT_TRUE(fixture_.Start().ok());
  }
  LogRange Append(const std::vector<Written>& records) {
    GroupBuilder group;
    for (const Written& record : records) {
      std::byte* body = group.Add(record.type, PoolFixture::Id(record.page), record.body.size());
      std::memcpy(body, record.body.data(), record.body.size());
    }
    Result<LogRange> range = fixture_.AppendGroup(&group);
    EXPECT_TRUE(range.ok());
    return range.ok() ? *range : LogRange{};
  }
  /// What is in the log by now.
  void Open() {
    Result<std::unique_ptr<LogGroups>> groups = fixture_.OpenLogGroups();
    ASSERT_TRUE(groups.ok());
    groups_ = std::move(groups).value();
    portion_ = std::make_unique<RedoPortion>(groups_.get());
  }
  void Want(uint32_t page, const std::vector<LogRange>& ranges) {
    portion_->AddPage(Key(page));
    for (const LogRange& range : ranges) portion_->Want(range.begin);
  }
  std::vector<std::string> Bodies(uint32_t page) {
    const RedoPortion::Record* record = nullptr;
    EXPECT_TRUE(portion_->Find(Key(page), &record));
    std::vector<std::string> bodies;
    for (; record != nullptr; record = record->next) bodies.emplace_back(AsText(record->body()));
    return bodies;
  }

  FaultFileSystem files_{TestSeed()};
  PoolFixture fixture_{&files_, {.log_capacity = uint64_t{8} << 20, .space_pages = 8}};
  std::unique_ptr<LogGroups> groups_;
  std::unique_ptr<RedoPortion> portion_;
};

using Texts = std::vector<std::string>;

TEST_F(RedoPortionTest, HasTheRecordsOfItsPagesInTheWantedGroupsOnly) {
  const LogRange first = Append({{1, "a1"}, {2, "a2"}, {1, "a3"}, {3, "a4"}});
  Append({{1, "not wanted"}, {2, "not wanted"}});
  const LogRange last = Append({{3, "c1"}, {1, "c2"}});
  ASSERT_NO_FATAL_FAILURE(Open());
  Want(1, {first, last});
  Want(3, {last});
  ASSERT_TRUE(portion_->Read().ok());
  EXPECT_EQ(Bodies(1), (Texts{"a1", "a3", "c2"}));
  EXPECT_EQ(Bodies(3), (Texts{"c1"}));
  const RedoPortion::Record* record = nullptr;
  EXPECT_FALSE(portion_->Find(Key(2), &record)) << "nobody asked for it";
  ASSERT_TRUE(portion_->Find(Key(1), &record));
  ASSERT_EQ(Bodies(1).size(), 3u);
  EXPECT_EQ(record->type, RecordType::kPageBytes);
  EXPECT_EQ(record->version, 0);
  EXPECT_EQ(record->group_end, first.end);
  EXPECT_EQ(record->next->group_end, first.end);
  EXPECT_EQ(record->next->next->group_end, last.end);
}

TEST_F(RedoPortionTest, ARecordThatDefinesThePageReplacesThoseBeforeIt) {
  const LogRange first = Append({{1, "before"}, {2, "stays"}});
  const LogRange second = Append({{1, "before"}, {1, "", RecordType::kPageImage}, {1, "after"}});
  const LogRange third = Append({{1, "later"}});
  ASSERT_NO_FATAL_FAILURE(Open());
  Want(1, {first, second, third});
  Want(2, {first});
  ASSERT_TRUE(portion_->Read().ok());
  EXPECT_EQ(Bodies(1), (Texts{"", "after", "later"}));
  EXPECT_EQ(Bodies(2), (Texts{"stays"}));
}

TEST_F(RedoPortionTest, APageWithoutRecordsInItIsFoundEmpty) {
  const LogRange group = Append({{2, "another's"}});
  ASSERT_NO_FATAL_FAILURE(Open());
  Want(1, {});
  Want(2, {});
  Want(3, {group});
  ASSERT_TRUE(portion_->Read().ok());
  for (const uint32_t page : {1u, 2u, 3u}) EXPECT_EQ(Bodies(page), Texts{}) << page;
}

TEST_F(RedoPortionTest, BodiesOfAnySizeAreWhole) {
  std::vector<LogRange> groups;
  Texts expected;
  // Around the sizes of its blocks of memory, and of the log's reads.
  for (const size_t size : {60'000u, 0u, 1u, 7u, 8u, 9u, 4095u, 8192u, 8193u, 30'000u, 3u}) {
    expected.emplace_back(size, static_cast<char>('a' + expected.size()));
    groups.push_back(Append({{2, std::string(100, 'x')}, {1, expected.back()}}));
  }
  for (int i = 0; i < 3000; ++i) {
    expected.push_back(std::to_string(i));
    groups.push_back(Append({{1, expected.back()}}));
  }
  ASSERT_NO_FATAL_FAILURE(Open());
  Want(1, groups);
  ASSERT_TRUE(portion_->Read().ok());
  EXPECT_EQ(Bodies(1), expected);
}

TEST_F(RedoPortionTest, NothingIsInItWhenTheLogCannotBeRead) {
  const LogRange first = Append({{1, "one"}});
  const LogRange last = Append({{1, "two"}, {2, "three"}});
  ASSERT_NO_FATAL_FAILURE(Open());
  Want(1, {first, last});
  Want(2, {last});
  const LogCapture log;
  files_.Inject({.call = FileCall::kRead, .path_part = "redo_", .lasting = true});
  EXPECT_TRUE(portion_->Read().Is(Code::kStopped));
  EXPECT_NE(log.Text(), "");
  const RedoPortion::Record* record = nullptr;
  EXPECT_FALSE(portion_->Find(Key(1), &record));
  EXPECT_FALSE(portion_->Find(Key(2), &record));
}

}  // namespace
}  // namespace rowan
