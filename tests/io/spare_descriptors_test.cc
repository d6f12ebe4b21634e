// SPDX-License-Identifier: GPL-2.0-only
// A process that has used up its descriptors: what may take a spare one still works.
#include "io/spare_descriptors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

#include "io/file.h"
#include "io/resource_shortage.h"
#include "tests/support/temp_dir.h"

namespace rowan {
namespace {

/// Lowers the limit of this process and takes all descriptors under it.
class UsedUpDescriptors {
 public:
  UsedUpDescriptors() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit lower = before_;
    lower.rlim_cur = 100;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &lower), 0);
    for (int taken = ::open("/dev/null", O_RDONLY); taken >= 0;
         taken = ::open("/dev/null", O_RDONLY)) {
      taken_.push_back(taken);
    }
  }
  ~UsedUpDescriptors() {
    for (const int descriptor : taken_) ::close(descriptor);
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0);
  }

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

TEST(SpareDescriptors, AreUsedByThoseWhoMayWhenNoneIsLeft) {
  TempDir folder;
  FileSystem* files = PosixFileSystem();
  ASSERT_TRUE(files->Open(folder.File("first"), {.create = true}).ok());  // takes the spare ones
  UsedUpDescriptors used_up;
  EXPECT_EQ(DescriptorLimit(), 100u);
  const Status refused = files->Open(folder.File("other"), {.create = true}).status();
  EXPECT_TRUE(IsResourceShortage(refused));
  EXPECT_FALSE(IsResourceShortage(Status(Code::kIoError, "", EIO)));
  for (int round = 0; round < 20; ++round) {
    auto plain = files->Open(folder.File("log"), {.create = true, .spare = true});
    ASSERT_TRUE(plain.ok()) << round;
    auto through = files->Open(folder.File("log"), {.write_through = true, .spare = true});
    ASSERT_TRUE(through.ok()) << round;
    EXPECT_TRUE(files->SyncDirectory(folder.path()).ok()) << round;
    plain.value().reset();
    through.value().reset();
    // Whatever is free now is taken by the next who opens anything, the spare ones first.
  }
}

TEST(SpareDescriptors, AreGivenUpOneByOneAndTakenAgain) {
  SpareDescriptors spares(3);
  EXPECT_FALSE(spares.GiveUpOne());
  spares.Refill();
  EXPECT_TRUE(spares.GiveUpOne());
  EXPECT_TRUE(spares.GiveUpOne());
  spares.Refill();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(spares.GiveUpOne());
  EXPECT_FALSE(spares.GiveUpOne());
}

}  // namespace
}  // namespace rowan
