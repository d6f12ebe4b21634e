// SPDX-License-Identifier: GPL-2.0-only
// The map of log files beside a list of the same files, and the bytes that are read by it.
#include "wal/log_file_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "tests/support/changed_bytes.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/test_settings.h"
#include "wal/log_source.h"

namespace rowan {
namespace {

void ExpectPlace(const LogFilePlace& found, const LogFilePlace& expected) {
  EXPECT_EQ(found.number, expected.number);
  EXPECT_EQ(found.start, expected.start);
  EXPECT_EQ(found.end, expected.end);
}

TEST(LogFileMapTest, SaysTheSameAsAListOfTheFiles) {
  Random random(TestSeed());
  LogFileMap map;
  std::deque<LogFilePlace> model;
  LogFilePlace next{random.Below(100), Lsn(random.Below(100) * 4096), {}};
  next.end = next.start;
  map.Reset(next.number, next.start);
  for (int step = 0; step < 2000; ++step) {
    if (random.OneIn(3) && !model.empty()) {
      map.RemoveFirst();
      model.pop_front();
    } else if (model.size() < 40) {
      const uint64_t bytes = random.Between(1, 9) * 4096;
      map.Append(bytes);
      model.push_back({next.number, next.start, next.start + bytes});
      next = {next.number + 1, model.back().end, model.back().end};
    }
    const LogFilePlace& first = model.empty() ? next : model.front();
    ExpectPlace(map.First(), first);
    ASSERT_EQ(map.end(), next.start);
    ASSERT_EQ(map.next_number(), next.number);
    ASSERT_EQ(map.files(), model.size());
    ASSERT_EQ(map.bytes(), next.start - first.start);
    ExpectPlace(map.OfNumber(next.number), next);
    ExpectPlace(map.Of(next.start), next);
    if (model.empty()) continue;
    const LogFilePlace& any = model[random.Below(model.size())];
    ExpectPlace(map.OfNumber(any.number), any);
    ExpectPlace(map.Of(any.start), any);
    ExpectPlace(map.Of(any.end - 1), any);
    EXPECT_FALSE(any.Holds(any.end));
  }
}

/// Some files, of different sizes, in which each byte says where in the log it lies.
class LogSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    map_.Reset(5, Lsn(0));
    for (const uint64_t blocks : {3, 1, 8, 2, 700, 1}) {
      const LogFilePlace place{map_.next_number(), map_.end(), map_.end() + blocks * 4096};
      std::vector<std::byte> content(blocks * 4096);
      for (size_t i = 0; i < content.size(); ++i) content[i] = ByteAt(place.start + i);
      auto file = files_.Open(PathOf(place.number), {.create = true});
      ASSERT_TRUE(file.ok());
      ASSERT_TRUE(file.value()->Write(kLogFileHeaderBytes, content).ok());
      ASSERT_TRUE(
          WriteLogFileHeader(file.value().get(), {{}, place.number, place.bytes(), place.start})
              .ok());
      map_.Append(place.bytes());
    }
  }
  static std::byte ByteAt(Lsn lsn) {
    return static_cast<std::byte>((lsn.value() * 7 + lsn.value() / 4096) % 251);
  }
  static std::string PathOf(uint64_t number) { return "instance/" + LogFileName(number); }
  /// Views all over the log have the right bytes, up to `end` and no further.
  void ExpectBytes(LogSource* source, Lsn begin, Lsn end) {
    for (int i = 0; i < 300; ++i) {
      const Lsn at = begin + random_.Below(end - begin);
      const size_t wanted = random_.Between(1, random_.OneIn(9) ? 3 << 20 : 9000);
      size_t size = wanted;
      Bytes view;
      ASSERT_TRUE(source->View(at, &size, &view).ok());
      ASSERT_EQ(size, std::min<uint64_t>(wanted, end - at));
      ASSERT_GE(view.size(), size);
      for (size_t k = 0; k < size; k += 101) ASSERT_EQ(view[k], ByteAt(at + k));
      ASSERT_EQ(view[size - 1], ByteAt(at + size - 1));
    }
  }

  FaultFileSystem files_{TestSeed()};
  LogFileMap map_;
  Random random_{TestSeed()};
};

TEST_F(LogSourceTest, ReadsAcrossFilesAndKnowsWhereEachByteLies) {
  LogSource source(&files_, "instance", {});
  ASSERT_TRUE(source.FindFiles().ok());
  ExpectBytes(&source, Lsn(0), map_.end());
  for (int i = 0; i < 100; ++i) {
    const Lsn at(random_.Below(map_.end().value()));
    ExpectPlace(source.PlaceOf(at), map_.Of(at));
    EXPECT_EQ(source.OffsetOf(at), map_.Of(at).OffsetOf(at));
    EXPECT_EQ(source.PathOf(at), PathOf(map_.Of(at).number));
  }
  std::string missing;
  EXPECT_TRUE(source.FindGap(Lsn(0), &missing).ok());
}

TEST_F(LogSourceTest, AMissingCutOrDamagedFileEndsWhatCanBeRead) {
  const LogFilePlace lost = map_.OfNumber(7);
  for (const int how : {0, 1, 2}) {
    SetUp();
    const bool done = how == 0   ? files_.Remove(PathOf(7)).ok()
                      : how == 1 ? files_.Open(PathOf(7), {}).value()->Truncate(8192).ok()
                                 : files_.FlipBit(PathOf(7), 40, 3);
    ASSERT_TRUE(done);
    LogSource source(&files_, "instance", {});
    ASSERT_TRUE(source.FindFiles().ok());
    ExpectBytes(&source, Lsn(0), lost.start);
    ExpectBytes(&source, lost.end, map_.end());
    EXPECT_TRUE(source.CheckFileOf(lost.start).Is(how == 0 ? Code::kNotFound : Code::kCorrupt));
    ExpectPlace(source.PlaceOf(lost.start), lost);
    std::string missing;
    EXPECT_EQ(source.FindGap(Lsn(0), &missing).ok(), how != 0);
    EXPECT_EQ(missing, how == 0 ? PathOf(7) : "");
    EXPECT_TRUE(source.FindGap(lost.end, &missing).ok()) << "nothing is missing from there on";
  }
}

}  // namespace
}  // namespace rowan
