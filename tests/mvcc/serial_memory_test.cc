// SPDX-License-Identifier: GPL-2.0-only
// What optimistic serializable transactions keep of those that committed, and for whom.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "mvcc/lock/serial_txns.h"

namespace rowan::serial_memory_test {
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
  EXPECT_EQ(reader_.rollback.required, Code::kOk);
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

/// A transaction that stays open while ten thousand others commit, with memory for a few hundred.
class SerialSummaryTest : public SerialMemoryTest {
 protected:
  static constexpr uint64_t kMemoryMax = 200'000;

  void SetUp() override {
    serial_.SetMemoryMax(kMemoryMax);
    serial_.Begin(&old_);
    serial_.NoteSnapshot(&old_);
    Read(&old_, 3);
  }
  void Begin(Txn* txn, uint64_t id) {
    serial_.Begin(txn);
    serial_.NoteSnapshot(txn);
    txn->id.store(id, std::memory_order_relaxed);
    serial_.SetId(txn);
  }
  Status Write(Txn* txn, int key) {
    return serial_.CheckWrite(txn, kIndex, AsBytes(std::to_string(key)));
  }
  void EndAll() {
    serial_.End(&old_, false);
    EXPECT_EQ(serial_.size(), 0u);
    EXPECT_EQ(serial_.memory_bytes(), 0u);
  }
  Txn old_;
};

TEST_F(SerialSummaryTest, CommittedOnesGiveWayBeforeAnOpenOne) {
  CommitOthers();
  EXPECT_LE(serial_.memory_bytes(), kMemoryMax);
  EXPECT_LT(serial_.size(), 500u);
  EXPECT_TRUE(serial_.Check());
  ASSERT_TRUE(Write(&old_, 77'777).ok());
  EXPECT_TRUE(serial_.Prepare(&old_).ok()) << "it was in nobody's way";
  EndAll();
}

/// The first of them read 5 and wrote over what the old one had read.
TEST_F(SerialSummaryTest, WhatASummarisedOneReadIsKnown) {
  Txn first;
  Begin(&first, 1000);
  Read(&first, 5);
  ASSERT_TRUE(Write(&first, 3).ok());
  Commit(&first);
  CommitOthers();
  EXPECT_TRUE(Write(&old_, 5).Is(Code::kDeadlock));
  EndAll();
}

/// The first of them read what another wrote over that committed before it.
TEST_F(SerialSummaryTest, WhatASummarisedOneWroteIsKnown) {
  Txn first;
  Txn third;
  Begin(&first, 1000);
  Read(&first, 5);
  Begin(&third, 2000);
  ASSERT_TRUE(Write(&third, 5).ok());
  Commit(&third);
  Commit(&first);
  CommitOthers();
  ASSERT_TRUE(serial_.NoteWriter(&old_, TxnId(2000)).ok());
  EXPECT_TRUE(serial_.NoteWriter(&old_, TxnId(1000)).Is(Code::kDeadlock));
  EndAll();
}

TEST(ConflictSummaryTest, AStretchIsAsDangerousAsTheWorstOfItsWriters) {
  ConflictSummary summary;
  for (uint64_t id = 10; id < 20; ++id) {
    summary.Add(TxnId(id), {.prepare_time = 100 + id,
                            .earliest_out = id == 12 ? 50 : SerialTxn::kNever,
                            .commit_time = 200 + id});
  }
  summary.Fold();
  const ConflictSummary::Writer* stretch = summary.Find(TxnId(14));
  ASSERT_NE(stretch, nullptr);
  EXPECT_EQ(stretch->prepare_time, 110u);
  EXPECT_EQ(stretch->earliest_out, 50u);
  EXPECT_EQ(stretch->commit_time, 214u);
  ASSERT_NE(summary.Find(TxnId(15)), nullptr);
  EXPECT_EQ(summary.Find(TxnId(15))->prepare_time, 115u);
  EXPECT_EQ(summary.Find(TxnId(9)), nullptr);
  EXPECT_EQ(summary.Find(TxnId(20)), nullptr);
  while (summary.memory_bytes() != 0) summary.Fold();
  EXPECT_NE(summary.Find(TxnId(19)), nullptr);
  summary.Clear();
  EXPECT_EQ(summary.Find(TxnId(14)), nullptr);
}

TEST_F(SerialSummaryTest, ASummaryIsOfNoConcernToThoseThatBeganLater) {
  CommitOthers();
  Txn late;
  Begin(&late, 5000);
  for (int key = 0; key < 100; ++key) ASSERT_TRUE(Write(&late, key).ok());
  Read(&late, 70'000);
  ASSERT_TRUE(Write(&old_, 70'000).ok());
  Commit(&late);
  EndAll();
}

/// One row that all have read, and one that writes it; then the same with readers that say so.
TEST_F(SerialMemoryTest, StepsGrowWithTheNumberOfReadersOfAHotKey) {
  const auto steps_of = [&](size_t count, bool read_only) {
    const uint64_t before = serial_.steps();
    Txn writer;
    serial_.Begin(&writer);
    serial_.NoteSnapshot(&writer);
    std::vector<std::unique_ptr<Txn>> readers;
    for (size_t i = 0; i < count; ++i) {
      Txn* reader = readers.emplace_back(std::make_unique<Txn>()).get();
      if (read_only) {
        serial_.BeginReadOnly(reader, [] {});
      } else {
        serial_.Begin(reader);
        serial_.NoteSnapshot(reader);
      }
      Read(reader, 1);
    }
    EXPECT_TRUE(serial_.CheckWrite(&writer, kIndex, AsBytes("1")).ok());
    Commit(&writer);
    for (const auto& reader : readers) Commit(reader.get());
    EXPECT_EQ(serial_.size(), 0u);
    return serial_.steps() - before;
  };
  for (const bool read_only : {false, true}) {
    const uint64_t few = steps_of(1000, read_only);
    const uint64_t many = steps_of(8000, read_only);
    EXPECT_LE(many, 9 * few);
    EXPECT_LE(many, 8000u * 6);
    std::printf("%s: %llu steps for 1000 readers, %llu for 8000\n",
                read_only ? "read only" : "others", static_cast<unsigned long long>(few),
                static_cast<unsigned long long>(many));
  }
}

/// Prepared before a crash: what it had not seen by then is not known.
TEST_F(SerialMemoryTest, WhoDoesNotSeeWhatARecoveredOneWroteGivesWay) {
  Txn recovered;
  recovered.id.store(700, std::memory_order_relaxed);
  serial_.Adopt(&recovered);
  EXPECT_EQ(serial_.size(), 0u) << "nothing is kept for it";
  Txn reader;
  Txn read_only;
  Txn other;
  Txn late;
  serial_.Begin(&reader);
  serial_.NoteSnapshot(&reader);
  serial_.BeginReadOnly(&read_only, [] {});
  ASSERT_NE(read_only.serial, nullptr);
  serial_.Begin(&other);
  serial_.NoteSnapshot(&other);
  EXPECT_TRUE(serial_.NoteWriter(&reader, TxnId(700)).Is(Code::kDeadlock));
  ASSERT_TRUE(serial_.Prepare(&recovered).ok());
  serial_.End(&recovered, true);
  EXPECT_TRUE(serial_.NoteWriter(&read_only, TxnId(700)).Is(Code::kDeadlock));
  serial_.Begin(&late);
  EXPECT_TRUE(serial_.NoteWriter(&late, TxnId(700)).ok()) << "its snapshot shows it";
  for (Txn* txn : {&reader, &read_only, &late}) serial_.End(txn, false);
  Commit(&other);
  EXPECT_EQ(serial_.size(), 0u);
}

}  // namespace
}  // namespace rowan::serial_memory_test
