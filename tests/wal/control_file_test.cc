// SPDX-License-Identifier: GPL-2.0-only
#include "wal/control_file.h"

#include <gtest/gtest.h>

#include <array>

#include "base/crc32c.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"

namespace rowan::control_file_test {
namespace {

const std::string kFolder = "instance";
const std::string kPath = "instance/rowan.control";

ControlData SomeData() {
  ControlData data;
  for (size_t i = 0; i < data.instance_id.size(); ++i) {
    data.instance_id[i] = static_cast<uint8_t>(i + 1);
  }
  data.page_size_bytes = 4096;
  data.epoch = 7;
  data.clean_shutdown = true;
  data.checkpoint_lsn = Lsn(123456789);
  data.log_file_bytes = 65536;
  data.log_buffer_bytes = 131072;
  data.run_start_lsn = Lsn(123450000);
  data.run_epoch = 6;
  data.log_durable_lsn = Lsn(123460000);
  data.features.compatible = 5;
  AddRun(&data.history, Lsn(4096));
  AddRun(&data.history, Lsn(123450000));
  data.next_txn_id = TxnId(1001);
  data.next_csn = Csn(1002);
  data.next_space_id = SpaceId(1003);
  data.next_index_id = IndexId(1004);
  data.next_table_id = TableId(1005);
  return data;
}

void SetEpoch(ControlFile* control, uint32_t epoch) {
  ASSERT_TRUE(control->Update([epoch](ControlData& data) { data.epoch = epoch; }).ok());
}

uint32_t EpochOnDisk(FileSystem* files) {
  auto opened = ControlFile::Open(files, kFolder);
  EXPECT_TRUE(opened.ok()) << opened.status().message();
  return opened.ok() ? opened.value()->data().epoch : 0;
}

TEST(ControlFileTest, APageSizeThatNoInstanceHasIsRefused) {
  for (const uint32_t bytes : {0U, 2048U, 5000U, 131072U}) {
    FaultFileSystem files(1);
    ControlData data = SomeData();
    data.page_size_bytes = bytes;
    EXPECT_TRUE(ControlFile::Create(&files, kFolder, data).status().Is(Code::kCorrupt)) << bytes;
    EXPECT_TRUE(ControlFile::Open(&files, kFolder).status().Is(Code::kCorrupt)) << bytes;
  }
}

TEST(ControlFileTest, EveryFieldComesBack) {
  FaultFileSystem files(1);
  ASSERT_TRUE(ControlFile::Create(&files, kFolder, SomeData()).ok());
  files.Crash({.keep = CrashPlan::Keep::kNothing}, 2);
  auto opened = ControlFile::Open(&files, kFolder);
  ASSERT_TRUE(opened.ok());
  const ControlData data = opened.value()->data();
  const ControlData expected = SomeData();
  EXPECT_EQ(data.instance_id, expected.instance_id);
  EXPECT_EQ(data.format_version, kFormatVersion);
  EXPECT_EQ(data.page_size_bytes, expected.page_size_bytes);
  EXPECT_EQ(data.features, expected.features);
  ASSERT_EQ(data.history.size(), 2U);
  EXPECT_NE(data.history[0].id, data.history[1].id);
  EXPECT_EQ(data.history[1].begin, Lsn(123450000));
  EXPECT_EQ(data.epoch, expected.epoch);
  EXPECT_EQ(data.log_durable_lsn, expected.log_durable_lsn);
  EXPECT_EQ(data.clean_shutdown, expected.clean_shutdown);
  EXPECT_EQ(data.checkpoint_lsn, expected.checkpoint_lsn);
  EXPECT_EQ(data.log_file_bytes, expected.log_file_bytes);
  EXPECT_EQ(data.run_start_lsn, expected.run_start_lsn);
  EXPECT_EQ(data.run_epoch, expected.run_epoch);
  EXPECT_EQ(data.log_buffer_bytes, expected.log_buffer_bytes);
  EXPECT_EQ(data.next_txn_id, expected.next_txn_id);
  EXPECT_EQ(data.next_csn, expected.next_csn);
  EXPECT_EQ(data.next_space_id, expected.next_space_id);
  EXPECT_EQ(data.next_index_id, expected.next_index_id);
  EXPECT_EQ(data.next_table_id, expected.next_table_id);
}

TEST(ControlFileTest, IsCreatedOnceAndMissedWhenAbsent) {
  FaultFileSystem files(1);
  EXPECT_TRUE(ControlFile::Open(&files, kFolder).status().Is(Code::kNotFound));
  ASSERT_TRUE(ControlFile::Create(&files, kFolder, SomeData()).ok());
  EXPECT_TRUE(ControlFile::Create(&files, kFolder, SomeData()).status().Is(Code::kInvalidArgument));
}

TEST(ControlFileTest, ATornUpdateLeavesTheOldOrTheNewState) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    FaultFileSystem files(seed);
    SCOPED_TRACE(files.Describe());
    auto control = ControlFile::Create(&files, kFolder, SomeData());
    ASSERT_TRUE(control.ok());
    SetEpoch(control.value().get(), 8);
    SetEpoch(control.value().get(), 9);
    files.PowerOffAfter(seed % 2);  // in the write or in the sync
    EXPECT_FALSE(control.value()->Update([](ControlData& data) { data.epoch = 10; }).ok());
    control.value().reset();
    files.Crash(seed);
    const uint32_t epoch = EpochOnDisk(&files);
    EXPECT_TRUE(epoch == 9 || epoch == 10) << epoch;
  }
}

