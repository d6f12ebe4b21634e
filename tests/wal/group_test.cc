// SPDX-License-Identifier: GPL-2.0-only
#include "wal/group.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/support/changed_bytes.h"
#include "tests/support/test_settings.h"
#include "wal/redo.h"

namespace rowan {
namespace {

struct Record {
  RecordType type;
  PageId page;
  std::vector<std::byte> body;
  uint8_t version = 0;
};

void Build(GroupBuilder* builder, const std::vector<Record>& records) {
  builder->Clear();
  for (const Record& record : records) {
    std::byte* body = builder->Add(record.type, record.page, record.body.size(), record.version);
    if (!record.body.empty()) std::memcpy(body, record.body.data(), record.body.size());
  }
  builder->Finish();
}

std::vector<Record> RandomRecords(Random* random) {
  std::vector<Record> records(random->Below(20));
  for (Record& record : records) {
    record.type = static_cast<RecordType>(random->Between(1, kRecordVersionFlag - 1));
    record.page = {SpaceId(static_cast<uint32_t>(random->Next() >> random->Below(64))),
                   PageNumber(static_cast<uint32_t>(random->Next() >> random->Below(64)))};
    record.body = RandomBytes(random, random->Below(300));
    if (random->OneIn(3)) record.version = static_cast<uint8_t>(random->Next());
  }
  return records;
}

TEST(GroupTest, RecordsComeBackAsTheyWere) {
  Random random(TestSeed());
  GroupBuilder builder;
  for (int round = 0; round < 500; ++round) {
    const std::vector<Record> records = RandomRecords(&random);
    Build(&builder, records);
    const Lsn start(random.Next() >> 8);
    const Lsn mark(start.value() / 2);
    builder.Seal(start, 17, mark);
    uint32_t length = 0;
    ASSERT_EQ(CheckGroup(builder.bytes(), start, 17, &length), GroupCheck::kGood);
    ASSERT_EQ(length, builder.size_bytes());
    const GroupHeader header = LoadGroupHeader(builder.bytes());
    EXPECT_EQ(header.epoch, 17u);
    EXPECT_EQ(header.durable_mark, mark);
    EXPECT_EQ(header.record_count, records.size());
    GroupParser parser(builder.bytes());
    RecordView view;
    Status status;
    for (const Record& record : records) {
      ASSERT_TRUE(parser.Next(&view, &status));
      EXPECT_EQ(view.type, record.type);
      EXPECT_EQ(view.version, record.version);
      EXPECT_EQ(view.page, record.page);
      EXPECT_TRUE(EqualBytes(view.body, record.body));
    }
    EXPECT_FALSE(parser.Next(&view, &status));
    EXPECT_TRUE(status.ok());
  }
}

TEST(GroupTest, OnlyALaterVersionOfARecordTypeTakesAByte) {
  GroupBuilder builder;
  builder.Add(RecordType::kPageBytes, {SpaceId(16), PageNumber(7)}, 0);
  EXPECT_EQ(builder.size_bytes(), kGroupHeaderBytes + 4);
  builder.Add(RecordType::kPageBytes, {SpaceId(16), PageNumber(7)}, 0, 2);
  EXPECT_EQ(builder.size_bytes(), kGroupHeaderBytes + 4 + 5);
  EXPECT_EQ(builder.bytes()[kGroupHeaderBytes], std::byte{2});
  EXPECT_EQ(builder.bytes()[kGroupHeaderBytes + 4], std::byte{0x82});
  EXPECT_EQ(builder.bytes()[kGroupHeaderBytes + 5], std::byte{2});
}

TEST(GroupTest, EveryFlippedBitIsNoticed) {
  Random random(TestSeed() + 1);
  GroupBuilder builder;
  const PageId page{SpaceId(16), PageNumber(3)};
  Build(&builder, {{RecordType::kPageBytes, page, RandomBytes(&random, 40)}});
  const Lsn start(9000);
  builder.Seal(start, 5, Lsn(8000));
  std::vector<std::byte> bytes(builder.bytes().begin(), builder.bytes().end());
  uint32_t length = 0;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    EXPECT_NE(CheckGroup(bytes, start, 5, &length), GroupCheck::kGood) << "bit " << bit;
    bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
  }
  EXPECT_EQ(CheckGroup(bytes, start, 5, &length), GroupCheck::kGood);
}

TEST(GroupTest, TheSameBytesElsewhereOrOfAnEarlierEpochAreNoGroup) {
  GroupBuilder builder;
  Build(&builder, {{RecordType::kPageBytes, {SpaceId(16), PageNumber(3)}, {}}});
  builder.Seal(Lsn(9000), 5, Lsn(8000));
  uint32_t length = 0;
  EXPECT_EQ(CheckGroup(builder.bytes(), Lsn(9000 + 65536), 5, &length), GroupCheck::kBad);
  EXPECT_EQ(CheckGroup(builder.bytes(), Lsn(9000), 6, &length), GroupCheck::kBad);
  EXPECT_EQ(CheckGroup(builder.bytes(), Lsn(9000), 4, &length), GroupCheck::kGood);
}

TEST(GroupTest, APrefixNeedsMore) {
  GroupBuilder builder;
  Build(&builder, {{RecordType::kPageBytes, {SpaceId(16), PageNumber(3)}, {}}});
  builder.Seal(Lsn(9000), 5, Lsn(8000));
  for (size_t size = 0; size < builder.size_bytes(); ++size) {
    uint32_t length = 0;
    EXPECT_EQ(CheckGroup(builder.bytes().first(size), Lsn(9000), 5, &length),
              GroupCheck::kNeedMore);
    EXPECT_EQ(length, size < kGroupHeaderBytes ? kGroupHeaderBytes : builder.size_bytes());
  }
}

TEST(GroupTest, GarbageNeverPassesNorCrashesTheParser) {
  Random random(TestSeed() + 2);
  GroupBuilder builder;
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::byte> bytes = RandomBytes(&random, random.Between(kGroupHeaderBytes, 400));
    uint32_t length = 0;
    EXPECT_NE(CheckGroup(bytes, Lsn(random.Next()), 0, &length), GroupCheck::kGood);
    StoreLe<uint32_t>(bytes.data() + 12, static_cast<uint32_t>(random.Below(40)));
    GroupParser parser(bytes);
    RecordView view;
    Status status;
    while (parser.Next(&view, &status)) {
      ASSERT_GE(view.body.data(), bytes.data() + kGroupHeaderBytes);
      ASSERT_LE(view.body.data() + view.body.size(), bytes.data() + bytes.size());
    }
  }
}

