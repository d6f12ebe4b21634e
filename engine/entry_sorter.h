// SPDX-License-Identifier: GPL-2.0-only
// EntrySorter: external merge sort of index entries by key, for building an index bottom-up.
// Entries collect in memory; whenever the memory is full they are sorted and written out as one run
// of a temporary file, and reading merges the runs. A sort that fits in memory writes nothing.
//
// The file is scratch: never synced, removed by the destructor, and by RemoveLeftovers after a
// crash. Memory: about `memory_bytes` while adding; while merging 16 KiB to 1 MiB for each run.
// Thread safety: one thread.
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

class EntrySorter {
 public:
  /// `name` tells sorters of one folder apart.
  EntrySorter(FileSystem* files, const std::string& folder, const std::string& name,
              size_t memory_bytes);
  ~EntrySorter();
  EntrySorter(const EntrySorter&) = delete;
  EntrySorter& operator=(const EntrySorter&) = delete;

  /// kNoSpace or kIoError when a run cannot be written.
  Status Add(const IndexEntry& entry);
  /// After the last Add.
  Status StartReading();
  /// False at the end; else the next entry in ascending order of keys, valid until the next call.
  Result<bool> Next(IndexEntry* entry);
  [[nodiscard]] uint64_t entries() const { return entries_; }  ///< added so far
  [[nodiscard]] uint64_t runs() const { return runs_.size(); }

  static Status RemoveLeftovers(FileSystem* files, const std::string& folder);
  /// What an entry takes in the file.
  static size_t StoredBytes(const IndexEntry& entry);

 private:
  /// First bytes of the key as a number, so that most comparisons look at nothing else.
  struct Ref {
    uint64_t head;
    uint64_t offset;
  };
  struct Run;

  [[nodiscard]] IndexEntry At(uint64_t offset) const;
  void SortRefs();
  Status WriteRun();
  Status OpenFile();
  void PushToHeap(Run* run);

  FileSystem* const files_;
  const std::string path_;
  const size_t memory_bytes_;
  std::vector<std::byte> arena_;  ///< entries one after another
  std::vector<Ref> refs_;
  uint64_t entries_ = 0;
  size_t next_ref_ = 0;
  std::unique_ptr<File> file_;
  uint64_t file_bytes_ = 0;
  std::vector<std::unique_ptr<Run>> runs_;
  std::vector<Run*> heap_;  ///< runs with an entry at hand, smallest key first
  Run* last_ = nullptr;     ///< whose entry was handed out last
};

}  // namespace rowan