TEST(ControlFileTest, AnAcknowledgedUpdateSurvives) {
  FaultFileSystem files(1);
  auto control = ControlFile::Create(&files, kFolder, SomeData());
  ASSERT_TRUE(control.ok());
  for (uint32_t epoch = 8; epoch < 20; ++epoch) {
    SetEpoch(control.value().get(), epoch);
    control.value().reset();
    files.Crash({.keep = CrashPlan::Keep::kNothing}, epoch);
    control = ControlFile::Open(&files, kFolder);
    ASSERT_TRUE(control.ok());
    EXPECT_EQ(control.value()->data().epoch, epoch);
  }
}

TEST(ControlFileTest, OneRottenSlotIsSurvivedTwoAreReported) {
  FaultFileSystem files(1);
  auto control = ControlFile::Create(&files, kFolder, SomeData());
  ASSERT_TRUE(control.ok());
  SetEpoch(control.value().get(), 8);  // slot 0
  SetEpoch(control.value().get(), 9);  // slot 1
  control.value().reset();
  ASSERT_TRUE(files.FlipBit(kPath, 4096 + 50, 3));
  EXPECT_EQ(EpochOnDisk(&files), 8u);
  ASSERT_TRUE(files.FlipBit(kPath, 70, 3));
  EXPECT_TRUE(ControlFile::Open(&files, kFolder).status().Is(Code::kCorrupt));
}

TEST(ControlFileTest, WhatIsWrittenToBothSlotsSurvivesTheRotOfEither) {
  for (const uint64_t slot : {0, 1}) {
    FaultFileSystem files(1);
    auto control = ControlFile::Create(&files, kFolder, SomeData());
    ASSERT_TRUE(control.ok());
    SetEpoch(control.value().get(), 8);
    ASSERT_TRUE(control.value()->UpdateBothSlots([](ControlData& data) { data.epoch = 9; }).ok());
    control.value().reset();
    ASSERT_TRUE(files.FlipBit(kPath, slot * 4096 + 50, 3));
    const LogCapture log;
    EXPECT_EQ(EpochOnDisk(&files), 9u);
    EXPECT_TRUE(log.Has("wrong checksum")) << log.Text();
  }
}

TEST(ControlFileTest, AFailedUpdateIsTheLast) {
  FaultFileSystem files(1);
  auto control = ControlFile::Create(&files, kFolder, SomeData());
  ASSERT_TRUE(control.ok());
  files.Inject({.call = FileCall::kSync});
  const auto change = [](ControlData& data) { data.epoch = 8; };
  EXPECT_FALSE(control.value()->Update(change).ok());
  EXPECT_TRUE(control.value()->Update(change).Is(Code::kStopped));
  EXPECT_EQ(control.value()->data().epoch, 7u);
}

