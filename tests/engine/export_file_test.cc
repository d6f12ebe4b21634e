// SPDX-License-Identifier: GPL-2.0-only
// An exported table's file: what was written is read, and anything else is noticed.
#include "engine/export_file.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "base/random.h"
#include "tests/engine/engine_fixture.h"

namespace rowan::export_file_test {
namespace {

constexpr const char* kPath = "/rowan/t.rwx";
constexpr size_t kRows = 40;

std::string ValueOf(size_t row) { return std::string(row % 5 == 0 ? row * 9001 : 0, 'v'); }

class ExportFileTest : public ::testing::Test {
 protected:
  ExportFileTest() : world_(TestSeed()) { EXPECT_TRUE(world_.Open().ok()); }

  std::unique_ptr<ExportWriter> Writer() {
    return ExportWriter::Create(world_.engine->file_system(), kPath, {"columns\n", "layout"})
        .value();
  }
  void WriteAll() {
    const std::unique_ptr<ExportWriter> writer = Writer();
    for (size_t row = 0; row < kRows; ++row) {
      const std::string key = ToyKey(row);
      const std::string value = ValueOf(row);
      ExportedRow exported{.key = AsBytes(key), .row = AsBytes(key).first(row % 9)};
      if (!value.empty()) exported.values = {AsBytes(value), AsBytes(key)};
      ASSERT_TRUE(writer->Add(exported).ok());
    }
    ASSERT_TRUE(writer->Finish(77).ok());
  }
  /// Ok when all rows are there as written.
  Status ReadAll() {
    Result<std::unique_ptr<ExportReader>> reader =
        ExportReader::Open(world_.engine->file_system(), kPath);
    if (!reader.ok()) return reader.status();
    EXPECT_EQ((*reader)->header().schema, "columns\n");
    EXPECT_EQ((*reader)->header().layout, "layout");
    ExportedRow row;
    for (size_t count = 0;; ++count) {
      Result<bool> more = (*reader)->Next(&row);
      if (!more.ok()) return more.status();
      if (!*more) break;
      EXPECT_EQ(AsText(row.key), ToyKey(count));
      EXPECT_EQ(row.row.size(), count % 9);
      EXPECT_EQ(row.values.size(), ValueOf(count).empty() ? 0u : 2u);
      EXPECT_EQ(row.values.empty() ? "" : AsText(row.values[0]), ValueOf(count));
    }
    EXPECT_EQ((*reader)->end().rows, kRows);
    EXPECT_EQ((*reader)->end().auto_increment, 77u);
    return Status::Ok();
  }
  ByteBuffer Contents() {
    std::unique_ptr<File> file = world_.files.Open(kPath, {}).value();
    ByteBuffer bytes(file->Size().value());
    EXPECT_TRUE(file->Read(0, bytes).ok());
    return bytes;
  }
  void Replace(const ByteBuffer& bytes) {
    std::unique_ptr<File> file = world_.files.Open(kPath, {}).value();
    ASSERT_TRUE(file->Truncate(bytes.size()).ok());
    ASSERT_TRUE(file->Write(0, bytes).ok());
  }

  EngineFixture world_;
};

TEST_F(ExportFileTest, IsReadAsItWasWritten) {
  WriteAll();
  EXPECT_TRUE(ReadAll().ok());
  EXPECT_TRUE(ExportWriter::Remove(world_.engine->file_system(), kPath).ok());
  EXPECT_TRUE(ExportWriter::Remove(world_.engine->file_system(), kPath).ok());
  EXPECT_TRUE(ReadAll().Is(Code::kNotFound));
}

TEST_F(ExportFileTest, AnUnfinishedOneLeavesNothing) {
  {
    const std::unique_ptr<ExportWriter> writer = Writer();
    ASSERT_TRUE(writer->Add({}).ok());
  }
  EXPECT_FALSE(world_.files.Exists(kPath).value());
  EXPECT_FALSE(world_.files.Exists(std::string(kPath) + "_new").value());
}

TEST_F(ExportFileTest, AnyChangedByteAndAnyOtherLengthIsNoticed) {
  WriteAll();
  const ByteBuffer whole = Contents();
  Random random(TestSeed());
  for (int turn = 0; turn < 60; ++turn) {
    ByteBuffer bytes = whole;
    const size_t at = turn < 20 ? static_cast<size_t>(turn * 4) : random.Below(whole.size());
    switch (turn % 3) {
      case 0: bytes[at] ^= std::byte{0x40}; break;
      case 1: bytes.resize(at); break;
      default: bytes.insert(bytes.end(), at + 1, std::byte{1}); break;
    }
    Replace(bytes);
    EXPECT_FALSE(ReadAll().ok()) << "turn " << turn << " at " << at;
  }
  Replace(whole);
  EXPECT_TRUE(ReadAll().ok());
}

TEST_F(ExportFileTest, BlocksThatChangePlacesAreNoticed) {
  WriteAll();
  ByteBuffer bytes = Contents();
  const size_t header = export_layout::kHeaderBytes + 8 + 6;
  const size_t block = export_layout::kBlockHeaderBytes + export_layout::kBlockBytesMax;
  ASSERT_GT(bytes.size(), header + 2 * block);
  const auto first = bytes.begin() + static_cast<ptrdiff_t>(header);
  std::swap_ranges(first, first + static_cast<ptrdiff_t>(block),
                   first + static_cast<ptrdiff_t>(block));
  Replace(bytes);
  EXPECT_TRUE(ReadAll().Is(Code::kCorrupt));
}

TEST_F(ExportFileTest, ANewerFormatIsRefused) {
  WriteAll();
  ByteBuffer bytes = Contents();
  for (const size_t offset : {export_layout::kVersionOffset, export_layout::kFeaturesOffset + 16}) {
    ByteBuffer newer = bytes;
    newer[offset] = std::byte{9};
    const size_t header = export_layout::kHeaderBytes + 8 + 6;
    StoreLe<uint32_t>(newer.data(), Crc32c(Bytes(newer).subspan(4, header - 4)));
    Replace(newer);
    EXPECT_TRUE(ReadAll().Is(Code::kNewerFormat)) << offset;
  }
}

}  // namespace
}  // namespace rowan::export_file_test
