// SPDX-License-Identifier: GPL-2.0-only
// SampleInstance: the files of a small instance that lived and died, as samples for the targets.
// Thread safety: made once; constant afterwards.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "io/file.h"
#include "tests/fuzz/fuzz_target.h"

namespace rowan {

/// Pages of the sample, and of the pages that targets work on.
inline constexpr uint32_t kFuzzPageBytes = 4096;

class SampleInstance {
 public:
  static const SampleInstance& Get();

  /// Contents of the files whose name contains `part`.
  [[nodiscard]] std::vector<FuzzInput> Files(const std::string& part) const;
  /// Pages of a type from all table files, at most `limit`.
  [[nodiscard]] std::vector<FuzzInput> Pages(uint8_t type, size_t limit) const;
  /// Log groups, at most `limit`, spread over the whole log.
  [[nodiscard]] std::vector<FuzzInput> Groups(size_t limit) const;
  /// What FuzzRedo takes: pages, each followed by a log group of one record that belongs to it; at
  /// most `limit` of each record type.
  [[nodiscard]] std::vector<FuzzInput> Changes(size_t limit) const;

 private:
  SampleInstance();
  void CopyFiles(FileSystem* source, const std::string& folder);
  void CopyGroups(FileSystem* source, const std::string& folder);
  /// As it is in its file; zeros if it is not there.
  [[nodiscard]] FuzzInput PageAtHome(PageId id) const;

  struct NamedFile {
    std::string name;
    FuzzInput bytes;
  };
  std::vector<NamedFile> files_;
  std::vector<FuzzInput> groups_;
};

}  // namespace rowan
