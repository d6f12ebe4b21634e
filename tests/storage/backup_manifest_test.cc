// SPDX-License-Identifier: GPL-2.0-only
// Manifests with random contents: come back, are refused with any one byte changed or missing, and
// are replaced whole or not at all. Which backup goes onto which.
#include "storage/backup_manifest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/crc32c.h"
#include "base/format.h"
#include "tests/support/changed_bytes.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/test_settings.h"

namespace rowan::backup_manifest_test {
namespace {

const std::string kFolder = "/backup";
const std::string kPath = kFolder + "/" + kBackupManifestName;

BackupManifest RandomManifest(Random* random) {
  BackupManifest manifest;
  for (uint8_t& byte : manifest.instance_id) byte = static_cast<uint8_t>(random->Next());
  manifest.page_size_bytes = static_cast<uint32_t>(random->Next());
  manifest.since = Lsn(random->OneIn(2) ? 0 : random->Next());
  manifest.start = Lsn(random->Next());
  manifest.end = Lsn(random->Next());
  for (uint64_t i = random->Below(4); i > 0; --i) AddRun(&manifest.history, Lsn(random->Next()));
  const auto number = [random] { return static_cast<uint32_t>(random->Next()); };
  for (uint64_t i = random->Below(5); i > 0; --i) {
    manifest.spaces[SpaceId(number())] = {number(), number()};
    manifest.files[Format("space_{}.delta", number())] = {random->Next(), number()};
    manifest.left_out[SpaceId(number())] = Format("shop/order{}", number());
  }
  return manifest;
}

/// Everything in it, in one string.
std::string TextOf(const BackupManifest& manifest) {
  const auto id_of = [](const InstanceId& id) {
    return std::string(reinterpret_cast<const char*>(id.data()), id.size());
  };
  std::string text = id_of(manifest.instance_id);
  text += Format("|{}|{}|{}|{}|{}", manifest.version, manifest.page_size_bytes,
                 manifest.since.value(), manifest.start.value(), manifest.end.value());
  for (const LogRun& run : manifest.history)
    text += id_of(run.id) + Format("{}", run.begin.value());
  for (const auto& [space, about] : manifest.spaces) {
    text += Format("|{}:{}:{}", space.value(), about.pages, about.crc);
  }
  for (const auto& [name, file] : manifest.files)
    text += Format("|{}:{}:{}", name, file.bytes, file.crc);
  for (const auto& [space, name] : manifest.left_out) text += Format("|{}:{}", space.value(), name);
  return text;
}

class BackupManifestTest : public testing::Test {
 protected:
  BackupManifestTest() {
    EXPECT_TRUE(files_.CreateFolder(kFolder).ok() && files_.SyncDirectory("/").ok());
  }
  Result<BackupManifest> Read() { return ReadBackupManifest(&files_, kFolder); }
  Status Write(const BackupManifest& manifest) {
    return WriteBackupManifest(&files_, kFolder, manifest);
  }

