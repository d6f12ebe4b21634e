// SPDX-License-Identifier: GPL-2.0-only
#include "wal/control_slot.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace rowan {
namespace {

constexpr std::string_view kControlMagic = "ROWANCTL";

/// A slot as it lies on disk; little-endian, the rest of the 4 KiB is zero.
struct SlotLayout {
  char magic[8];
  uint32_t format_version;
  uint32_t crc;  ///< CRC-32C of the whole slot with this field zero
  uint64_t sequence;
  uint8_t instance_id[16];
  uint32_t page_size_bytes;
  uint32_t epoch;
  uint64_t checkpoint_lsn;
  uint64_t log_file_bytes;
  uint64_t log_buffer_bytes;
  uint64_t next_txn_id;
  uint64_t next_csn;
  uint64_t next_index_id;
  uint64_t next_table_id;
  uint32_t next_space_id;
  uint8_t clean_shutdown;
  uint8_t unused[3];
  uint64_t run_start_lsn;
  uint32_t run_epoch;
  uint8_t unused_too[4];
  uint64_t log_durable_lsn;
  uint8_t features[kFormatFeaturesBytes];
  uint8_t history[3072];
  uint32_t carried_id;
  uint8_t carried_active;
  uint8_t unused_as_well;
  uint16_t carried_name_bytes;
  uint32_t carried_mark;
  uint8_t unused_at_last[4];
  uint64_t carried_covered_bytes;
  char carried_name[kCarriedNameBytesMax];
};
static_assert(sizeof(SlotLayout) == 3768 && sizeof(SlotLayout) <= kControlSlotBytes);
static_assert(sizeof(SlotLayout::history) == kLogRunsMax * kLogRunBytes);
static_assert(offsetof(SlotLayout, crc) == 12);
static_assert(offsetof(SlotLayout, instance_id) == 24);
static_assert(offsetof(SlotLayout, checkpoint_lsn) == 48);
static_assert(offsetof(SlotLayout, next_txn_id) == 72);
static_assert(offsetof(SlotLayout, next_space_id) == 104);
static_assert(offsetof(SlotLayout, clean_shutdown) == 108);
static_assert(offsetof(SlotLayout, run_start_lsn) == 112);
static_assert(offsetof(SlotLayout, run_epoch) == 120);
static_assert(offsetof(SlotLayout, log_durable_lsn) == 128);
static_assert(offsetof(SlotLayout, features) == 136);
static_assert(offsetof(SlotLayout, history) == 160);
static_assert(offsetof(SlotLayout, carried_id) == 3232);
static_assert(offsetof(SlotLayout, carried_covered_bytes) == 3248);

void StoreCarried(const CarriedState& carried, SlotLayout* layout) {
  layout->carried_id = carried.id;
  layout->carried_active = carried.active ? 1 : 0;
  layout->carried_mark = carried.mark;
  layout->carried_covered_bytes = carried.covered_bytes;
  layout->carried_name_bytes =
      static_cast<uint16_t>(carried.name.copy(layout->carried_name, kCarriedNameBytesMax));
}

CarriedState LoadCarried(const SlotLayout& layout) {
  const size_t name_bytes = std::min<size_t>(layout.carried_name_bytes, kCarriedNameBytesMax);
  return {.id = layout.carried_id,
          .active = layout.carried_active != 0,
          .mark = layout.carried_mark,
          .covered_bytes = layout.carried_covered_bytes,
          .name = std::string(layout.carried_name, name_bytes)};
}

uint32_t SlotCrc(ControlSlot slot) {
  StoreLe<uint32_t>(slot.data() + offsetof(SlotLayout, crc), 0);
  return Crc32c(slot);
}

}  // namespace

ControlSlot EncodeControlSlot(const ControlData& data, uint64_t sequence, ControlSlot slot) {
  SlotLayout layout{};
  std::memcpy(layout.magic, kControlMagic.data(), kControlMagic.size());
  layout.format_version = data.format_version;
  layout.sequence = sequence;
  std::copy(data.instance_id.begin(), data.instance_id.end(), layout.instance_id);
  layout.page_size_bytes = data.page_size_bytes;
  layout.epoch = data.epoch;
  layout.checkpoint_lsn = data.checkpoint_lsn.value();
  layout.log_file_bytes = data.log_file_bytes;
  layout.log_buffer_bytes = data.log_buffer_bytes;
  layout.next_txn_id = data.next_txn_id.value();
  layout.next_csn = data.next_csn.value();
  layout.next_index_id = data.next_index_id.value();
  layout.next_table_id = data.next_table_id.value();
  layout.next_space_id = data.next_space_id.value();
  layout.clean_shutdown = data.clean_shutdown ? 1 : 0;
  layout.run_start_lsn = data.run_start_lsn.value();
  layout.run_epoch = data.run_epoch;
  layout.log_durable_lsn = data.log_durable_lsn.value();
  StoreFeatures(reinterpret_cast<std::byte*>(layout.features), data.features);
  StoreHistory(reinterpret_cast<std::byte*>(layout.history), data.history);
  StoreCarried(data.carried, &layout);
  StoreLe(slot.data(), layout);
  StoreLe<uint32_t>(slot.data() + offsetof(SlotLayout, crc), SlotCrc(slot));
  return slot;
}

ControlData DecodeControlSlot(const ControlSlot& slot) {
  const auto layout = LoadLe<SlotLayout>(slot.data());
  ControlData data;
  std::copy(std::begin(layout.instance_id), std::end(layout.instance_id), data.instance_id.begin());
  data.format_version = layout.format_version;
  data.page_size_bytes = layout.page_size_bytes;
  data.epoch = layout.epoch;
  data.checkpoint_lsn = Lsn(layout.checkpoint_lsn);
  data.log_file_bytes = layout.log_file_bytes;
  data.log_buffer_bytes = layout.log_buffer_bytes;
  data.next_txn_id = TxnId(layout.next_txn_id);
  data.next_csn = Csn(layout.next_csn);
  data.next_index_id = IndexId(layout.next_index_id);
  data.next_table_id = TableId(layout.next_table_id);
  data.next_space_id = SpaceId(layout.next_space_id);
  data.clean_shutdown = layout.clean_shutdown != 0;
  data.run_start_lsn = Lsn(layout.run_start_lsn);
  data.run_epoch = layout.run_epoch;
  data.log_durable_lsn = Lsn(layout.log_durable_lsn);
  data.features = LoadFeatures(reinterpret_cast<const std::byte*>(layout.features));
  data.history = LoadHistory(reinterpret_cast<const std::byte*>(layout.history));
  data.carried = LoadCarried(layout);
  return data;
}

uint64_t ControlSlotSequence(const ControlSlot& slot) {
  return LoadLe<uint64_t>(slot.data() + offsetof(SlotLayout, sequence));
}

bool HasControlMagic(const ControlSlot& slot) {
  return std::memcmp(slot.data(), kControlMagic.data(), kControlMagic.size()) == 0;
}

bool IsGoodControlSlot(const ControlSlot& slot) {
  return HasControlMagic(slot) &&
         SlotCrc(slot) == LoadLe<uint32_t>(slot.data() + offsetof(SlotLayout, crc));
}

}  // namespace rowan