TEST(GroupTest, AParserTellsAMalformedGroupFromItsEnd) {
  GroupBuilder builder;
  Build(&builder, {{RecordType::kPageBytes, {SpaceId(16), PageNumber(3)}, {}}});
  builder.Seal(Lsn(9000), 5, Lsn(8000));
  std::vector<std::byte> bytes(builder.bytes().begin(), builder.bytes().end());
  bytes.push_back(std::byte{0});
  RecordView view;
  Status status;
  GroupParser longer(bytes);
  EXPECT_TRUE(longer.Next(&view, &status));
  EXPECT_FALSE(longer.Next(&view, &status));
  EXPECT_TRUE(status.Is(Code::kCorrupt));
  bytes.resize(bytes.size() - 2);
  GroupParser shorter(bytes);
  EXPECT_FALSE(shorter.Next(&view, &status));
  EXPECT_TRUE(status.Is(Code::kCorrupt));
}

TEST(RedoTest, FindsWhatWasRegistered) {
  constexpr auto kNobodys = static_cast<RecordType>(119);
  EXPECT_EQ(FindRedo(kNobodys), nullptr);
  constexpr auto kUnused = static_cast<RecordType>(120);
  const RedoFunction apply = [](PageId, MutableBytes, Bytes) { return Status::Ok(); };
  RegisterRedo(kUnused, {.apply = apply, .initialises_page = true});
  ASSERT_NE(FindRedo(kUnused), nullptr);
  EXPECT_TRUE(FindRedo(kUnused)->initialises_page);
  RegisterRedo(kUnused, {.apply = apply, .initialises_page = true});  // a second engine
  const RedoFunction second = [](PageId, MutableBytes, Bytes) { return Status(Code::kCorrupt); };
  RegisterRedo(kUnused, {.apply = second, .version = 1});
  EXPECT_EQ(FindRedo(kUnused, 1)->apply, second);
  EXPECT_EQ(FindRedo(kUnused)->apply, apply);
  EXPECT_EQ(FindRedo(kUnused, 2), nullptr) << "a version that nobody registered";
  constexpr auto kPageless = static_cast<RecordType>(121);
  RegisterRedo(kPageless, {.pageless = true});
  ASSERT_NE(FindRedo(kPageless), nullptr);
  EXPECT_EQ(FindRedo(kPageless)->apply, nullptr);
}

}  // namespace
}  // namespace rowan
