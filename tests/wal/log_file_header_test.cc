// SPDX-License-Identifier: GPL-2.0-only
// Names and headers of log files, whole and damaged, and the list of those in a folder.
#include "wal/log_file_header.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/crc32c.h"
#include "tests/support/changed_bytes.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_settings.h"
#include "wal/log_file_list.h"

namespace rowan::log_file_header_test {
namespace {

constexpr InstanceId kInstance{1, 2, 3};
const std::string kFolder = "instance";

class LogFileHeaderTest : public ::testing::Test {
 protected:
  void Write(const LogFileHeader& header) {
    auto file = files_.Open(PathOf(header.number), {.create = true});
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file.value()->Truncate(kLogFileHeaderBytes + header.file_bytes).ok());
    ASSERT_TRUE(WriteLogFileHeader(file.value().get(), header).ok());
  }
  /// Version and start of a header, whose checksum is right again afterwards.
  void Rewrite(uint64_t number, uint32_t version, uint64_t start) {
    std::vector<std::byte> block = BytesOfFile(&files_, PathOf(number));
    ASSERT_GE(block.size(), kLogFileHeaderBytes);
    StoreLe<uint32_t>(block.data() + 8, version);
    StoreLe<uint32_t>(block.data() + 12, 0);
    StoreLe<uint64_t>(block.data() + 48, start);
    StoreLe<uint32_t>(block.data() + 12, Crc32c(Bytes(block).first(kLogFileHeaderBytes)));
    ASSERT_TRUE(WriteWholeFile(&files_, PathOf(number), block).ok());
  }
  Result<LogFileHeader> Read(uint64_t number) {
    return ReadHeaderOfLogFile(&files_, kFolder, kInstance, number);
  }
  static std::string PathOf(uint64_t number) { return kFolder + "/" + LogFileName(number); }

  FaultFileSystem files_{TestSeed()};
  Random random_{TestSeed()};
};

TEST_F(LogFileHeaderTest, NamesComeBackAndNothingElseIsOne) {
  for (const uint64_t number : {uint64_t{0}, uint64_t{9'999'999'999}, UINT64_MAX, random_.Next()}) {
    EXPECT_EQ(ParseLogFileName(LogFileName(number)), number);
  }
  for (const char* name :
       {"", "redo_", "redo_1", "redo_000000000", "redo_00000000x1", "redo_0000000001.tmp",
        "redo_-000000001", "redo_99999999999999999999", "rodo_0000000001", " redo_0000000001"}) {
    EXPECT_FALSE(ParseLogFileName(name).has_value()) << name;
  }
}

TEST_F(LogFileHeaderTest, AnyHeaderComesBack) {
  for (int round = 0; round < 50; ++round) {
    const LogFileHeader header{kInstance, random_.Next(),
                               random_.Between(1, 16) * kLogFileHeaderBytes,
                               Lsn(random_.Below(uint64_t{1} << 49) * kLogFileHeaderBytes)};
    Write(header);
    const Result<LogFileHeader> read = Read(header.number);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read.value(), header);
  }
}

TEST_F(LogFileHeaderTest, OneByteChangedIsRefused) {
  Write({kInstance, 3, 2 * kLogFileHeaderBytes, Lsn(8192)});
  const std::vector<std::byte> whole = BytesOfFile(&files_, PathOf(3));
  std::vector<std::byte> block(whole.begin(), whole.begin() + kLogFileHeaderBytes);
  auto file = files_.Open(PathOf(3), {});
  ASSERT_TRUE(file.ok());
  ForEachChangedByte(block, &random_, [&](size_t at) {
    ASSERT_TRUE(file.value()->Write(0, block).ok());
    EXPECT_TRUE(Read(3).status().Is(Code::kCorrupt)) << at;
  });
}

TEST_F(LogFileHeaderTest, AFileOfAnotherPlaceOrCutShortIsRefused) {
  Write({kInstance, 3, kLogFileHeaderBytes, Lsn(8192)});
  ASSERT_TRUE(Read(3).ok());
  EXPECT_TRUE(Read(4).status().Is(Code::kNotFound));
  ASSERT_TRUE(files_.Rename(PathOf(3), PathOf(4)).ok());
  EXPECT_TRUE(Read(4).status().Is(Code::kCorrupt));
  EXPECT_TRUE(ReadHeaderOfLogFile(&files_, kFolder, {9}, 4).status().Is(Code::kCorrupt));
  ASSERT_TRUE(files_.Rename(PathOf(4), PathOf(3)).ok());
  for (const uint64_t bytes : {2 * kLogFileHeaderBytes - 1, kLogFileHeaderBytes - 1, size_t{0}}) {
    ASSERT_TRUE(files_.Open(PathOf(3), {}).value()->Truncate(bytes).ok());
    EXPECT_TRUE(Read(3).status().Is(Code::kCorrupt)) << bytes;
  }
}

TEST_F(LogFileHeaderTest, SizesAndPlacesThatNoLogHasAreRefused) {
  for (const uint64_t start : {uint64_t{1}, kLogFileHeaderBytes - 1, (uint64_t{1} << 62) + 4096}) {
    Write({kInstance, 3, kLogFileHeaderBytes, Lsn(0)});
    Rewrite(3, kLogFileVersion, start);
    EXPECT_TRUE(Read(3).status().Is(Code::kCorrupt)) << start;
  }
  Write({kInstance, 3, 0, Lsn(0)});
  EXPECT_TRUE(Read(3).status().Is(Code::kCorrupt));
  Write({kInstance, 3, kLogFileHeaderBytes + 512, Lsn(0)});
  EXPECT_TRUE(Read(3).status().Is(Code::kCorrupt));
}

TEST_F(LogFileHeaderTest, AFileOfTheFirstVersionBeginsWhereItsNumberSays) {
  Write({kInstance, 3, 2 * kLogFileHeaderBytes, Lsn(0)});
  Rewrite(3, 1, 12345);
  const Result<LogFileHeader> read = Read(3);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().start, Lsn(3 * 2 * kLogFileHeaderBytes));
}

TEST_F(LogFileHeaderTest, AListHasTheDamagedAndRefusesANewerOne) {
  for (const uint64_t number : {12, 7, 8}) Write({kInstance, number, 4096, Lsn(number * 4096)});
  ASSERT_TRUE(files_.FlipBit(PathOf(8), 60, 1));
  ASSERT_TRUE(WriteWholeFile(&files_, kFolder + "/redo_0000000009.tmp", {}).ok());
  const auto list = ListLogFiles(&files_, kFolder, kInstance);
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list.value().size(), 3u);
  EXPECT_EQ(list.value()[0].header.start, Lsn(7 * 4096));
  EXPECT_EQ(list.value()[1].number, 8u);
  EXPECT_TRUE(list.value()[1].status.Is(Code::kCorrupt));
  EXPECT_EQ(list.value()[2].header.number, 12u);
  Rewrite(12, kLogFileVersion + 1, 0);
  const LogCapture log;
  EXPECT_TRUE(ListLogFiles(&files_, kFolder, kInstance).status().Is(Code::kNewerFormat));
  EXPECT_TRUE(log.Has(PathOf(12))) << log.Text();
}

}  // namespace
}  // namespace rowan::log_file_header_test
