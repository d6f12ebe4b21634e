// SPDX-License-Identifier: GPL-2.0-only
// Headers of tablespaces: which of them are opened, with any one byte changed too; what is recorded
// in them; spaces that are taken out of an instance.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "buffer/page/page_header.h"
#include "io/aligned_buffer.h"
#include "space/space_format.h"
#include "space/space_pages.h"
#include "tests/space/space_fixture.h"
#include "tests/support/changed_bytes.h"
#include "tests/support/log_capture.h"

namespace rowan::space_header_test {
namespace {

constexpr SpaceId kSpace = SpaceFixture::kSpace;
constexpr PageId kHeader{kSpace, PageNumber(0)};

class SpaceHeaderTest : public testing::Test {
 protected:
  SpaceHeaderTest() {
    EXPECT_TRUE(world_.Create().ok());
    EXPECT_TRUE(world_.pool().FlushAndCheckpoint().ok());
    EXPECT_TRUE(world_.files().ReadPage(kHeader, image_.span()).ok());
  }
  /// What opening says of this image on disk.
  Status Open(Bytes image) {
    const std::string path = world_.files().PathOf(kSpace);
    world_.Kill();
    EXPECT_TRUE(files_.Open(path, {}).value()->Write(0, image).ok());
    EXPECT_TRUE(world_.StorageFixture::Start().ok());
    const LogCapture log;
    const Status status = world_.allocator().OpenSpace(kSpace);
    EXPECT_EQ(log.Has(path), !status.ok()) << log.Text();
    return status;
  }
  template <typename Change>
  Status OpenChanged(Change change) {
    std::vector<std::byte> image(image_.data(), image_.data() + image_.size());
    change(image.data());
    SealPage(image);
    return Open(image);
  }

  FaultFileSystem files_{TestSeed()};
  SpaceFixture world_{&files_, {.background = false, .doublewrite = DoublewriteMode::kOff}};
  AlignedBuffer image_{TestPageSizeBytes()};
};

TEST_F(SpaceHeaderTest, OneByteChangedIsRefused) {
  Random random(TestSeed());
  std::vector<std::byte> image(image_.data(), image_.data() + image_.size());
  ASSERT_TRUE(Open(image).ok());
  // Each start takes a while: some bytes of each field.
  for (size_t at = 0; at < space_layout::kHeaderEnd; at += random.Between(1, 11)) {
    ForEachChangedByte(MutableBytes(image).subspan(at, 1), &random,
                       [&](size_t) { EXPECT_TRUE(Open(image).Is(Code::kCorrupt)) << at; });
  }
  EXPECT_TRUE(Open(image).ok());
}

TEST_F(SpaceHeaderTest, WhatIsNotOfThisInstanceOrBuildIsRefusedByName) {
  EXPECT_TRUE(OpenChanged([](std::byte*) {}).ok());
  EXPECT_TRUE(OpenChanged([](std::byte* page) {
                page[space_layout::kInstanceOffset] ^= std::byte{1};
              }).Is(Code::kInvalidArgument));
  EXPECT_TRUE(OpenChanged([](std::byte* page) {
                StoreLe<uint32_t>(page + space_layout::kPageSizeOffset, 1024);
              }).Is(Code::kCorrupt));
  EXPECT_TRUE(OpenChanged([](std::byte* page) {
                page[space_layout::kMagicOffset] ^= std::byte{1};
              }).Is(Code::kCorrupt));
  EXPECT_TRUE(OpenChanged([](std::byte* page) {
                SetPageVersion(page, space_layout::kHeaderVersion + 1);
              }).Is(Code::kNewerFormat));
  EXPECT_TRUE(OpenChanged([](std::byte* page) {
                page[space_layout::kFeaturesOffset + 16 + 7] = std::byte{1};
              }).Is(Code::kNewerFormat));
}

TEST_F(SpaceHeaderTest, FeaturesAndTheCounterSurviveACrashBesideEachOther) {
  ASSERT_TRUE(world_.allocator().WriteCounter(kSpace, 42).ok());
  ASSERT_TRUE(world_.allocator().UseFeatures(kSpace, kChangedValuesFeature).ok());
  ASSERT_TRUE(world_.allocator().UseFeatures(kSpace, {.compatible = 8}).ok()) << "one more";
  ASSERT_TRUE(world_.log().WaitDurable(world_.log().tail()).ok());
  world_.Kill();
  files_.Crash(TestSeed());
  ASSERT_TRUE(world_.Start().ok());
  EXPECT_EQ(world_.allocator().ReadCounter(kSpace).value(), 42u);
  const Result<PageGuard> header = world_.pool().Fix(kHeader, LatchMode::kShared);
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(LoadFeatures(header.value().page() + space_layout::kFeaturesOffset),
            (FormatFeatures{8, 0, kChangedValuesFeature.incompatible}));
}

TEST_F(SpaceHeaderTest, ASpaceSetAsideKeepsItsFileAndIsGone) {
  ASSERT_TRUE(world_.allocator().WriteCounter(kSpace, 42).ok());
  ASSERT_TRUE(world_.pool().FlushAndCheckpoint().ok());
  const std::vector<std::byte> before = BytesOfFile(&files_, world_.files().PathOf(kSpace));
  ASSERT_TRUE(world_.allocator().SetAsideSpace(kSpace, "/instance/kept.file").ok());
  EXPECT_TRUE(world_.allocator().OpenSpace(kSpace).Is(Code::kNotFound));
  EXPECT_TRUE(world_.pool().Fix(kHeader, LatchMode::kShared).status().Is(Code::kNotFound));
  EXPECT_EQ(BytesOfFile(&files_, "/instance/kept.file"), before);
  files_.Crash({.keep = CrashPlan::Keep::kNothing}, TestSeed());
  EXPECT_EQ(BytesOfFile(&files_, "/instance/kept.file"), before) << "durably";
}

}  // namespace
}  // namespace rowan::space_header_test
