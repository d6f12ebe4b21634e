// SPDX-License-Identifier: GPL-2.0-only
// What a backup holds of a tablespace beside a list of its pages; delta files with any one byte
// changed or any end missing. Pages are tiny here: these files do not look into them beyond the
// header.
#include "storage/backup_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "buffer/page/page_header.h"
#include "io/space_files.h"
#include "storage/backup_delta_reader.h"
#include "tests/support/changed_bytes.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

constexpr uint32_t kPageBytes = 64;
constexpr SpaceId kSpace(17);
constexpr Lsn kSince(1000);

using Image = std::vector<std::byte>;

class BackupPagesTest : public testing::Test {
 protected:
  /// A space of zeros, pages that changed since and pages that did not.
  void MakeSpace(uint32_t pages) {
    images_.assign(pages, Image(kPageBytes));
    for (Image& image : images_) {
      if (random_.OneIn(4)) continue;
      image = RandomBytes(&random_, kPageBytes);
      SetPageLsn(image.data(), random_.OneIn(2) ? kSince : kSince + random_.Between(1, 9));
    }
    manifest_.page_size_bytes = kPageBytes;
    manifest_.instance_id = {4, 5, 6};
    manifest_.since = kSince;
    manifest_.spaces[kSpace].pages = pages;
  }
  /// All pages, in batches of any size.
  void Copy(BackupPages* copy) {
    for (uint32_t first = 0; first < images_.size();) {
      const auto count =
          static_cast<uint32_t>(std::min<uint64_t>(random_.Between(1, 9), images_.size() - first));
      Image batch;
      for (uint32_t i = 0; i < count; ++i) {
        batch.insert(batch.end(), images_[first + i].begin(), images_[first + i].end());
      }
      ASSERT_TRUE(copy->Add(PageNumber(first), batch).ok());
      first += count;
    }
    ASSERT_TRUE(copy->Finish().ok());
  }
  void WriteDelta() {
    ASSERT_TRUE(WriteWholeFile(&files_, DeltaPath(), {}).ok() && files_.Remove(DeltaPath()).ok());
    Result<std::unique_ptr<BackupPages>> delta = MakeBackupDelta(Space());
    ASSERT_TRUE(delta.ok());
    EXPECT_EQ((*delta)->name(), BackupDeltaName(kSpace));
    ASSERT_NO_FATAL_FAILURE(Copy(delta->get()));
  }
  BackupPages::Space Space() {
    return {&files_, "/backup",  manifest_.instance_id,
            kSpace,  kPageBytes, static_cast<uint32_t>(images_.size()),
            kSince};
  }
  static std::string DeltaPath() { return "/backup/" + BackupDeltaName(kSpace); }
  /// What the delta brings; kOk if it is whole.
  Status ReadDelta(std::map<uint32_t, Image>* found) {
    found->clear();
    Result<std::unique_ptr<BackupDeltaReader>> reader =
        BackupDeltaReader::Open(&files_, "/backup", kSpace, manifest_);
    if (!reader.ok()) return reader.status();
    BackupDeltaReader::Piece piece;
    Status status;
    while ((status = (*reader)->Next(&piece)).ok()) {
      for (uint32_t i = 0; i < piece.pages; ++i) {
        Image& image = (*found)[piece.first.value() + i];
        image.assign(kPageBytes, std::byte{0});
        if (piece.images.empty()) continue;
        const Bytes bytes = piece.images.subspan(size_t{i} * kPageBytes, kPageBytes);
        image.assign(bytes.begin(), bytes.end());
      }
    }
    return status.Is(Code::kEndOfRange) ? Status::Ok() : status;
  }
  [[nodiscard]] std::map<uint32_t, Image> Changed() const {
    std::map<uint32_t, Image> changed;
    for (uint32_t page = 0; page < images_.size(); ++page) {
      const Image& image = images_[page];
      if (IsAllZero(image) || PageLsnOf(image.data()) > kSince) changed[page] = image;
    }
    return changed;
  }

  FaultFileSystem files_{TestSeed()};
  Random random_{TestSeed()};
  std::vector<Image> images_;
  BackupManifest manifest_;
};

