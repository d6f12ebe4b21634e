// SPDX-License-Identifier: GPL-2.0-only
// A shadow shows what was done through it, as another file system would, and leaves the files below
// as they are.
#include "io/shadow_file_system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

constexpr size_t kBytesMax = 50000;

class ShadowFileSystemTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(below_.CreateFolder("/f").ok());
    Make("/f/a", std::vector<std::byte>(20000, std::byte{7}));
  }
  void Make(const std::string& path, const std::vector<std::byte>& bytes) {
    Result<std::unique_ptr<File>> file = below_.Open(path, {.create = true});
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->Write(0, bytes).ok());
  }
  static std::vector<std::byte> All(FileSystem* files, const std::string& path) {
    Result<std::unique_ptr<File>> file = files->Open(path, {});
    EXPECT_TRUE(file.ok());
    std::vector<std::byte> bytes((*file)->Size().value());
    EXPECT_TRUE((*file)->Read(0, bytes).ok());
    return bytes;
  }

  FaultFileSystem below_{TestSeed()};
  ShadowFileSystem shadow_{&below_};
};

TEST_F(ShadowFileSystemTest, BytesAreAsInAFileOfItsOwn) {
  Random random(TestSeed());
  std::vector<std::byte> model(20000, std::byte{7});
  Result<std::unique_ptr<File>> file = shadow_.Open("/f/a", {});
  ASSERT_TRUE(file.ok());
  for (int step = 0; step < 2000; ++step) {
    const uint64_t offset = random.Below(kBytesMax);
    const size_t size = 1 + random.Below(9000);
    if (random.Below(20) == 0) {
      model.resize(offset);
      ASSERT_TRUE((*file)->Truncate(offset).ok());
    } else if (random.Below(2) == 0) {
      const auto byte = static_cast<std::byte>(random.Below(3));
      if (model.size() < offset + size) model.resize(offset + size);
      std::fill_n(model.begin() + static_cast<ptrdiff_t>(offset), size, byte);
      ASSERT_TRUE((*file)->Write(offset, std::vector<std::byte>(size, byte)).ok());
    } else {
      std::vector<std::byte> read(size);
      const Status status = (*file)->Read(offset, read);
      ASSERT_EQ(status.ok(), offset + size <= model.size());
      if (!status.ok()) continue;
      ASSERT_TRUE(
          std::equal(read.begin(), read.end(), model.begin() + static_cast<ptrdiff_t>(offset)));
    }
  }
  EXPECT_TRUE(All(&shadow_, "/f/a") == model);
  EXPECT_TRUE(All(&below_, "/f/a") == std::vector<std::byte>(20000, std::byte{7}));
}

TEST_F(ShadowFileSystemTest, NamesComeAndGoInTheShadowOnly) {
  ASSERT_TRUE(shadow_.Open("/f/b", {.create = true}).ok());
  ASSERT_TRUE(shadow_.Rename("/f/a", "/f/c").ok());
  EXPECT_TRUE(shadow_.Open("/f/a", {}).status().Is(Code::kNotFound));
  EXPECT_EQ(All(&shadow_, "/f/c").size(), 20000U);
  std::vector<std::string> names = shadow_.List("/f").value();
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"b", "c"}));
  ASSERT_TRUE(shadow_.Remove("/f/c").ok());
  EXPECT_FALSE(shadow_.Exists("/f/c").value());
  EXPECT_TRUE(shadow_.Remove("/f/c").Is(Code::kNotFound));
  EXPECT_EQ(below_.List("/f").value(), std::vector<std::string>{"a"});
  EXPECT_TRUE(shadow_.CreateFolder("/g").Is(Code::kReadOnly));
}

TEST_F(ShadowFileSystemTest, TheInstanceBelowIsLocked) {
  Result<std::unique_ptr<File>> own = below_.Open("/f/a", {});
  ASSERT_TRUE((*own)->Lock().ok());
  Result<std::unique_ptr<File>> file = shadow_.Open("/f/a", {});
  EXPECT_TRUE((*file)->Lock().Is(Code::kBusy));
  own->reset();
  EXPECT_TRUE((*file)->Lock().ok());
}

}  // namespace
}  // namespace rowan
