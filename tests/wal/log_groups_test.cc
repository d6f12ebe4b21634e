// SPDX-License-Identifier: GPL-2.0-only
// Groups read again by their places, and a log read by a second thread.
#include "wal/log_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_settings.h"
#include "tests/wal/log_fixture.h"
#include "wal/log_read_ahead.h"

namespace rowan {
namespace {

class LogGroupsTest : public ::testing::Test {
 protected:
  LogGroupsTest() {
    world_.options.capacity_bytes = uint64_t{16} << 20;
    world_.options.buffer_bytes = uint64_t{1} << 20;
  }
  /// A log of several files with groups of many sizes, read as a start does.
  void Fill(uint64_t groups) {
    ASSERT_TRUE(world_.Start().ok());
    for (uint64_t number = 1; number <= groups; ++number) {
      const size_t body = number % 1000 == 0 ? 700000 : number % 100 == 0 ? 9000 : number % 300;
      ASSERT_NE(world_.Append(number, body), kNoLsn);
    }
    ASSERT_TRUE(world_.log->WaitDurable(world_.log->tail()).ok());
    ASSERT_TRUE(world_.OpenControl().ok());
    ASSERT_TRUE(world_.Read().ok());
    ASSERT_EQ(world_.found.size(), groups);
    range_ = {Log::kFirstLsn, world_.end};
  }
  Result<std::unique_ptr<LogGroups>> Open() {
    return LogGroups::Open(&files_, "log", world_.control->data(), range_);
  }
  /// All of them, each wanted under its place in `found`.
  std::vector<LogGroups::Wanted> All(const LogGroups& groups) const {
    std::vector<LogGroups::Wanted> wanted;
    for (uint32_t i = 0; i < world_.found.size(); ++i) {
      wanted.push_back(groups.Want(world_.found[i].start, i));
    }
    return wanted;
  }
  Status Visit(const LogGroups& groups, std::span<const LogGroups::Wanted> wanted,
               size_t* visited) const {
    return groups.Visit(
        wanted, [&](std::span<const LogGroups::Wanted> same, const LogReader::Group& group) {
          const NumberedGroup& expected = world_.found[same[0].purpose()];
          EXPECT_EQ(group.start, expected.start);
          EXPECT_EQ(group.end, expected.end);
          EXPECT_EQ(NumberOfGroup(group.bytes), expected.number);
          *visited += same.size();
          return Status::Ok();
        });
  }
  void ExpectRefused(const std::vector<LogGroups::Wanted>& wanted, const LogGroups& groups) {
    size_t visited = 0;
    EXPECT_TRUE(Visit(groups, wanted, &visited).Is(Code::kStopped));
    EXPECT_EQ(visited, 0u);
    EXPECT_TRUE(messages_.Has("cannot be read again"));
    messages_.Clear();
  }

  FaultFileSystem files_{TestSeed()};
  LogCapture messages_;
  LogFixture world_{&files_, "log"};
  LogRange range_;
};

TEST_F(LogGroupsTest, AreFoundAgainByTheirPlacesInAnyChoice) {
  Fill(3000);
  const Result<std::unique_ptr<LogGroups>> groups = Open();
  ASSERT_TRUE(groups.ok());
  Random random(TestSeed());
  for (const uint64_t one_in : {1, 3, 40, 500}) {
    std::vector<LogGroups::Wanted> wanted;
    for (const LogGroups::Wanted one : All(*groups.value())) {
      if (!random.OneIn(one_in)) continue;
      wanted.push_back(one);
      if (random.OneIn(4)) wanted.push_back(one);  // for a second page
    }
    size_t visited = 0;
    ASSERT_TRUE(Visit(*groups.value(), wanted, &visited).ok());
    EXPECT_EQ(visited, wanted.size());
  }
}

TEST_F(LogGroupsTest, AreRefusedWhenTheyAreNotWhatTheyWere) {
  Fill(2000);
  const Result<std::unique_ptr<LogGroups>> groups = Open();
  ASSERT_TRUE(groups.ok());
  for (const uint32_t index : {0U, 999U, 1500U, 1999U}) {
    const NumberedGroup& group = world_.found[index];
    const std::vector<LogGroups::Wanted> wanted{groups.value()->Want(group.start, index)};
    // In its length, its place in the header, and its last byte.
    const Lsn in_header(group.start.value() + 9);
    for (const Lsn place : {group.start, in_header, Lsn(group.end.value() - 1)}) {
      const std::string path = world_.PathOf(place);
      const uint64_t offset = world_.OffsetOf(place);
      ASSERT_TRUE(files_.FlipBit(path, offset, 5));
      ExpectRefused(wanted, *groups.value());
      ASSERT_TRUE(files_.FlipBit(path, offset, 5));
    }
    files_.Inject({.call = FileCall::kRead, .path_part = "redo_"});
    ExpectRefused(wanted, *groups.value());
    size_t visited = 0;
    EXPECT_TRUE(Visit(*groups.value(), wanted, &visited).ok());
  }
  // The middle of a group is none.
  ExpectRefused({groups.value()->Want(Lsn(world_.found[7].start.value() + 1), 7)}, *groups.value());
}

TEST_F(LogGroupsTest, NeedTheirFiles) {
  Fill(2000);
  ASSERT_TRUE(files_.Remove(world_.PathOf(range_.end)).ok());
  EXPECT_FALSE(Open().ok());
}

TEST_F(LogGroupsTest, AreTheSameReadAhead) {
  Fill(12000);  // 7 MiB beyond what is read without the second thread
  for (const size_t taken : {size_t{100}, size_t{7000}, world_.found.size()}) {
    Result<std::unique_ptr<LogReader>> reader =
        LogReader::Open(&files_, "log", world_.control->data(), range_.begin);
    ASSERT_TRUE(reader.ok());
    LogReadAhead ahead(reader->get());
    LogReader::Group group;
    for (size_t i = 0; i < taken; ++i) {
      ASSERT_TRUE(ahead.Next(&group).ok());
      EXPECT_EQ(group.start, world_.found[i].start);
      EXPECT_EQ(group.end, world_.found[i].end);
      EXPECT_EQ(NumberOfGroup(group.bytes), world_.found[i].number);
    }
    if (taken < world_.found.size()) continue;  // nobody wants the rest
    EXPECT_TRUE(ahead.Next(&group).Is(Code::kEndOfRange));
    EXPECT_TRUE(ahead.Next(&group).Is(Code::kEndOfRange));
    EXPECT_EQ((*reader)->end(), range_.end);
  }
}

TEST_F(LogGroupsTest, ReadAheadEndWithTheFailureOfTheirReader) {
  Fill(12000);
  Result<std::unique_ptr<LogReader>> reader =
      LogReader::Open(&files_, "log", world_.control->data(), range_.begin);
  ASSERT_TRUE(reader.ok());
  LogReadAhead ahead(reader->get());
  files_.Inject({.call = FileCall::kRead, .path_part = "redo_", .nth_call = 12, .lasting = true});
  size_t read = 0;
  LogReader::Group group;
  Status status;
  while ((status = ahead.Next(&group)).ok()) ++read;
  EXPECT_TRUE(status.Is(Code::kIoError));
  EXPECT_GT(read, 5000u);
  EXPECT_LT(read, world_.found.size());
}

}  // namespace
}  // namespace rowan
