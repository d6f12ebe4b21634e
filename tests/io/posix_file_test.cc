// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include "io/aligned_buffer.h"
#include "io/file.h"
#include "io/linked_write.h"
#include "tests/support/forwarding_file.h"
#include "tests/support/temp_dir.h"

namespace rowan {
namespace {

class PosixFileTest : public ::testing::Test {
 protected:
  std::unique_ptr<File> Open(const std::string& name, FileOptions options) {
    Result<std::unique_ptr<File>> file = files_->Open(dir_.File(name), options);
    EXPECT_TRUE(file.ok()) << file.status().message() << " " << file.status().detail();
    return file.ok() ? std::move(file).value() : nullptr;
  }

  TempDir dir_;
  FileSystem* files_ = PosixFileSystem();
};

TEST_F(PosixFileTest, WritesAreReadBackAndExtendTheFile) {
  auto file = Open("a", {.create = true});
  ASSERT_TRUE(file->Write(10, AsBytes("hello")).ok());
  std::vector<std::byte> buffer(15);
  ASSERT_TRUE(file->Read(0, buffer).ok());
  EXPECT_EQ(AsText(Bytes(buffer).subspan(10)), "hello");
  EXPECT_EQ(buffer[9], std::byte{0});
  EXPECT_EQ(file->Size().value(), 15u);
  EXPECT_TRUE(file->Sync(SyncMethod::kFsync).ok());
  EXPECT_TRUE(file->Sync(SyncMethod::kFdatasync).ok());
  EXPECT_GE(file->descriptor(), 0);
}

TEST_F(PosixFileTest, ALockIsSeenByEveryOtherHandleAndEndsWithItsOwn) {
  auto first = Open("a", {.create = true});
  ASSERT_TRUE(first->Lock().ok());
  EXPECT_TRUE(first->Lock().ok());
  auto second = Open("a", {});
  EXPECT_TRUE(second->Lock().Is(Code::kBusy));
  Open("a", {}).reset();  // closing yet another handle leaves the lock alone
  EXPECT_TRUE(second->Lock().Is(Code::kBusy));
  first.reset();
  EXPECT_TRUE(second->Lock().ok());
}

TEST_F(PosixFileTest, ALockEndsWithItsProcess) {
  auto file = Open("a", {.create = true});
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    // A handle of its own: that of the parent would be shared.
    auto own = files_->Open(dir_.File("a"), {});
    const char answer = own.ok() && own.value()->Lock().ok() ? 'y' : 'n';
    (void)!::write(ready[1], &answer, 1);
    for (;;) ::pause();
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_TRUE(file->Lock().Is(Code::kBusy));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(file->Lock().ok());
  ::close(ready[0]);
  ::close(ready[1]);
}

/// A file that counts the syncs asked of it.
class CountingFile final : public ForwardingFile {
 public:
  using ForwardingFile::ForwardingFile;
  Status Sync(SyncMethod method) override {
    ++syncs;
    return ForwardingFile::Sync(method);
  }

