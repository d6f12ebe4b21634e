// SPDX-License-Identifier: GPL-2.0-only
// The journal of page LSNs: files `rowan.page_lsns.<number>`, to which each checkpoint appends one
// block with the pages written since the last one. Blocks start at multiples of 512 bytes, so a
// torn or rotten one loses only itself. docs/formats/page_lsns.md has the byte table. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "io/file.h"

namespace rowan {

/// A page's image with this LSN is durable at home.
struct PageLsnEntry {
  uint64_t page = 0;  ///< PageId::Packed
  Lsn lsn;
};

class PageLsnJournal {
 public:
  /// A new, empty file.
  static Result<std::unique_ptr<PageLsnJournal>> Create(FileSystem* file_system,
                                                        const std::string& path, uint32_t instance);
  /// Writes one block and makes it durable. kNoSpace: nothing was written.
  Status Append(const std::vector<PageLsnEntry>& versions);
  /// Bytes of the blocks so far.
  [[nodiscard]] uint64_t bytes() const { return end_; }

  /// Appends the contents of the file's good blocks to `versions`, unordered. What is damaged,
  /// unreadable or of another instance is logged and skipped.
  static Status Read(FileSystem* file_system, const std::string& path, uint32_t instance,
                     std::vector<PageLsnEntry>* versions);

 private:
  PageLsnJournal(std::unique_ptr<File> file, uint32_t instance)
      : file_(std::move(file)), instance_(instance) {}

  const std::unique_ptr<File> file_;
  const uint32_t instance_;
  uint64_t end_ = 0;
  uint64_t allocated_ = 0;
};

}  // namespace rowan
