// SPDX-License-Identifier: GPL-2.0-only
// What batches and linked writes make of a kernel that takes requests in parts, is short of memory,
// answers late, too little, out of order, or not at all. The kernel is simulated
// (tests/support/fault_queue.h), the files lose what was not synced.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "io/aligned_buffer.h"
#include "io/linked_write.h"
#include "io/write_batch.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/test_settings.h"

namespace rowan::queue_faults_test {
namespace {

constexpr uint32_t kDepth = 8;
constexpr uint32_t kPageBytes = 16384;
constexpr uint32_t kPages = 40;

/// What a caller has to live with.
constexpr QueueFault kPassing[] = {
    QueueFault::kPartialSubmit,     QueueFault::kSubmitInterrupted, QueueFault::kSubmitAgain,
    QueueFault::kSubmitNoMemory,    QueueFault::kSubmitBusy,        QueueFault::kWaitInterrupted,
    QueueFault::kOutOfOrder,        QueueFault::kAnswerShuffled,    QueueFault::kShortTransfer,
    QueueFault::kAnswerInterrupted, QueueFault::kAnswerAgain,       QueueFault::kAnswerNoMemory};

class QueueFaultsTest : public ::testing::TestWithParam<IoBackend> {
 protected:
  QueueFaultsTest() : files_(TestSeed()) {
    files_.SetAsynchronous(true);
    file_ = Open();
    batch_ = MakeWriteBatch(&files_, GetParam(), kDepth, nullptr).value();
  }
  std::unique_ptr<File> Open() {
    return files_.Open("db/data", {.create = true, .direct = true}).value();
  }
  /// Pages in random order, more than fit in flight, and back.
  void WriteAndReadBack(Random* random) {
    AlignedBuffer written(size_t{kPages} * kPageBytes);
    for (std::byte& byte : written.span()) byte = static_cast<std::byte>(random->Next());
    std::vector<uint32_t> order(kPages);
    for (uint32_t page = 0; page < kPages; ++page) order[page] = page;
    std::shuffle(order.begin(), order.end(), *random);
    for (const uint32_t page : order) {
      ASSERT_TRUE(batch_->Submit(file_.get(), Offset(page), Part(&written, page)).ok());
    }
    ASSERT_TRUE(batch_->WaitAll().ok());
    AlignedBuffer read(written.size());
    for (uint32_t page = 0; page < kPages; ++page) {
      ASSERT_TRUE(batch_->SubmitRead(file_.get(), Offset(page), Part(&read, page)).ok());
    }
    ASSERT_TRUE(batch_->WaitAll().ok());
    EXPECT_TRUE(EqualBytes(read.span(), written.span()));
  }
  static uint64_t Offset(uint32_t page) { return uint64_t{page} * kPageBytes; }
  static MutableBytes Part(AlignedBuffer* buffer, uint32_t page) {
    return buffer->span().subspan(Offset(page), kPageBytes);
  }

