// SPDX-License-Identifier: GPL-2.0-only
#include "wal/group.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/assertions.h"
#include "base/crc32c.h"

namespace rowan {
namespace {

// Offsets of the header's fields.
constexpr size_t kLengthAt = 0;
constexpr size_t kGroupCrcAt = 4;
constexpr size_t kEpochAt = 8;
constexpr size_t kRecordCountAt = 12;
constexpr size_t kDurableMarkAt = 16;
static_assert(kDurableMarkAt + sizeof(uint64_t) == kGroupHeaderBytes);

/// The second step of the checksum: place, header and the checksum of the records.
uint32_t GroupCrc(Lsn start, const GroupHeader& header, uint32_t records_crc) {
  std::array<std::byte, 32> mixed;
  StoreLe<uint64_t>(mixed.data(), start.value());
  StoreLe<uint32_t>(mixed.data() + 8, header.length);
  StoreLe<uint32_t>(mixed.data() + 12, header.epoch);
  StoreLe<uint32_t>(mixed.data() + 16, header.record_count);
  StoreLe<uint32_t>(mixed.data() + 20, records_crc);
  StoreLe<uint64_t>(mixed.data() + 24, header.durable_mark.value());
  return Crc32c(mixed);
}

}  // namespace

void GroupBuilder::Clear() {
  Reserve(kGroupHeaderBytes);
  size_ = kGroupHeaderBytes;
  record_count_ = 0;
  records_crc_ = 0;
}

void GroupBuilder::Grow(size_t capacity_min) {
  const size_t capacity = std::max(capacity_min, 2 * capacity_);
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(capacity);
  if (size_ != 0) std::memcpy(bytes.get(), bytes_.get(), size_);
  bytes_ = std::move(bytes);
  capacity_ = capacity;
}

std::byte* GroupBuilder::Add(RecordType type, PageId page, size_t body_size, uint8_t version) {
  ROWAN_DCHECK(size_ >= kGroupHeaderBytes);
  ROWAN_DCHECK(static_cast<uint8_t>(type) != 0 && static_cast<uint8_t>(type) < kRecordVersionFlag);
  Reserve(size_ + body_size);
  std::byte* position = bytes_.get() + size_;
  *position++ = static_cast<std::byte>(type);
  if (version != 0) [[unlikely]] {
    position[-1] |= std::byte{kRecordVersionFlag};
    *position++ = std::byte{version};
  }
  position = PutVarint(position, page.space.value());
  position = PutVarint(position, page.page.value());
  position = PutVarint(position, body_size);
  size_ = static_cast<size_t>(position - bytes_.get()) + body_size;
  ++record_count_;
  return position;
}

void GroupBuilder::Finish() { records_crc_ = Crc32c(bytes().subspan(kGroupHeaderBytes)); }

void GroupBuilder::Seal(Lsn start, uint32_t epoch, Lsn durable_mark) {
  ROWAN_DCHECK(durable_mark <= start && size_ <= UINT32_MAX);
  const GroupHeader header{.length = static_cast<uint32_t>(size_),
                           .crc = 0,
                           .epoch = epoch,
                           .record_count = record_count_,
                           .durable_mark = durable_mark};
  std::byte* target = bytes_.get();
  StoreLe<uint32_t>(target + kLengthAt, header.length);
  StoreLe<uint32_t>(target + kGroupCrcAt, GroupCrc(start, header, records_crc_));
  StoreLe<uint32_t>(target + kEpochAt, epoch);
  StoreLe<uint32_t>(target + kRecordCountAt, record_count_);
  StoreLe<uint64_t>(target + kDurableMarkAt, durable_mark.value());
}

GroupHeader LoadGroupHeader(Bytes group) {
  ROWAN_CHECK(group.size() >= kGroupHeaderBytes);
  const std::byte* source = group.data();
  return {.length = LoadLe<uint32_t>(source + kLengthAt),
          .crc = LoadLe<uint32_t>(source + kGroupCrcAt),
          .epoch = LoadLe<uint32_t>(source + kEpochAt),
          .record_count = LoadLe<uint32_t>(source + kRecordCountAt),
          .durable_mark = Lsn(LoadLe<uint64_t>(source + kDurableMarkAt))};
}

GroupCheck CheckGroup(Bytes bytes, Lsn start, uint32_t epoch_min, uint32_t* length) {
  *length = kGroupHeaderBytes;
  if (bytes.size() < kGroupHeaderBytes) return GroupCheck::kNeedMore;
  const GroupHeader header = LoadGroupHeader(bytes);
  if (header.length < kGroupHeaderBytes) return GroupCheck::kBad;
  if (header.epoch < epoch_min || header.durable_mark > start) return GroupCheck::kBad;
  *length = header.length;
  if (bytes.size() < header.length) return GroupCheck::kNeedMore;
  const Bytes records = bytes.subspan(kGroupHeaderBytes, header.length - kGroupHeaderBytes);
  const bool good = GroupCrc(start, header, Crc32c(records)) == header.crc;
  return good ? GroupCheck::kGood : GroupCheck::kBad;
}

GroupParser::GroupParser(Bytes group) {
  ROWAN_CHECK(group.size() >= kGroupHeaderBytes);
  position_ = group.data() + kGroupHeaderBytes;
  end_ = group.data() + group.size();
  records_left_ = LoadGroupHeader(group).record_count;
}

bool GroupParser::Next(RecordView* record, Status* status) {
  *status = Status::Ok();
  if (records_left_ == 0) {
    if (position_ != end_) *status = Status(Code::kCorrupt, "log group is longer than its records");
    return false;
  }
  *status = Status(Code::kCorrupt, "malformed record in a log group");
  if (position_ == end_) return false;
  const auto type = static_cast<uint8_t>(*position_);
  const std::byte* fields = position_ + 1;
  record->type = static_cast<RecordType>(type & ~kRecordVersionFlag);
  record->version = 0;
  if ((type & kRecordVersionFlag) != 0) {
    if (fields == end_) return false;
    record->version = static_cast<uint8_t>(*fields++);
    if (record->version == 0) return false;  // version 0 has the shorter form
  }
  uint64_t space = 0;
  uint64_t page = 0;
  uint64_t body_size = 0;
  const std::byte* next = GetVarint(fields, end_, &space);
  if (next != nullptr) next = GetVarint(next, end_, &page);
  if (next != nullptr) next = GetVarint(next, end_, &body_size);
  if (next == nullptr || space > UINT32_MAX || page > UINT32_MAX) return false;
  if (body_size > static_cast<uint64_t>(end_ - next)) return false;
  record->page = {SpaceId(static_cast<uint32_t>(space)), PageNumber(static_cast<uint32_t>(page))};
  record->body = Bytes(next, static_cast<size_t>(body_size));
  position_ = next + body_size;
  --records_left_;
  *status = Status::Ok();
  return true;
}

}  // namespace rowan
