// SPDX-License-Identifier: GPL-2.0-only
#include "tests/engine/backup_copies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <thread>

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

CloneFunction CloneInPieces(FileSystem* files) {
  return [files](const std::string& source, const std::string& target) {
    Result<std::unique_ptr<File>> from = files->Open(source, {.read_only = true});
    if (!from.ok()) return from.status();
    Result<std::unique_ptr<File>> to = files->Open(target, {.create = true, .exclusive = true});
    if (!to.ok()) return to.status();
    const Result<uint64_t> size = (*from)->Size();
    if (!size.ok()) return size.status();
    std::array<std::byte, 512> sector;
    Status status = (*to)->Truncate(size.value());
    for (uint64_t at = 0; status.ok() && at < size.value(); at += sector.size()) {
      std::this_thread::yield();
      status = (*from)->Read(at, sector);
      if (status.ok() && !IsAllZero(sector)) status = (*to)->Write(at, sector);
    }
    return status;
  };
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
