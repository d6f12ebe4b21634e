// SPDX-License-Identifier: GPL-2.0-only
#include "tests/engine/backup_copies.h"

#include <gtest/gtest.h>

#include "engine/backup_folder.h"

namespace rowan {

std::string WrongWithBackup(FaultFileSystem* files, const std::string& folder,
                            const std::string& base) {
  std::string wrong;
  const bool good = VerifyBackup(
      folder, base, {[&wrong](const std::string& sentence) { wrong += sentence + "\n"; }, {}},
      files);
  EXPECT_EQ(good, wrong.empty()) << folder;
  return wrong;
}

void RestoreChain(FaultFileSystem* files, const std::vector<std::string>& chain,
                  const std::string& folder) {
  ASSERT_EQ(WrongWithBackup(files, chain.front()), "");
  ASSERT_NO_FATAL_FAILURE(CopyFolder(files, chain.front(), folder));
  for (size_t i = 1; i < chain.size(); ++i) {
    ASSERT_EQ(WrongWithBackup(files, chain[i], folder), "") << chain[i];
    ASSERT_TRUE(ApplyIncrement(folder, chain[i], files).ok()) << chain[i];
    ASSERT_EQ(WrongWithBackup(files, folder), "") << "after " << chain[i];
  }
}

}  // namespace rowan
