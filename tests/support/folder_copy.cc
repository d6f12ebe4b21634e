// SPDX-License-Identifier: GPL-2.0-only
#include "tests/support/folder_copy.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace rowan {
namespace {

void CopyOne(FaultFileSystem* files, const std::string& from, const std::string& to) {
  Result<std::unique_ptr<File>> source = files->Open(from, {.read_only = true});
  Result<std::unique_ptr<File>> target = files->Open(to, {.create = true, .exclusive = true});
  ASSERT_TRUE(source.ok() && target.ok()) << from << " " << to;
  const Result<uint64_t> size = source.value()->Size();
  ASSERT_TRUE(size.ok());
  std::vector<std::byte> bytes(size.value());
  ASSERT_TRUE(source.value()->Read(0, bytes).ok()) << from;
  ASSERT_TRUE(target.value()->Write(0, bytes).ok());
  ASSERT_TRUE(target.value()->Sync(SyncMethod::kFsync).ok());
}

}  // namespace

void CopyFolder(FaultFileSystem* files, const std::string& from, const std::string& to) {
  const Result<std::vector<std::string>> names = files->List(from);
  ASSERT_TRUE(names.ok() && files->CreateFolder(to).ok());
  for (const std::string& name : names.value()) {
    ASSERT_NO_FATAL_FAILURE(CopyOne(files, from + "/" + name, to + "/" + name));
  }
  ASSERT_TRUE(files->SyncDirectory(to).ok() && files->SyncDirectory("/").ok());
}

void RemoveFolder(FaultFileSystem* files, const std::string& folder) {
  const Result<std::vector<std::string>> names = files->List(folder);
  ASSERT_TRUE(names.ok());
  for (const std::string& name : names.value()) {
    ASSERT_TRUE(files->Remove(folder + "/" + name).ok());
  }
}

}  // namespace rowan
