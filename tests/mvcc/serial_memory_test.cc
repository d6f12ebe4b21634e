// SPDX-License-Identifier: GPL-2.0-only
// What optimistic serializable transactions keep of those that committed, and for whom.
#include <gtest/gtest.h>

#include <string>

#include "base/bytes.h"
#include "mvcc/lock/serial_txns.h"

namespace rowan {
namespace {

constexpr IndexId kIndex{7};
constexpr int kOthers = 10'000;

class SerialMemoryTest : public ::testing::Test {
 protected:
  void BeginReader() {
    serial_.BeginReadOnly(&reader_, [] {});
    ASSERT_NE(reader_.serial, nullptr);
    Read(&reader_, 1);
  }
  void Read(Txn* txn, int key) {
    const std::string low = std::to_string(key);
    const std::string high = low + "+";
    ASSERT_TRUE(serial_.NoteRead(txn, kIndex, {.low = AsBytes(low), .high = AsBytes(high)}).ok());
  }
  void Commit(Txn* txn) {
    ASSERT_TRUE(serial_.Prepare(txn).ok());
    serial_.End(txn, true);
  }
  void CommitOthers() {
    for (int i = 0; i < kOthers; ++i) {
      Txn txn;
      serial_.Begin(&txn);
      serial_.NoteSnapshot(&txn);
      Read(&txn, i);
      Commit(&txn);
    }
  }

  SerialTxns serial_{uint64_t{1} << 30};
  Txn writer_;
  Txn reader_;
};

TEST_F(SerialMemoryTest, NothingIsKeptForASafeReader) {
  serial_.Begin(&writer_);
  BeginReader();
  const uint64_t before = serial_.memory_bytes();
  Commit(&writer_);
  CommitOthers();
  EXPECT_EQ(serial_.size(), 1u) << "itself: its thread has not looked yet";
  EXPECT_EQ(serial_.memory_bytes(), before);
  Read(&reader_, 2);
  EXPECT_EQ(reader_.serial, nullptr);
  EXPECT_EQ(serial_.size(), 0u);
  EXPECT_EQ(serial_.memory_bytes(), 0u);
}

TEST_F(SerialMemoryTest, ASafeReaderIsNotKeptForOthers) {
  serial_.Begin(&writer_);
  BeginReader();
  Commit(&writer_);
  Txn other;
  serial_.Begin(&other);
  Commit(&reader_);
  EXPECT_EQ(serial_.size(), 1u);
  Commit(&other);
  EXPECT_EQ(serial_.size(), 0u);
}

TEST_F(SerialMemoryTest, MemoryThatRunsShortLeavesASafeReaderAlone) {
  serial_.Begin(&writer_);
  BeginReader();
  Commit(&writer_);
  serial_.SetMemoryMax(1);
  CommitOthers();
  Read(&reader_, 2);
  EXPECT_EQ(reader_.only_rollback, Code::kOk);
}

TEST_F(SerialMemoryTest, AReaderThatMayMeetACircleKeepsThem) {
  serial_.Begin(&writer_);  // stays open
  BeginReader();
  CommitOthers();
  EXPECT_EQ(serial_.size(), 2u + kOthers);
  Commit(&writer_);
  EXPECT_EQ(serial_.size(), 1u) << "safe now";
  Commit(&reader_);
  EXPECT_EQ(serial_.size(), 0u);
}

/// The writer read what another wrote over, who committed before the reader's snapshot.
TEST_F(SerialMemoryTest, AReaderThatCanNeverBeSafeKeepsThem) {
  serial_.Begin(&writer_);
  serial_.NoteSnapshot(&writer_);
  Read(&writer_, 5);
  Txn third;
  serial_.Begin(&third);
  serial_.NoteSnapshot(&third);
  ASSERT_TRUE(serial_.CheckWrite(&third, kIndex, AsBytes("5")).ok());
  Commit(&third);
  BeginReader();
  Commit(&writer_);
  CommitOthers();
  EXPECT_EQ(serial_.size(), 2u + kOthers) << "the reader, the writer, all others";
  Commit(&reader_);
  EXPECT_EQ(serial_.size(), 0u);
}

}  // namespace
}  // namespace rowan
