// SPDX-License-Identifier: GPL-2.0-only
// Slots of the control file with random contents, and with any one of their bytes changed.
#include "wal/control_slot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/changed_bytes.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

ControlData RandomData(Random* random) {
  ControlData data;
  for (uint8_t& byte : data.instance_id) byte = static_cast<uint8_t>(random->Next());
  data.format_version = static_cast<uint32_t>(random->Next());
  data.page_size_bytes = static_cast<uint32_t>(random->Next());
  data.epoch = static_cast<uint32_t>(random->Next());
  data.clean_shutdown = random->OneIn(2);
  data.checkpoint_lsn = Lsn(random->Next());
  data.log_file_bytes = random->Next();
  data.log_buffer_bytes = random->Next();
  data.run_start_lsn = Lsn(random->Next());
  data.run_epoch = static_cast<uint32_t>(random->Next());
  data.log_durable_lsn = Lsn(random->Next());
  data.features = {random->Next(), random->Next(), random->Next()};
  for (uint64_t runs = random->Below(kLogRunsMax + 1); runs > 0; --runs) {
    AddRun(&data.history, Lsn(random->Next()));
  }
  data.carried = {.id = static_cast<uint32_t>(random->Next()),
                  .active = random->OneIn(2),
                  .mark = static_cast<uint32_t>(random->Next()),
                  .covered_bytes = random->Next(),
                  .name = std::string(random->Below(kCarriedNameBytesMax + 1), 'n')};
  data.next_txn_id = TxnId(random->Next());
  data.next_csn = Csn(random->Next());
  data.next_space_id = SpaceId(static_cast<uint32_t>(random->Next()));
  data.next_index_id = IndexId(random->Next());
  data.next_table_id = TableId(random->Next());
  return data;
}

auto Ids(const ControlData& data) {
  return std::tuple(data.instance_id, data.next_txn_id, data.next_csn, data.next_space_id,
                    data.next_index_id, data.next_table_id);
}
auto Positions(const ControlData& data) {
  return std::tuple(data.checkpoint_lsn, data.log_durable_lsn, data.run_start_lsn, data.run_epoch,
                    data.epoch, data.history);
}
auto Others(const ControlData& data) {
  return std::tuple(data.format_version, data.page_size_bytes, data.clean_shutdown,
                    data.log_file_bytes, data.log_buffer_bytes, data.features.compatible,
                    data.features.read_only_compatible, data.features.incompatible, data.carried);
}

TEST(ControlSlotTest, AnyContentsComeBack) {
  Random random(TestSeed());
  for (int round = 0; round < 50; ++round) {
    const ControlData data = RandomData(&random);
    const uint64_t sequence = random.Next();
    const ControlSlot slot = EncodeControlSlot(data, sequence, {});
    ASSERT_TRUE(IsGoodControlSlot(slot));
    EXPECT_EQ(ControlSlotSequence(slot), sequence);
    const ControlData read = DecodeControlSlot(slot);
    EXPECT_EQ(Ids(read), Ids(data));
    EXPECT_EQ(Positions(read), Positions(data));
    EXPECT_EQ(Others(read), Others(data));
  }
}

TEST(ControlSlotTest, OneByteChangedMakesItBadAndOnlyTheMagicMakesItForeign) {
  Random random(TestSeed());
  ControlSlot slot = EncodeControlSlot(RandomData(&random), 7, {});
  ForEachChangedByte(slot, &random, [&](size_t at) {
    EXPECT_FALSE(IsGoodControlSlot(slot)) << at;
    EXPECT_EQ(HasControlMagic(slot), at >= 8) << at;
  });
  EXPECT_TRUE(IsGoodControlSlot(slot));
}

TEST(ControlSlotTest, ZerosAreNoSlot) {
  EXPECT_FALSE(IsGoodControlSlot({}));
  EXPECT_FALSE(HasControlMagic({}));
}

TEST(ControlSlotTest, WhatANewerBuildKeepsAfterTheFieldsStays) {
  constexpr size_t kFieldBytes = 3768;
  Random random(TestSeed());
  ControlSlot before{};
  const std::vector<std::byte> rest = RandomBytes(&random, before.size() - kFieldBytes);
  std::copy(rest.begin(), rest.end(), before.begin() + kFieldBytes);
  const ControlSlot slot = EncodeControlSlot(RandomData(&random), 1, before);
  EXPECT_TRUE(IsGoodControlSlot(slot));
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), slot.begin() + kFieldBytes));
}

}  // namespace
}  // namespace rowan
