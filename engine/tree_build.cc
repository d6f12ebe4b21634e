// SPDX-License-Identifier: GPL-2.0-only
#include "engine/tree_build.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>
#include <vector>

#include "base/workers.h"
#include "btree/bulk_builder.h"
#include "mvcc/row/row_header.h"

namespace rowan {
namespace {

/// Building fewer is faster than starting a thread.
constexpr uint64_t kEntriesPerWorkerMin = 2048;

/// Equal unique values, neither of them with a NULL.
bool SameUniqueValue(Bytes key, const IndexEntry& next) {
  const size_t bytes = next.unique_prefix_bytes;
  return bytes != 0 && key.size() >= bytes && EqualBytes(key.first(bytes), next.key.first(bytes));
}

/// The trees of one call. Its threads take one after another.
class TreesInTheMaking {
 public:
  TreesInTheMaking(std::span<TreeBuild> builds, const TreeBuildOptions& options)
      : builds_(builds),
        options_(options),
        entries_(CountEntries(builds)),
        workers_("ddl-", WorkersFor(builds.size(), options.threads)),
        duplicate_keys_(builds.size()),
        first_duplicate_(builds.size()) {}

  Status Build(TreeBuildFailure* failure) {
    if (options_.progress != nullptr) options_.progress->Begin(WorkPhase::kBuildIndex, entries_);
    const Status status = workers_.Run([this](uint32_t worker) { return Work(worker); });
    if (!status.ok()) return status;
    if (first_duplicate_ < builds_.size()) {
      failure->tree = first_duplicate_;
      failure->duplicate_key = std::move(duplicate_keys_[first_duplicate_]);
      return Status(Code::kDuplicate, "duplicate entry");
    }
    if (options_.progress != nullptr) options_.progress->Completed(entries_built_);
    return Status::Ok();
  }

 private:
  static uint64_t CountEntries(std::span<const TreeBuild> builds) {
    uint64_t entries = 0;
    for (const TreeBuild& build : builds) entries += build.entries->entries();
    return entries;
  }
  [[nodiscard]] uint32_t WorkersFor(size_t trees, uint32_t threads) const {
    const uint64_t useful = std::min<uint64_t>(trees, entries_ / kEntriesPerWorkerMin);
    return static_cast<uint32_t>(std::clamp<uint64_t>(useful, 1, std::max(threads, 1U)));
  }
  Status Work(uint32_t worker) {
    for (size_t tree; (tree = next_tree_++) < builds_.size();) {
      const Status status = BuildOne(worker, tree);
      if (!status.ok()) return status;
      builds_[tree].entries.reset();
    }
    return Status::Ok();
  }
  /// A tree before this one has a duplicate, so this one does not matter.
  [[nodiscard]] bool IsPointless(size_t tree) const { return first_duplicate_ < tree; }
  void NoteDuplicate(size_t tree, Bytes key) {
    duplicate_keys_[tree].assign(key.begin(), key.end());
    size_t first = first_duplicate_;
    while (tree < first && !first_duplicate_.compare_exchange_weak(first, tree)) continue;
  }
  Status CheckGoOn() const {
    const bool stops = workers_.failed() || options_.interrupted();
    return stops ? Status(Code::kInterrupted, "interrupted while an index was built")
                 : Status::Ok();
  }
  void NoteProgress(uint32_t worker, uint64_t entries) {
    const uint64_t built = entries_built_ += entries;
    if (worker == 0 && options_.progress != nullptr) options_.progress->Completed(built);
  }
  Status BuildOne(uint32_t worker, size_t tree);

  const std::span<TreeBuild> builds_;
  const TreeBuildOptions& options_;
  const uint64_t entries_;  ///< of all trees
  Workers workers_;
  std::vector<ByteBuffer> duplicate_keys_;  ///< each written by the thread that builds the tree
  std::atomic<size_t> first_duplicate_;     ///< the least tree with one
  std::atomic<size_t> next_tree_{0};        ///< not taken yet
  std::atomic<uint64_t> entries_built_{0};  ///< updated now and then
};

Status TreesInTheMaking::BuildOne(uint32_t worker, size_t tree) {
  EntrySorter* entries = builds_[tree].entries.get();
  Status status = entries->StartReading();
  if (!status.ok()) return status;
  BulkBuilder builder(builds_[tree].tree);
  std::array<std::byte, kSecondaryHeaderBytesMax> header;
  const size_t header_bytes = StoreSecondaryHeader(header.data(), kNoTxn, kNoTxn);
  ByteBuffer value;
  ByteBuffer previous;
  IndexEntry entry;
  uint64_t noted = 0;
  for (uint64_t count = 0;; ++count) {
    Result<bool> more = entries->Next(&entry);
    if (!more.ok()) return more.status();
    if (!*more) {
      NoteProgress(worker, count - noted);
      return builder.Finish();
    }
    if (count > 0 && SameUniqueValue(previous, entry)) {
      NoteDuplicate(tree, entry.key);
      return Status::Ok();
    }
    if (count % kInterruptionStride == 0) {
      if (IsPointless(tree)) return Status::Ok();
      status = CheckGoOn();
      if (!status.ok()) return status;
      NoteProgress(worker, count - std::exchange(noted, count));
    }
    value.assign(header.begin(), header.begin() + header_bytes);
    value.insert(value.end(), entry.payload.begin(), entry.payload.end());
    status = builder.Add(entry.key, value, options_.stamp);
    if (!status.ok()) return status;
    previous.assign(entry.key.begin(), entry.key.end());
  }
}

}  // namespace

Status BuildTrees(std::span<TreeBuild> builds, const TreeBuildOptions& options,
                  TreeBuildFailure* failure) {
  if (builds.empty()) return Status::Ok();
  return TreesInTheMaking(builds, options).Build(failure);
}

}  // namespace rowan
