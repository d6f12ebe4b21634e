// SPDX-License-Identifier: GPL-2.0-only
// What each way of syncing calls on a file, and what that makes durable.
#include "wal/sync_strategy.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/aligned_buffer.h"
#include "tests/support/changed_bytes.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/forwarding_file.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

using Kind = SyncStrategy::Kind;
using Calls = std::vector<std::string>;

/// Notes what is called.
class NotingFile final : public ForwardingFile {
 public:
  NotingFile(std::unique_ptr<File> below, Calls* calls)
      : ForwardingFile(std::move(below)), calls_(calls) {}
  Status Write(uint64_t offset, Bytes bytes) override {
    calls_->push_back("write");
    return ForwardingFile::Write(offset, bytes);
  }
  Status Sync(SyncMethod method) override {
    calls_->push_back(method == SyncMethod::kFsync ? "fsync" : "fdatasync");
    return ForwardingFile::Sync(method);
  }

 private:
  Calls* const calls_;
};

struct Expected {
  LogSyncMethod method;
  Kind kind;
  bool direct;
  bool write_through;
  Calls write_and_sync;
  Calls sync;
};

class SyncStrategyTest : public testing::TestWithParam<Expected> {
 protected:
  void SetUp() override {
    std::string reason;
    auto made = MakeSyncStrategy(&files_, GetParam().method, &reason);
    if (made.status().Is(Code::kUnsupported)) GTEST_SKIP() << reason;
    ASSERT_TRUE(made.ok());
    strategy_ = std::move(made).value();
    FileOptions options = strategy_->open_options();
    options.create = true;
    auto file = files_.Open("/log/file", options);
    ASSERT_TRUE(file.ok() && files_.SyncDirectory("/log").ok());
    file_ = std::make_unique<NotingFile>(std::move(file).value(), &calls_);
    block_.data()[7] = std::byte{1};
    ASSERT_TRUE(file_->Truncate(3 * kDirectAlignment).ok());
    ASSERT_TRUE(file_->Sync(SyncMethod::kFsync).ok());
    calls_.clear();
  }
  /// Whether the block written at `offset` outlives the power.
  bool IsDurable(uint64_t offset) {
    file_.reset();
    files_.Crash({.keep = CrashPlan::Keep::kNothing}, TestSeed());
    const std::vector<std::byte> bytes = BytesOfFile(&files_, "/log/file");
    return bytes.at(offset + 7) == std::byte{1};
  }

  FaultFileSystem files_{TestSeed()};
  std::unique_ptr<SyncStrategy> strategy_;
  Calls calls_;
  std::unique_ptr<File> file_;
  AlignedBuffer block_{kDirectAlignment};
};

TEST_P(SyncStrategyTest, OpensAndCallsWhatItsNameSays) {
  EXPECT_EQ(strategy_->method(), GetParam().method);
  EXPECT_EQ(strategy_->kind(), GetParam().kind);
  EXPECT_EQ(strategy_->open_options().direct, GetParam().direct);
  EXPECT_EQ(strategy_->open_options().write_through, GetParam().write_through);
  ASSERT_TRUE(strategy_->WriteAndSync(file_.get(), 0, block_.span()).ok());
  EXPECT_EQ(calls_, GetParam().write_and_sync);
  calls_.clear();
  ASSERT_TRUE(strategy_->Sync(file_.get()).ok());
  EXPECT_EQ(calls_, GetParam().sync);
}

TEST_P(SyncStrategyTest, WhatItWroteAndSyncedIsDurable) {
  ASSERT_TRUE(strategy_->WriteAndSync(file_.get(), kDirectAlignment, block_.span()).ok());
  EXPECT_TRUE(IsDurable(kDirectAlignment));
}

TEST_P(SyncStrategyTest, AWriteAloneIsDurableOnlyIfItGoesThrough) {
  ASSERT_TRUE(file_->Write(kDirectAlignment, block_.span()).ok());
  EXPECT_EQ(IsDurable(kDirectAlignment), GetParam().kind == Kind::kThrough);
}

TEST_P(SyncStrategyTest, ASyncMakesEarlierWritesDurable) {
  ASSERT_TRUE(file_->Write(kDirectAlignment, block_.span()).ok());
  ASSERT_TRUE(strategy_->Sync(file_.get()).ok());
  EXPECT_TRUE(IsDurable(kDirectAlignment));
}

TEST_P(SyncStrategyTest, AFailureIsItsErrorAndNothingFollows) {
  files_.Inject({.call = FileCall::kWrite, .error = 71});
  EXPECT_EQ(strategy_->WriteAndSync(file_.get(), 0, block_.span()).detail(), 71u);
  EXPECT_EQ(calls_, Calls{"write"});
  files_.Inject({.call = FileCall::kSync, .error = 72});
  EXPECT_EQ(strategy_->Sync(file_.get()).detail(), 72u);
}

INSTANTIATE_TEST_SUITE_P(
    All, SyncStrategyTest,
    testing::Values(
        Expected{
            LogSyncMethod::kFsync, Kind::kSeparate, false, false, {"write", "fsync"}, {"fsync"}},
        Expected{LogSyncMethod::kFdatasync,
                 Kind::kSeparate,
                 false,
                 false,
                 {"write", "fdatasync"},
                 {"fdatasync"}},
        Expected{LogSyncMethod::kDsync, Kind::kThrough, false, true, {"write"}, {"fdatasync"}},
        Expected{LogSyncMethod::kDirectDsync, Kind::kThrough, true, true, {"write"}, {"fdatasync"}},
        // Without a descriptor, as here, the two are not linked.
        Expected{LogSyncMethod::kUring,
                 Kind::kCombined,
                 false,
                 false,
                 {"write", "fdatasync"},
                 {"fdatasync"}}),
    [](const auto& test) { return LogSyncMethodName(test.param.method); });

}  // namespace
}  // namespace rowan
