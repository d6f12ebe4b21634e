// SPDX-License-Identifier: GPL-2.0-only
// The same behaviour is asked of every backend; those that the kernel refuses are skipped.
#include "io/write_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "base/random.h"
#include "io/aligned_buffer.h"
#include "tests/support/await.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_settings.h"

namespace rowan::write_batch_test {
namespace {

constexpr uint32_t kDepth = 8;

class WriteBatchTest : public ::testing::TestWithParam<IoBackend> {
 protected:
  void SetUp() override {
    std::string reason;
    Result<std::unique_ptr<WriteBatch>> made =
        MakeWriteBatch(PosixFileSystem(), GetParam(), kDepth, &reason);
    if (made.status().Is(Code::kUnsupported)) GTEST_SKIP() << reason;
    ASSERT_TRUE(made.ok());
    batch_ = std::move(made).value();
  }
  std::unique_ptr<File> Create(FileOptions options) {
    options.create = true;
    Result<std::unique_ptr<File>> file = PosixFileSystem()->Open(dir_.File("data"), options);
    return file.ok() ? std::move(file).value() : nullptr;
  }
  /// Writes pages in random order, more than fit in flight, and reads them back in batches.
  void WriteAndReadBack(File* file, uint32_t pages);

  TempDir dir_;
  std::unique_ptr<WriteBatch> batch_;
};

void WriteBatchTest::WriteAndReadBack(File* file, uint32_t pages) {
  const uint32_t page_size = TestPageSizeBytes();
  Random random(TestSeed());
  AlignedBuffer written(size_t{pages} * page_size);
  for (std::byte& byte : written.span()) byte = static_cast<std::byte>(random.Next());
  std::vector<uint32_t> order(pages);
  for (uint32_t page = 0; page < pages; ++page) order[page] = page;
  std::shuffle(order.begin(), order.end(), random);
  for (const uint32_t page : order) {
    const uint64_t offset = uint64_t{page} * page_size;
    ASSERT_TRUE(batch_->Submit(file, offset, written.span().subspan(offset, page_size)).ok());
  }
  ASSERT_TRUE(batch_->WaitAll().ok());
  AlignedBuffer read(written.size());
  for (uint32_t page = 0; page < pages; ++page) {
    const uint64_t offset = uint64_t{page} * page_size;
    ASSERT_TRUE(batch_->SubmitRead(file, offset, read.span().subspan(offset, page_size)).ok());
  }
  ASSERT_TRUE(batch_->WaitAll().ok());
  EXPECT_TRUE(EqualBytes(read.span(), written.span()));
}

TEST_P(WriteBatchTest, PagesComeBackFromBufferedFiles) {
  const auto file = Create({});
  WriteAndReadBack(file.get(), 100);
  EXPECT_EQ(batch_->backend(), GetParam());
}

TEST_P(WriteBatchTest, PagesComeBackFromDirectFiles) {
  const auto file = Create({.direct = true});
  if (file == nullptr) GTEST_SKIP() << "no direct I/O here";
  WriteAndReadBack(file.get(), 100);
}

TEST_P(WriteBatchTest, PagesComeBackFromFilesWithoutDescriptor) {
  FaultFileSystem files(1);
  auto file = files.Open("db/data", {.create = true}).value()->path();
  const std::unique_ptr<File> simulated = files.Open(file, {}).value();
  WriteAndReadBack(simulated.get(), 30);
}

TEST_P(WriteBatchTest, WaitAllReturnsTheFailureOnceAndTheBatchGoesOn) {
  const auto file = Create({});
  ASSERT_TRUE(file->Write(0, AsBytes("12345678")).ok());
  Result<std::unique_ptr<File>> read_only =
      PosixFileSystem()->Open(dir_.File("data"), {.read_only = true});
  ASSERT_TRUE(batch_->Submit(read_only.value().get(), 0, AsBytes("x")).ok());
  ASSERT_TRUE(batch_->Submit(file.get(), 8, AsBytes("abcd")).ok());
  const Status status = batch_->WaitAll();
  EXPECT_TRUE(status.Is(Code::kIoError));
  EXPECT_EQ(status.detail(), static_cast<uint32_t>(EBADF));
  EXPECT_TRUE(batch_->WaitAll().ok());
  std::vector<std::byte> back(4);
  ASSERT_TRUE(batch_->SubmitRead(file.get(), 8, back).ok());
  ASSERT_TRUE(batch_->WaitAll().ok());
  EXPECT_EQ(AsText(back), "abcd");
}

TEST_P(WriteBatchTest, ReadingBeyondTheEndFailsWithDetailZero) {
  const auto file = Create({});
  ASSERT_TRUE(file->Write(0, AsBytes("1234")).ok());
  std::vector<std::byte> buffer(8);
  ASSERT_TRUE(batch_->SubmitRead(file.get(), 0, buffer).ok());
  const Status status = batch_->WaitAll();
  EXPECT_TRUE(status.Is(Code::kIoError));
  EXPECT_EQ(status.detail(), 0u);
}

TEST_P(WriteBatchTest, FailuresOfSimulatedFilesAreReportedByWaitAll) {
  FaultFileSystem files(1);
  const std::unique_ptr<File> file = files.Open("db/data", {.create = true}).value();
  files.Inject({.call = FileCall::kWrite, .nth_call = 2, .code = Code::kNoSpace});
  ASSERT_TRUE(batch_->Submit(file.get(), 0, AsBytes("a")).ok());
  ASSERT_TRUE(batch_->Submit(file.get(), 1, AsBytes("b")).ok());
  ASSERT_TRUE(batch_->Submit(file.get(), 2, AsBytes("c")).ok());
  EXPECT_TRUE(batch_->WaitAll().Is(Code::kNoSpace));
}

TEST_P(WriteBatchTest, SimulatedWritesHappenWhenWaitedFor) {
  FaultFileSystem files(1);
  const std::unique_ptr<File> file = files.Open("db/data", {.create = true}).value();
  ASSERT_TRUE(batch_->Submit(file.get(), 0, AsBytes("a")).ok());
  batch_->Send();
  EXPECT_EQ(file->Size().value(), 0u) << "nobody waited: nothing may be counted on";
  ASSERT_TRUE(batch_->WaitAll().ok());
  EXPECT_EQ(file->Size().value(), 1u);
  const uint64_t writes = files.Calls(FileCall::kWrite);
  ASSERT_TRUE(batch_->WaitAll().ok());
  EXPECT_EQ(files.Calls(FileCall::kWrite), writes) << "each runs once";
}

TEST_P(WriteBatchTest, SentRequestsFinishWithoutWaiting) {
  const auto file = Create({});
  ASSERT_TRUE(batch_->Submit(file.get(), 0, AsBytes("abc")).ok());
  batch_->Send();
  EXPECT_TRUE(Await([&] { return file->Size().value() == 3; }));
  EXPECT_TRUE(batch_->WaitAll().ok());
}

TEST_P(WriteBatchTest, DestructionWaitsForRequestsInFlight) {
  const auto file = Create({});
  const std::string bytes(1 << 20, 'x');
  for (uint64_t i = 0; i < kDepth; ++i) {
    ASSERT_TRUE(batch_->Submit(file.get(), i << 20, AsBytes(bytes)).ok());
  }
  batch_.reset();
  EXPECT_EQ(file->Size().value(), uint64_t{kDepth} << 20);
}

INSTANTIATE_TEST_SUITE_P(Backends, WriteBatchTest,
                         ::testing::Values(IoBackend::kUring, IoBackend::kLibaio,
                                           IoBackend::kThreads),
                         [](const auto& backend) { return IoBackendName(backend.param); });

TEST(BatchFactoryTest, AutoChoosesSomethingAndSaysWhy) {
  std::string reason;
  const auto batch = MakeWriteBatch(PosixFileSystem(), IoBackend::kAuto, kDepth, &reason);
  ASSERT_TRUE(batch.ok());
  EXPECT_TRUE(reason.starts_with("Using ")) << reason;
  EXPECT_TRUE(reason.ends_with('.')) << reason;
  EXPECT_NE(batch.value()->backend(), IoBackend::kAuto);
  EXPECT_TRUE(MakeWriteBatch(PosixFileSystem(), IoBackend::kThreads, 1, nullptr).ok());
}

TEST(BatchFactoryTest, RefusesAbsurdDepths) {
  std::string reason;
  const auto made = MakeWriteBatch(PosixFileSystem(), IoBackend::kAuto, 0, &reason);
  EXPECT_TRUE(made.status().Is(Code::kInvalidArgument));
  EXPECT_NE(reason.find("from 1 to"), std::string::npos) << reason;
  EXPECT_FALSE(MakeWriteBatch(PosixFileSystem(), IoBackend::kThreads, 1u << 30, nullptr).ok());
}

}  // namespace
}  // namespace rowan::write_batch_test