TEST_F(BackupPagesTest, AFileIsTheWholeTablespaceAndIsDurable) {
  ASSERT_TRUE(files_.CreateFolder("/backup").ok());
  MakeSpace(200);
  Result<std::unique_ptr<BackupPages>> file = MakeBackupFile(Space());
  ASSERT_TRUE(file.ok());
  ASSERT_NO_FATAL_FAILURE(Copy(file->get()));
  ASSERT_TRUE(files_.SyncDirectory("/backup").ok() && files_.SyncDirectory("/").ok());
  files_.Crash({.keep = CrashPlan::Keep::kNothing}, TestSeed());
  Image expected;
  for (const Image& image : images_) expected.insert(expected.end(), image.begin(), image.end());
  EXPECT_EQ(BytesOfFile(&files_, "/backup/" + SpaceFileName(kSpace)), expected);
  EXPECT_FALSE(MakeBackupFile(Space()).ok()) << "what is there is not overwritten";
}

TEST_F(BackupPagesTest, ADeltaHasWhatChangedAndWhatIsZeroNow) {
  for (int round = 0; round < 30; ++round) {
    MakeSpace(static_cast<uint32_t>(random_.Between(1, 200)));
    ASSERT_NO_FATAL_FAILURE(WriteDelta());
    std::map<uint32_t, Image> found;
    ASSERT_TRUE(ReadDelta(&found).ok());
    EXPECT_EQ(found, Changed());
  }
}

TEST_F(BackupPagesTest, ADeltaLargerThanAPieceComesInPieces) {
  MakeSpace(kBackupPieceBytes / kPageBytes * 2 + 3);
  for (Image& image : images_) {
    image[40] = std::byte{1};
    SetPageLsn(image.data(), kSince + 1);
  }
  ASSERT_NO_FATAL_FAILURE(WriteDelta());
  std::map<uint32_t, Image> found;
  ASSERT_TRUE(ReadDelta(&found).ok());
  EXPECT_EQ(found, Changed());
}

// Pages have checksums of their own: only what is around them is judged here.
TEST_F(BackupPagesTest, OneByteChangedIsRefusedOrIsOneOfAPage) {
  MakeSpace(20);
  ASSERT_NO_FATAL_FAILURE(WriteDelta());
  std::map<uint32_t, Image> whole;
  ASSERT_TRUE(ReadDelta(&whole).ok());
  std::vector<std::byte> bytes = BytesOfFile(&files_, DeltaPath());
  size_t refused = 0;
  ForEachChangedByte(bytes, &random_, [&](size_t at) {
    ASSERT_TRUE(WriteWholeFile(&files_, DeltaPath(), bytes).ok());
    std::map<uint32_t, Image> found;
    const Status status = ReadDelta(&found);
    if (!status.ok()) {
      EXPECT_TRUE(status.Is(Code::kCorrupt)) << at;
      ++refused;
      return;
    }
    ASSERT_EQ(found.size(), whole.size());
    size_t different = 0;
    for (const auto& [page, image] : found) different += image == whole[page] ? 0 : 1;
    EXPECT_EQ(different, 1u) << at;
  });
  size_t images = 0;
  for (const auto& [page, image] : whole) images += IsAllZero(image) ? 0 : kPageBytes;
  EXPECT_EQ(refused, bytes.size() - images);
}

TEST_F(BackupPagesTest, AnEndThatIsMissingOrTooMuchIsRefused) {
  MakeSpace(20);
  ASSERT_NO_FATAL_FAILURE(WriteDelta());
  std::vector<std::byte> bytes = BytesOfFile(&files_, DeltaPath());
  std::map<uint32_t, Image> found;
  for (size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_TRUE(WriteWholeFile(&files_, DeltaPath(), Bytes(bytes).first(size)).ok());
    EXPECT_TRUE(ReadDelta(&found).Is(Code::kCorrupt)) << size;
  }
  bytes.push_back(std::byte{0});
  ASSERT_TRUE(WriteWholeFile(&files_, DeltaPath(), bytes).ok());
  EXPECT_TRUE(ReadDelta(&found).Is(Code::kCorrupt));
}

TEST_F(BackupPagesTest, ADeltaOfAnotherBackupIsRefused) {
  MakeSpace(20);
  ASSERT_NO_FATAL_FAILURE(WriteDelta());
  const BackupManifest right = manifest_;
  std::map<uint32_t, Image> found;
  for (const int what : {0, 1, 2, 3}) {
    manifest_ = right;
    if (what == 0) manifest_.instance_id[15] ^= 1;
    if (what == 1) manifest_.page_size_bytes *= 2;
    if (what == 2) manifest_.spaces[kSpace].pages += 1;
    if (what == 3) manifest_.since = kSince + 1;
    EXPECT_TRUE(ReadDelta(&found).Is(Code::kCorrupt)) << what;
  }
}

}  // namespace
}  // namespace rowan