  FaultFileSystem files_{TestSeed()};
  Random random_{TestSeed()};
};

TEST_F(BackupManifestTest, AnyContentsComeBack) {
  EXPECT_TRUE(Read().status().Is(Code::kNotFound));
  for (int round = 0; round < 50; ++round) {
    const BackupManifest manifest = RandomManifest(&random_);
    ASSERT_TRUE(Write(manifest).ok());
    const Result<BackupManifest> read = Read();
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(TextOf(read.value()), TextOf(manifest));
  }
}

TEST_F(BackupManifestTest, OneByteChangedOrAnEndMissingIsRefused) {
  ASSERT_TRUE(Write(RandomManifest(&random_)).ok());
  std::vector<std::byte> bytes = BytesOfFile(&files_, kPath);
  ASSERT_FALSE(bytes.empty());
  ForEachChangedByte(bytes, &random_, [&](size_t at) {
    ASSERT_TRUE(WriteWholeFile(&files_, kPath, bytes).ok());
    const Status status = Read().status();
    EXPECT_TRUE(status.Is(Code::kCorrupt) || status.Is(Code::kNewerFormat)) << at;
  });
  for (size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_TRUE(WriteWholeFile(&files_, kPath, Bytes(bytes).first(size)).ok());
    EXPECT_TRUE(Read().status().Is(Code::kCorrupt)) << size;
  }
}

TEST_F(BackupManifestTest, ADamagedVersionDoesNotMeanThatThereIsNoChecksum) {
  ASSERT_TRUE(Write(RandomManifest(&random_)).ok());
  std::vector<std::byte> bytes = BytesOfFile(&files_, kPath);
  const size_t version = std::string("rowan-backup ").size();
  ASSERT_EQ(bytes[version], std::byte{'2'});
  bytes[version] = std::byte{'1'};
  ASSERT_TRUE(WriteWholeFile(&files_, kPath, bytes).ok());
  EXPECT_TRUE(Read().status().Is(Code::kCorrupt));
}

TEST_F(BackupManifestTest, ACrashLeavesTheOldOneOrTheNewOne) {
  for (uint64_t changes = 0; changes < 8; ++changes) {
    SCOPED_TRACE(files_.Describe());
    const BackupManifest before = RandomManifest(&random_);
    const BackupManifest after = RandomManifest(&random_);
    ASSERT_TRUE(Write(before).ok());
    files_.PowerOffAfter(changes);
    const bool written = Write(after).ok();
    files_.Crash(random_.Next());
    const Result<BackupManifest> read = Read();
    ASSERT_TRUE(read.ok()) << read.status().message();
    const std::string text = TextOf(read.value());
    EXPECT_TRUE(text == TextOf(after) || (!written && text == TextOf(before)));
  }
}

TEST_F(BackupManifestTest, LinesOfLaterBuildsAreSkippedAndTheirVersionsRefused) {
  const auto with_checksum = [](std::string text) {
    return text + Format("checksum {:08x}\ncomplete\n", Crc32c(AsBytes(text)));
  };
  const std::string known = "page_size 4096\nstart 7\n";
  const std::string unknown = "colour blue green\nspace 5 3 000000ff\n";
  ASSERT_TRUE(
      WriteWholeFile(&files_, kPath, AsBytes(with_checksum("rowan-backup 2\n" + known + unknown)))
          .ok());
  Result<BackupManifest> read = Read();
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().start, Lsn(7));
  EXPECT_EQ(read.value().spaces.at(SpaceId(5)), (BackupManifest::Space{3, 255}));
  ASSERT_TRUE(
      WriteWholeFile(&files_, kPath, AsBytes(with_checksum("rowan-backup 4\n" + known))).ok());
  EXPECT_TRUE(Read().status().Is(Code::kNewerFormat));
  // The first version had no checksums.
  const std::string first = "rowan-backup 1\n" + known + "space 5 3\ncomplete\n";
  ASSERT_TRUE(WriteWholeFile(&files_, kPath, AsBytes(first)).ok());
  read = Read();
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().spaces.at(SpaceId(5)), (BackupManifest::Space{3, 0}));
}

TEST_F(BackupManifestTest, ATableNameThatWouldEndItsLineIsKeptReadable) {
  BackupManifest manifest = RandomManifest(&random_);
  manifest.left_out[SpaceId(77)] = "shop/my\norders of today";
  ASSERT_TRUE(Write(manifest).ok());
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(Read().value().left_out.at(SpaceId(77)), "shop/my?orders?of?today");
}

TEST_F(BackupManifestTest, SaysWhyABackupDoesNotGoOntoAnother) {
  BackupManifest full;
  full.page_size_bytes = 4096;
  full.start = Lsn(100);
  full.end = Lsn(200);
  AddRun(&full.history, Lsn(0));
  BackupManifest next = full;
  next.since = Lsn(100);
  next.start = Lsn(300);
  next.end = Lsn(400);
  EXPECT_EQ(WhyNotOnto(next, full), "");
  struct Case {
    const char* why;
    void (*change)(BackupManifest*);
  };
  for (const Case& one : {
           Case{"different instances", [](BackupManifest* m) { m->instance_id[0] ^= 1; }},
           Case{"differ in size", [](BackupManifest* m) { m->page_size_bytes = 8192; }},
           Case{"no incremental backup", [](BackupManifest* m) { m->since = kNoLsn; }},
           Case{"different histories", [](BackupManifest* m) { m->history.front().id[0] ^= 1; }},
           Case{"the backup between them", [](BackupManifest* m) { m->since = Lsn(101); }},
           Case{"the backup between them", [](BackupManifest* m) { m->start = Lsn(99); }},
       }) {
    BackupManifest changed = next;
    one.change(&changed);
    EXPECT_NE(WhyNotOnto(changed, full).find(one.why), std::string::npos)
        << one.why << ": " << WhyNotOnto(changed, full);
  }
}

TEST_F(BackupManifestTest, AChecksumCoversAllPiecesOfAFileAndCanBeInterrupted) {
  for (const size_t size : {size_t{0}, size_t{1}, kBackupPieceBytes, kBackupPieceBytes * 2 + 5}) {
    const std::vector<std::byte> bytes = RandomBytes(&random_, size);
    ASSERT_TRUE(WriteWholeFile(&files_, kPath, bytes).ok());
    const Result<BackupManifest::SmallFile> found = ChecksumFile(&files_, kPath);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found.value().bytes, size);
    EXPECT_EQ(found.value().crc, Crc32c(bytes));
  }
  int pieces = 0;
  const auto interrupted = [&pieces] { return ++pieces == 3; };
  EXPECT_TRUE(ChecksumFile(&files_, kPath, interrupted).status().Is(Code::kInterrupted));
}

}  // namespace
}  // namespace rowan::backup_manifest_test