TEST(ControlFileTest, WhatAFailedSyncLeftInThePageCacheIsMadeDurableByTheNextStart) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    FaultFileSystem files(seed);
    auto control = ControlFile::Create(&files, kFolder, SomeData());
    ASSERT_TRUE(control.ok());
    SetEpoch(control.value().get(), 9);
    files.Inject({.call = FileCall::kSync});
    EXPECT_FALSE(control.value()->Update([](ControlData& data) { data.epoch = 10; }).ok());
    control.value().reset();
    control = ControlFile::Open(&files, kFolder);
    ASSERT_TRUE(control.ok());
    EXPECT_EQ(control.value()->data().epoch, 10u);
    // The next update goes into the slot that holds 9, and is torn.
    files.PowerOffAfter(0);
    EXPECT_FALSE(control.value()->Update([](ControlData& data) { data.epoch = 11; }).ok());
    control.value().reset();
    files.Crash(seed);
    EXPECT_GE(EpochOnDisk(&files), 10u) << "seed " << seed;
  }
}

TEST(ControlFileTest, OnlyOneAtATimeHasTheInstance) {
  FaultFileSystem files(1);
  auto control = ControlFile::Create(&files, kFolder, SomeData());
  ASSERT_TRUE(control.ok());
  const Status refused = ControlFile::Open(&files, kFolder).status();
  EXPECT_TRUE(refused.Is(Code::kBusy)) << refused.message();
  SetEpoch(control.value().get(), 8);  // the first is unharmed
  control.value().reset();
  EXPECT_EQ(EpochOnDisk(&files), 8u);
}

TEST(ControlFileTest, OfTwoCreationsOneIsRefused) {
  FaultFileSystem files(1);
  auto draft = files.Open(kPath + ".tmp", {.create = true});
  ASSERT_TRUE(draft.value()->Lock().ok());
  EXPECT_TRUE(ControlFile::Create(&files, kFolder, SomeData()).status().Is(Code::kBusy));
  draft.value().reset();
  EXPECT_TRUE(ControlFile::Create(&files, kFolder, SomeData()).ok());
}

TEST(ControlFileTest, ForeignAndNewerFilesAreRefused) {
  FaultFileSystem files(1);
  {
    auto file = files.Open(kPath, {.create = true});
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file.value()->Write(0, AsBytes(std::string(8192, 'x'))).ok());
  }
  EXPECT_TRUE(ControlFile::Open(&files, kFolder).status().Is(Code::kInvalidArgument));
  ASSERT_TRUE(files.Remove(kPath).ok());
  ASSERT_TRUE(ControlFile::Create(&files, kFolder, SomeData()).ok());
  auto file = files.Open(kPath, {});
  ASSERT_TRUE(file.ok());
  for (uint64_t slot = 0; slot < 2; ++slot) {
    std::array<std::byte, 4096> bytes;
    ASSERT_TRUE(file.value()->Read(slot * 4096, bytes).ok());
    StoreLe<uint32_t>(bytes.data() + 8, kFormatVersion + 1);
    StoreLe<uint32_t>(bytes.data() + 12, 0);
    StoreLe<uint32_t>(bytes.data() + 12, Crc32c(bytes));
    ASSERT_TRUE(file.value()->Write(slot * 4096, bytes).ok());
  }
  EXPECT_TRUE(ControlFile::Open(&files, kFolder).status().Is(Code::kNewerFormat));
}

TEST(ControlFileTest, AnOlderVersionIsReadAndKeptUntilItIsRaised) {
  FaultFileSystem files(1);
  ControlData old = SomeData();
  old.format_version = 1;
  old.features = {};
  ASSERT_TRUE(ControlFile::Create(&files, kFolder, old).ok());
  auto control = ControlFile::Open(&files, kFolder);
  ASSERT_TRUE(control.ok());
  EXPECT_EQ(control.value()->data().format_version, 1u);
  SetEpoch(control.value().get(), 8);
  EXPECT_EQ(control.value()->data().format_version, 1u);
}

TEST(ControlFileTest, AnInterruptedCreationLeavesNothingOrAll) {
  for (uint64_t changes = 0; changes < 8; ++changes) {
    FaultFileSystem files(changes);
    files.PowerOffAfter(changes);
    const bool created = ControlFile::Create(&files, kFolder, SomeData()).ok();
    files.Crash(changes + 100);
    const Status status = ControlFile::Open(&files, kFolder).status();
    EXPECT_TRUE(status.ok() || (!created && status.Is(Code::kNotFound))) << status.message();
    if (status.ok()) continue;
    EXPECT_TRUE(ControlFile::Create(&files, kFolder, SomeData()).ok());
  }
}

}  // namespace
}  // namespace rowan::control_file_test
