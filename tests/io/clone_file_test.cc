// SPDX-License-Identifier: GPL-2.0-only
// Whether the file system can clone is its own business; what is left behind is the same.
#include "io/clone_file.h"

#include <gtest/gtest.h>

#include <array>

#include "io/file.h"
#include "tests/support/temp_dir.h"

namespace rowan {
namespace {

TEST(CloneFileTest, HasTheContentsOrIsNotThere) {
  const TempDir dir;
  FileSystem* const files = PosixFileSystem();
  auto source = files->Open(dir.File("source"), {.create = true});
  ASSERT_TRUE(source.ok());
  ASSERT_TRUE((*source)->Write(4096, AsBytes("hello")).ok());
  const Status status = CloneFile(dir.File("source"), dir.File("target"));
  ASSERT_TRUE(status.ok() || status.Is(Code::kUnsupported)) << status.message();
  EXPECT_EQ(files->Exists(dir.File("target")).value(), status.ok());
  if (!status.ok()) GTEST_SKIP() << status.message();
  ASSERT_TRUE((*source)->Write(4096, AsBytes("later")).ok());
  auto target = files->Open(dir.File("target"), {});
  ASSERT_TRUE(target.ok());
  std::array<std::byte, 5> found;
  ASSERT_TRUE((*target)->Read(4096, found).ok());
  EXPECT_EQ(AsText(found), "hello");
}

TEST(CloneFileTest, NeedsASourceAndReplacesNothing) {
  const TempDir dir;
  EXPECT_TRUE(CloneFile(dir.File("none"), dir.File("target")).Is(Code::kNotFound));
  EXPECT_FALSE(PosixFileSystem()->Exists(dir.File("target")).value());
  for (const char* name : {"source", "target"}) {
    ASSERT_TRUE(PosixFileSystem()->Open(dir.File(name), {.create = true}).ok());
  }
  EXPECT_TRUE(CloneFile(dir.File("source"), dir.File("target")).Is(Code::kInvalidArgument));
  EXPECT_TRUE(PosixFileSystem()->Exists(dir.File("target")).value());
}

}  // namespace
}  // namespace rowan
