// SPDX-License-Identifier: GPL-2.0-only
// SortLane: what one thread adds to a sort (engine/sort/entry_sorter.h). Entries collect in memory;
// whenever the memory is full they are sorted and written out as one run of a temporary file. What
// fits in memory is never written.
//
// The file is scratch: never synced, removed by the destructor. Thread safety: one thread at a
// time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "io/file.h"
#include "mvcc/row/index_entry.h"

namespace rowan {

/// On its own cache line: neighbours belong to other threads.
class alignas(64) SortLane {
 public:
  /// A sorted part of the file.
  struct Run {
    uint64_t begin = 0;
    uint64_t end = 0;
  };

  SortLane(FileSystem* files, std::string path, size_t memory_bytes);
  ~SortLane();
  SortLane(const SortLane&) = delete;
  SortLane& operator=(const SortLane&) = delete;

  /// kNoSpace or kIoError when a run cannot be written.
  Status Add(const IndexEntry& entry);
  /// After the last Add: all is sorted, either in memory or in runs. Errors as for Add. No effect
  /// the second time.
  Status Finish();
  [[nodiscard]] uint64_t entries() const { return entries_; }  ///< added so far

  // --- after Finish ---
  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }
  [[nodiscard]] File* file() const { return file_.get(); }
  [[nodiscard]] size_t memory_bytes() const { return memory_bytes_; }
  /// Entries in memory, in order: none if there are runs.
  [[nodiscard]] size_t entries_in_memory() const { return refs_.size(); }
  [[nodiscard]] IndexEntry EntryInMemory(size_t i) const { return At(refs_[i].offset); }
  [[nodiscard]] uint64_t HeadInMemory(size_t i) const { return refs_[i].head; }

  // --- an entry in memory and in the file: header, key, payload ---
  /// u32 key bytes | u32 payload bytes | u32 unique prefix bytes.
  static constexpr size_t kHeaderBytes = 12;
  [[nodiscard]] static IndexEntry Parse(const std::byte* stored);
  [[nodiscard]] static size_t StoredBytes(const IndexEntry& entry) {
    return kHeaderBytes + entry.key.size() + entry.payload.size();
  }
  /// First bytes of a key as a number, so that most comparisons look at nothing else.
  [[nodiscard]] static uint64_t HeadOf(Bytes key);

 private:
  struct Ref {
    uint64_t head;
    uint64_t offset;
  };

  [[nodiscard]] IndexEntry At(uint64_t offset) const { return Parse(arena_.data() + offset); }
  void SortRefs();
  Status WriteRun();
  Status OpenFile();

  FileSystem* const files_;
  const std::string path_;
  const size_t memory_bytes_;
  std::vector<std::byte> arena_;  ///< entries one after another
  std::vector<Ref> refs_;
  uint64_t entries_ = 0;
  bool finished_ = false;
  std::unique_ptr<File> file_;
  uint64_t file_bytes_ = 0;
  std::vector<Run> runs_;
};

}  // namespace rowan