  FaultFileSystem files_;
  std::unique_ptr<File> file_;
  std::unique_ptr<WriteBatch> batch_;
};

TEST_P(QueueFaultsTest, NoPassingFaultIsSeenByTheCaller) {
  Random random(TestSeed());
  for (const QueueFault fault : kPassing) {
    if (GetParam() == IoBackend::kLibaio && fault == QueueFault::kSubmitBusy) continue;
    SCOPED_TRACE(QueueFaultName(fault));
    const uint64_t before = CountsOf(fault).fired;
    files_.queue_faults()->Inject(fault, 5);
    WriteAndReadBack(&random);
    EXPECT_EQ(CountsOf(fault).fired, before + 5);
  }
}

TEST_P(QueueFaultsTest, AllPassingFaultsTogether) {
  Random random(TestSeed());
  for (const uint32_t one_in : {8, 16, 32}) {
    files_.queue_faults()->SetOneIn(one_in);
    WriteAndReadBack(&random);
  }
}

TEST_P(QueueFaultsTest, OneFailedRequestFailsItsBatchAndNoOther) {
  Random random(TestSeed());
  WriteAndReadBack(&random);
  AlignedBuffer page(kPageBytes);
  files_.queue_faults()->Inject(QueueFault::kAnswerFailed);
  for (uint32_t number = 0; number < kDepth; ++number) {
    ASSERT_TRUE(batch_->Submit(file_.get(), Offset(number), page.span()).ok());
  }
  const Status status = batch_->WaitAll();
  EXPECT_TRUE(status.Is(Code::kIoError));
  EXPECT_EQ(status.detail(), static_cast<uint32_t>(EIO));
  WriteAndReadBack(&random);
}

TEST_P(QueueFaultsTest, AKernelThatTakesNoMoreFailsEverythingAndNothingHangs) {
  AlignedBuffer page(kPageBytes);
  for (uint32_t number = 0; number < kDepth / 2; ++number) {
    ASSERT_TRUE(batch_->Submit(file_.get(), Offset(number), page.span()).ok());
  }
  batch_->Send();
  files_.queue_faults()->Inject(QueueFault::kSubmitRefused);
  Status submitted;
  for (uint32_t number = 0; number < 3 * kDepth; ++number) {
    const Status status = batch_->Submit(file_.get(), Offset(number), page.span());
    if (submitted.ok()) submitted = status;
  }
  EXPECT_TRUE(submitted.Is(Code::kIoError));
  EXPECT_TRUE(batch_->WaitAll().Is(Code::kIoError));
  EXPECT_TRUE(batch_->WaitAll().ok());  // told once
  EXPECT_TRUE(batch_->Submit(file_.get(), 0, page.span()).Is(Code::kIoError));
}

TEST_P(QueueFaultsTest, WrittenSyncedAndWaitedForIsThereAfterAPowerCut) {
  files_.queue_faults()->SetOneIn(8);
  Random random(TestSeed());
  for (uint64_t round = 0; round < 10; ++round) {
    AlignedBuffer page(kPageBytes);
    std::fill(page.span().begin(), page.span().end(), static_cast<std::byte>(round));
    for (uint32_t number = 0; number < kPages; ++number) {
      ASSERT_TRUE(batch_->Submit(file_.get(), Offset(number), page.span()).ok());
    }
    ASSERT_TRUE(batch_->WaitAll().ok());
    ASSERT_TRUE(file_->Sync(SyncMethod::kFdatasync).ok());
    ASSERT_TRUE(files_.SyncDirectory("db").ok());
    batch_.reset();
    files_.Crash({.keep = CrashPlan::Keep::kNothing}, round);
    file_ = Open();
    batch_ = MakeWriteBatch(&files_, GetParam(), kDepth, nullptr).value();
    AlignedBuffer read(kPageBytes);
    ASSERT_TRUE(file_->Read(Offset(static_cast<uint32_t>(random.Below(kPages))), read.span()).ok());
    EXPECT_TRUE(EqualBytes(read.span(), page.span()));
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, QueueFaultsTest,
                         ::testing::Values(IoBackend::kUring, IoBackend::kLibaio),
                         [](const auto& backend) { return IoBackendName(backend.param); });

class LinkedWriteFaultsTest : public ::testing::Test {
 protected:
  LinkedWriteFaultsTest() : files_(TestSeed()) {
    files_.SetAsynchronous(true);
    Start();
    EXPECT_TRUE(files_.SyncDirectory("db").ok());
  }
  void Start() {
    file_ = files_.Open("db/log", {.create = true}).value();
    std::string refusal;
    writer_ = LinkedWriter::Make(&files_, &refusal).value();
  }
  Status Write(std::byte value) {
    const std::vector<std::byte> bytes(kPageBytes, value);
    return writer_->WriteAndSync(file_.get(), 0, bytes);
  }
  /// Cuts the power, which takes everything that was not synced.
  void ExpectDurable(std::byte value) {
    files_.Crash({.keep = CrashPlan::Keep::kNothing}, TestSeed());
    Start();
    std::vector<std::byte> read(kPageBytes);
    ASSERT_TRUE(file_->Read(0, read).ok());
    EXPECT_EQ(read, std::vector<std::byte>(kPageBytes, value));
  }

  FaultFileSystem files_;
  std::unique_ptr<File> file_;
  std::unique_ptr<LinkedWriter> writer_;
};

TEST_F(LinkedWriteFaultsTest, WhatReturnsOkIsDurableWhateverTheKernelDid) {
  auto value = std::byte{1};
  for (QueueFault fault : kPassing) {
    SCOPED_TRACE(QueueFaultName(fault));
    files_.queue_faults()->Inject(fault);
    ASSERT_TRUE(Write(value).ok());
    ExpectDurable(value);
    value = static_cast<std::byte>(static_cast<uint8_t>(value) + 1);
  }
  files_.queue_faults()->Inject(QueueFault::kSyncCancelled);
  ASSERT_TRUE(Write(value).ok());
  ExpectDurable(value);
}

TEST_F(LinkedWriteFaultsTest, AllPassingFaultsTogetherInManyOrders) {
  for (const uint32_t one_in : {8, 16, 32}) {
    files_.queue_faults()->SetOneIn(one_in);
    for (uint32_t round = 0; round < 30; ++round) {
      ASSERT_TRUE(Write(static_cast<std::byte>(round)).ok());
      ExpectDurable(static_cast<std::byte>(round));
    }
  }
}

TEST_F(LinkedWriteFaultsTest, PlainCallsTakeOverWhenTheKernelTakesNoMore) {
  files_.queue_faults()->Inject(QueueFault::kSubmitRefused);
  for (const std::byte value : {std::byte{1}, std::byte{2}}) {
    ASSERT_TRUE(Write(value).ok());
    EXPECT_GT(CountsOf(QueueFault::kSubmitRefused).fired, 0u);
  }
  ExpectDurable(std::byte{2});
}

TEST_F(LinkedWriteFaultsTest, AFailedWriteIsReported) {
  files_.Inject({.call = FileCall::kWrite, .code = Code::kNoSpace});
  EXPECT_TRUE(Write(std::byte{1}).Is(Code::kNoSpace));
  files_.queue_faults()->Inject(QueueFault::kAnswerFailed);
  EXPECT_TRUE(Write(std::byte{1}).Is(Code::kIoError));
}

TEST_F(LinkedWriteFaultsTest, AFailedSyncIsNotHealedByTheNextOne) {
  files_.Inject({.call = FileCall::kSync});
  EXPECT_TRUE(Write(std::byte{1}).Is(Code::kIoError));
  // Taken in parts and cut short: the write is finished and synced by plain calls, but the sync
  // that failed before them may have lost what others wrote.
  for (uint32_t order = 0; order < 20; ++order) {
    files_.ClearFaults();
    files_.Inject({.call = FileCall::kSync});
    files_.queue_faults()->Inject(QueueFault::kPartialSubmit);
    files_.queue_faults()->Inject(QueueFault::kShortTransfer);
    EXPECT_TRUE(Write(std::byte{1}).Is(Code::kIoError));
  }
}

/// Random kernels: every kind of fault must have come up.
TEST(QueueFaultSeriesTest, EveryKindOfFaultHappens) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    FaultFileSystem files(seed);
    files.SetAsynchronous(true);
    files.queue_faults()->SetOneIn(static_cast<uint32_t>(8 + seed % 8));
    const std::unique_ptr<File> file = files.Open("db/log", {.create = true}).value();
    const auto backend = seed % 2 == 0 ? IoBackend::kUring : IoBackend::kLibaio;
    const auto batch = MakeWriteBatch(&files, backend, kDepth, nullptr).value();
    std::string refusal;
    const auto writer = LinkedWriter::Make(&files, &refusal).value();
    const std::vector<std::byte> page(kPageBytes, std::byte{7});
    for (uint32_t number = 0; number < kPages; ++number) {
      ASSERT_TRUE(batch->Submit(file.get(), uint64_t{number} * kPageBytes, page).ok());
      ASSERT_TRUE(writer->WriteAndSync(file.get(), uint64_t{kPages} * kPageBytes, page).ok());
    }
    ASSERT_TRUE(batch->WaitAll().ok());
    for (const QueueFault lasting : {QueueFault::kAnswerFailed, QueueFault::kSubmitRefused}) {
      files.queue_faults()->Inject(lasting);
      batch->Submit(file.get(), 0, page).Ignore();
      EXPECT_FALSE(batch->WaitAll().ok()) << QueueFaultName(lasting);
    }
  }
  for (uint32_t number = 0; number < static_cast<uint32_t>(QueueFault::kCount); ++number) {
    const auto fault = static_cast<QueueFault>(number);
    EXPECT_GT(CountsOf(fault).fired, 0u) << QueueFaultName(fault) << " never happened";
  }
}

}  // namespace
}  // namespace rowan::queue_faults_test
