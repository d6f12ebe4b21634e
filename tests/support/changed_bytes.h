// SPDX-License-Identifier: GPL-2.0-only
// Bytes for tests of formats: random ones, and all that differ from given ones in a single byte.
// Thread safety: plain functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/random.h"
#include "io/file.h"

namespace rowan {

[[nodiscard]] inline std::vector<std::byte> RandomBytes(Random* random, size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random->Next());
  return bytes;
}

/// Calls `judge` for each byte while it is another one, chosen by `random`.
inline void ForEachChangedByte(MutableBytes bytes, Random* random,
                               FunctionRef<void(size_t at)> judge) {
  for (size_t at = 0; at < bytes.size(); ++at) {
    const std::byte before = bytes[at];
    bytes[at] ^= static_cast<std::byte>(random->Between(1, 255));
    judge(at);
    bytes[at] = before;
  }
}

/// The whole of a file; empty if it cannot be read.
[[nodiscard]] inline std::vector<std::byte> BytesOfFile(FileSystem* files,
                                                        const std::string& path) {
  std::vector<std::byte> bytes;
  const auto file = files->Open(path, {.read_only = true});
  if (!file.ok()) return bytes;
  const Result<uint64_t> size = file.value()->Size();
  if (!size.ok()) return bytes;
  bytes.resize(size.value());
  if (!file.value()->Read(0, bytes).ok()) bytes.clear();
  return bytes;
}

/// The file has these bytes and no others.
[[nodiscard]] inline Status WriteWholeFile(FileSystem* files, const std::string& path,
                                           Bytes bytes) {
  const auto file = files->Open(path, {.create = true});
  if (!file.ok()) return file.status();
  const Status cut = file.value()->Truncate(0);
  if (!cut.ok()) return cut;
  return file.value()->Write(0, bytes);
}

}  // namespace rowan
