// SPDX-License-Identifier: GPL-2.0-only
#include "tests/engine/instance_image.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "base/crc32c.h"
#include "buffer/page/page_header.h"

namespace rowan {
namespace {

constexpr size_t kBlockBytes = 4096;
constexpr size_t kBlockCrcAt = 12;

std::vector<std::byte> FromHex(const std::string& text) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

void Store(FaultFileSystem* files, const std::string& path, const std::vector<std::byte>& bytes) {
  auto file = files->Open(path, {.create = true});
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file.value()->Write(0, bytes).ok());
  ASSERT_TRUE(file.value()->Sync(SyncMethod::kFsync).ok());
}

}  // namespace

void LoadInstance(FaultFileSystem* files, const std::string& folder, const std::string& name) {
  std::ifstream stream(std::string(ROWAN_TEST_DATA) + "/" + name);
  ASSERT_TRUE(stream.good()) << name;
  ASSERT_TRUE(files->CreateFolder(folder).ok());
  std::string path;
  std::vector<std::byte> contents;
  const auto finish = [&] {
    if (!path.empty()) Store(files, path, contents);
  };
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string first;
    std::string second;
    words >> first >> second;
    if (first == "#") continue;
    if (first == "file") {
      finish();
      path = folder + "/" + second;
      size_t size_bytes = 0;
      words >> size_bytes;
      contents.assign(size_bytes, std::byte{0});
      continue;
    }
    const size_t offset = std::stoull(first, nullptr, 16);
    const std::vector<std::byte> bytes = FromHex(second);
    ASSERT_LE(offset + bytes.size(), contents.size()) << line;
    std::copy(bytes.begin(), bytes.end(), contents.begin() + static_cast<ptrdiff_t>(offset));
  }
  finish();
  ASSERT_TRUE(files->SyncDirectory(folder).ok());
  ASSERT_TRUE(files->SyncDirectory("/").ok());  // the folder's own name
}

void ChangeBytes(FaultFileSystem* files, const std::string& path, uint64_t offset,
                 size_t size_bytes, const std::function<void(MutableBytes)>& change) {
  auto file = files->Open(path, {});
  ASSERT_TRUE(file.ok()) << path;
  std::vector<std::byte> bytes(size_bytes);
  ASSERT_TRUE(file.value()->Read(offset, bytes).ok());
  change(bytes);
  ASSERT_TRUE(file.value()->Write(offset, bytes).ok());
  ASSERT_TRUE(file.value()->Sync(SyncMethod::kFsync).ok());
}

void ChangeBlock(FaultFileSystem* files, const std::string& path, uint64_t offset,
                 const std::function<void(MutableBytes)>& change) {
  ChangeBytes(files, path, offset, kBlockBytes, [&](MutableBytes block) {
    change(block);
    StoreLe<uint32_t>(block.data() + kBlockCrcAt, 0);
    StoreLe<uint32_t>(block.data() + kBlockCrcAt, Crc32c(block));
  });
}

void ChangeSpaceHeader(FaultFileSystem* files, const std::string& path, size_t page_size_bytes,
                       const std::function<void(MutableBytes)>& change) {
  ChangeBytes(files, path, 0, page_size_bytes, [&](MutableBytes page) {
    change(page);
    SealPage(page);
  });
}

}  // namespace rowan
