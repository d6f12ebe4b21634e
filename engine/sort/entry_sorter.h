// SPDX-License-Identifier: GPL-2.0-only
// EntrySorter: external merge sort of index entries by key, for building an index bottom-up.
// Several threads may add at once, each to its own lane (sort_lane.h); reading merges the lanes'
// memory and the runs in their files.
//
// Files are scratch: removed by the destructor, and by RemoveLeftovers after a crash. Memory: about
// `memory_bytes` while adding, whatever the number of lanes; while merging as much, or 16 KiB for
// each run where there are more runs than that.
// Thread safety: one thread; Add to different lanes and FinishLane of them by several.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "engine/sort/sort_lane.h"
#include "io/file.h"
#include "mvcc/row/index_entry.h"

namespace rowan {

class EntrySorter {
 public:
  /// `name` tells sorters of one folder apart. The memory is shared by the lanes.
  EntrySorter(FileSystem* files, const std::string& folder, const std::string& name,
              size_t memory_bytes, uint32_t lanes = 1);
  ~EntrySorter();
  EntrySorter(const EntrySorter&) = delete;
  EntrySorter& operator=(const EntrySorter&) = delete;

  /// kNoSpace or kIoError when a run cannot be written.
  Status Add(const IndexEntry& entry, uint32_t lane = 0) { return lanes_[lane]->Add(entry); }
  /// Nothing more will be added to the lane; the calling thread sorts it. Errors as for Add.
  Status FinishLane(uint32_t lane) { return lanes_[lane]->Finish(); }
  /// After the last Add.
  Status StartReading();
  /// False at the end; else the next entry in ascending order of keys, valid until the next call.
  Result<bool> Next(IndexEntry* entry);
  [[nodiscard]] uint64_t entries() const;  ///< added so far
  [[nodiscard]] uint64_t runs() const;     ///< in files

  static Status RemoveLeftovers(FileSystem* files, const std::string& folder);
  /// What an entry takes in the file.
  static size_t StoredBytes(const IndexEntry& entry) { return SortLane::StoredBytes(entry); }

 private:
  class Source;

  Status AddSource(std::unique_ptr<Source> source);
  void SinkTop();

  std::vector<std::unique_ptr<SortLane>> lanes_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<Source*> heap_;  ///< with an entry at hand, smallest key first
  bool top_was_read_ = false;  ///< the entry of heap_[0] was returned
};

/// Where to sort entries that exceed memory.
struct SortSpace {
  FileSystem* files = nullptr;
  std::string folder{};

  /// `memory_bytes` is raised to a sorter's minimum. Otherwise as EntrySorter.
  [[nodiscard]] std::unique_ptr<EntrySorter> NewSorter(const std::string& name, size_t memory_bytes,
                                                       uint32_t lanes = 1) const;
};

}  // namespace rowan