  int syncs = 0;
};

TEST_F(PosixFileTest, ALinkedWriteNeedsNoSyncOfItsOwn) {
  std::string refusal;
  auto writer = LinkedWriter::Make(PosixFileSystem(), &refusal);
  if (!writer.ok()) GTEST_SKIP() << refusal;
  CountingFile file(Open("a", {.create = true}));
  ASSERT_TRUE((*writer)->WriteAndSync(&file, 0, AsBytes("whole")).ok());
  EXPECT_EQ(file.syncs, 0);
  std::vector<std::byte> buffer(5);
  ASSERT_TRUE(file.Read(0, buffer).ok());
  EXPECT_EQ(AsText(buffer), "whole");
}

TEST_F(PosixFileTest, ReadingBeyondTheEndIsAnErrorWithDetailZero) {
  auto file = Open("a", {.create = true});
  ASSERT_TRUE(file->Write(0, AsBytes("abc")).ok());
  std::vector<std::byte> buffer(4);
  const Status status = file->Read(0, buffer);
  EXPECT_TRUE(status.Is(Code::kIoError));
  EXPECT_EQ(status.detail(), 0u);
}

TEST_F(PosixFileTest, OpenTellsMissingFromExisting) {
  EXPECT_TRUE(files_->Open(dir_.File("a"), {}).status().Is(Code::kNotFound));
  Open("a", {.create = true, .exclusive = true});
  EXPECT_TRUE(files_->Open(dir_.File("a"), {.create = true, .exclusive = true})
                  .status()
                  .Is(Code::kInvalidArgument));
  EXPECT_TRUE(files_->Open(dir_.File("no/such"), {.create = true}).status().Is(Code::kIoError));
}

TEST_F(PosixFileTest, WritingAReadOnlyFileFails) {
  Open("a", {.create = true});
  auto file = Open("a", {.read_only = true});
  const Status status = file->Write(0, AsBytes("x"));
  EXPECT_TRUE(status.Is(Code::kIoError));
  EXPECT_EQ(status.detail(), static_cast<uint32_t>(EBADF));
}

TEST_F(PosixFileTest, AllocateKeepsDataAndReadsAsZero) {
  auto file = Open("a", {.create = true});
  ASSERT_TRUE(file->Write(0, AsBytes("abc")).ok());
  ASSERT_TRUE(file->Allocate(0, 100000).ok());
  EXPECT_EQ(file->Size().value(), 100000u);
  std::vector<std::byte> buffer(100000);
  ASSERT_TRUE(file->Read(0, buffer).ok());
  EXPECT_EQ(AsText(Bytes(buffer).first(3)), "abc");
  EXPECT_TRUE(IsAllZero(Bytes(buffer).subspan(3)));
  ASSERT_TRUE(file->Truncate(2).ok());
  EXPECT_EQ(file->Size().value(), 2u);
  ASSERT_TRUE(file->Truncate(3).ok());
  ASSERT_TRUE(file->Read(0, MutableBytes(buffer).first(3)).ok());
  EXPECT_EQ(buffer[2], std::byte{0});
}

TEST_F(PosixFileTest, DirectWriteThroughFilesTakeAlignedBuffers) {
  Result<std::unique_ptr<File>> opened =
      files_->Open(dir_.File("a"), {.create = true, .direct = true, .write_through = true});
  if (!opened.ok() && opened.status().detail() == EINVAL) GTEST_SKIP() << "no direct I/O here";
  ASSERT_TRUE(opened.ok());
  AlignedBuffer page(2 * kDirectAlignment);
  std::fill_n(page.data(), page.size(), std::byte{0x5A});
  ASSERT_TRUE(opened.value()->Write(kDirectAlignment, page.span()).ok());
  AlignedBuffer back(3 * kDirectAlignment);
  ASSERT_TRUE(opened.value()->Read(0, back.span()).ok());
  EXPECT_EQ(back.data()[0], std::byte{0});
  EXPECT_EQ(back.data()[kDirectAlignment], std::byte{0x5A});
}

TEST_F(PosixFileTest, NamesAreListedRenamedAndRemoved) {
  const std::string folder = dir_.File("sub");
  ASSERT_TRUE(files_->CreateFolder(folder).ok());
  ASSERT_TRUE(files_->CreateFolder(folder).ok());
  Open("sub/a", {.create = true});
  Open("sub/b", {.create = true});
  ASSERT_TRUE(files_->CreateFolder(folder + "/inner").ok());
  ASSERT_TRUE(files_->Rename(folder + "/a", folder + "/c").ok());
  ASSERT_TRUE(files_->SyncDirectory(folder).ok());
  std::vector<std::string> names = files_->List(folder).value();
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"b", "c"}));
  EXPECT_TRUE(files_->Exists(folder + "/c").value());
  EXPECT_FALSE(files_->Exists(folder + "/a").value());
  EXPECT_TRUE(files_->Remove(folder + "/c").ok());
  EXPECT_TRUE(files_->Remove(folder + "/c").Is(Code::kNotFound));
  EXPECT_TRUE(files_->Rename(folder + "/c", folder + "/d").Is(Code::kNotFound));
  EXPECT_TRUE(files_->List(dir_.File("none")).status().Is(Code::kNotFound));
}

TEST_F(PosixFileTest, AtomicWriteProbeAnswersOrSaysNone) {
  Open("a", {.create = true});
  const Result<uint32_t> unit = files_->AtomicWriteUnitMax(dir_.File("a"));
  ASSERT_TRUE(unit.ok());
  EXPECT_EQ(unit.value() & (unit.value() - 1), 0u);  // 0 or a power of two
  EXPECT_TRUE(files_->AtomicWriteUnitMax(dir_.File("none")).status().Is(Code::kNotFound));
}

TEST(AlignedBufferTest, IsAlignedZeroedAndMovable) {
  AlignedBuffer buffer(5000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % kDirectAlignment, 0u);
  EXPECT_EQ(buffer.size(), 5000u);
  for (const std::byte byte : buffer.span()) ASSERT_EQ(byte, std::byte{0});
  AlignedBuffer other = std::move(buffer);
  EXPECT_EQ(other.size(), 5000u);
  EXPECT_EQ(buffer.size(), 0u);  // NOLINT: moved from on purpose
  EXPECT_EQ(AlignedBuffer().size(), 0u);
  EXPECT_NE(AlignedBuffer(0).data(), nullptr);
}

}  // namespace
}  // namespace rowan
