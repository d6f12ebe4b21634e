// SPDX-License-Identifier: GPL-2.0-only
// Which formats a start takes, in tablespaces whose header pages are written here, and how the
// version in the control file is raised.
#include "storage/upgrade.h"

#include <gtest/gtest.h>

#include <memory>
#include <unordered_set>

#include "buffer/page/page_header.h"
#include "io/aligned_buffer.h"
#include "space/space_format.h"
#include "space/space_pages.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_settings.h"

namespace rowan::upgrade_test {
namespace {

const std::string kFolder = "/instance";
constexpr SpaceId kTable = kFirstTableSpace;

class FormatsBeforeRedoTest : public testing::Test {
 protected:
  FormatsBeforeRedoTest() {
    for (const SpaceId space : {kSystemSpace, kUndoSpace, kTable}) {
      EXPECT_TRUE(spaces_.Create(space, 2).ok());
      WriteHeader(space, [](std::byte*) {});
    }
  }
  template <typename Change>
  void WriteHeader(SpaceId space, Change change) {
    AlignedBuffer page(spaces_.page_size_bytes());
    InitSpaceHeader(page.span(), {space, PageNumber(0)}, {});
    change(page.data());
    SealPage(page.span());
    ASSERT_TRUE(spaces_.WritePage({space, PageNumber(0)}, page.span()).ok());
  }
  Status Check(const std::unordered_set<SpaceId>& redone) {
    return CheckFormatsBeforeRedo(&spaces_, redone);
  }

  FaultFileSystem files_{TestSeed()};
  SpaceFiles spaces_{&files_, kFolder, TestPageSizeBytes()};
};

TEST_F(FormatsBeforeRedoTest, ANewerSpaceIsRefusedByNameIfRedoWritesToIt) {
  EXPECT_TRUE(Check({kTable}).ok());
  WriteHeader(kTable,
              [](std::byte* page) { SetPageVersion(page, space_layout::kHeaderVersion + 1); });
  EXPECT_TRUE(Check({}).ok()) << "judged when it is opened";
  const LogCapture log;
  EXPECT_TRUE(Check({kTable}).Is(Code::kNewerFormat));
  EXPECT_TRUE(log.Has(spaces_.PathOf(kTable))) << log.Text();
}

TEST_F(FormatsBeforeRedoTest, FeaturesThatForbidWritingAreRefusedAndOthersAreNot) {
  struct Case {
    FormatFeatures features;
    bool fine;
  };
  for (const Case& one :
       {Case{{}, true}, Case{kSpaceFeatures, true}, Case{{.compatible = uint64_t{1} << 63}, true},
        Case{{.read_only_compatible = 2}, false},
        Case{{.incompatible = uint64_t{1} << 40}, false}}) {
    WriteHeader(kTable, [&](std::byte* page) {
      StoreFeatures(page + space_layout::kFeaturesOffset, one.features);
    });
    const LogCapture quiet;
    EXPECT_EQ(Check({kTable}).ok(), one.fine) << one.features.incompatible;
  }
}

TEST_F(FormatsBeforeRedoTest, TheSystemAndUndoSpacesAreAlwaysChecked) {
  for (const SpaceId space : {kSystemSpace, kUndoSpace}) {
    const LogCapture quiet;
    WriteHeader(space, [](std::byte* page) { SetPageVersion(page, 99); });
    EXPECT_TRUE(Check({}).Is(Code::kNewerFormat));
    WriteHeader(space, [](std::byte*) {});
    EXPECT_TRUE(Check({}).ok());
  }
}

TEST_F(FormatsBeforeRedoTest, WhatRedoMayRestoreIsNoReasonToRefuse) {
  WriteHeader(kTable, [](std::byte* page) { SetPageVersion(page, 99); });
  ASSERT_TRUE(files_.FlipBit(spaces_.PathOf(kTable), 200, 1));
  EXPECT_TRUE(Check({kTable}).ok()) << "damaged";
  EXPECT_TRUE(Check({SpaceId(99)}).ok()) << "missing";
  files_.Inject({.call = FileCall::kRead, .path_part = spaces_.PathOf(kTable)});
  EXPECT_TRUE(Check({kTable}).ok()) << "unreadable";
}

class UpgradeInstanceTest : public testing::Test {
 protected:
  void CreateOld() {
    ControlData old;
    old.format_version = 1;
    auto created = ControlFile::Create(&files_, kFolder, old);
    ASSERT_TRUE(created.ok());
    control_ = std::move(created).value();
  }
  uint32_t VersionOnDisk() {
    control_.reset();
    auto opened = ControlFile::Open(&files_, kFolder);
    EXPECT_TRUE(opened.ok());
    return opened.ok() ? opened.value()->data().format_version : 0;
  }

  FaultFileSystem files_{TestSeed()};
  std::unique_ptr<ControlFile> control_;
};

TEST_F(UpgradeInstanceTest, SurvivesTheRotOfEitherSlotAndIsToldOnce) {
  ASSERT_NO_FATAL_FAILURE(CreateOld());
  LogCapture log;
  ASSERT_TRUE(UpgradeInstance(control_.get(), kFolder).ok());
  EXPECT_TRUE(log.Has("upgraded from format 1")) << log.Text();
  log.Clear();
  ASSERT_TRUE(UpgradeInstance(control_.get(), kFolder).ok());
  EXPECT_EQ(log.Text(), "");
  for (const uint64_t slot : {0, 1}) {
    ASSERT_TRUE(files_.FlipBit(kFolder + "/" + kControlFileName, slot * 4096 + 50, 3));
    EXPECT_EQ(VersionOnDisk(), kFormatVersion);
    ASSERT_TRUE(files_.FlipBit(kFolder + "/" + kControlFileName, slot * 4096 + 50, 3));
  }
}

TEST_F(UpgradeInstanceTest, MayBeCutShortAnywhere) {
  for (uint64_t changes = 0; changes < 6; ++changes) {
    files_.Remove(kFolder + "/" + kControlFileName).Ignore();
    ASSERT_NO_FATAL_FAILURE(CreateOld());
    const LogCapture quiet;
    files_.PowerOffAfter(changes);
    const bool upgraded = UpgradeInstance(control_.get(), kFolder).ok();
    control_.reset();
    files_.Crash(TestSeed() + changes);
    const uint32_t version = VersionOnDisk();
    EXPECT_TRUE(version == kFormatVersion || (!upgraded && version == 1)) << version;
  }
}

}  // namespace
}  // namespace rowan::upgrade_test
