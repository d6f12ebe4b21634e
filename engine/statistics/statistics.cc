// SPDX-License-Identifier: GPL-2.0-only
#include "engine/statistics/statistics.h"

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "btree/cursor.h"
#include "btree/leaf_sample.h"
#include "mvcc/row/row_header.h"

namespace rowan {
namespace {

constexpr std::chrono::seconds kRefreshInterval{10};
constexpr uint64_t kRefreshShare = 10;

/// Counts of key changes between neighbours, by how many leading parts stay equal.
class GroupCounter {
 public:
  GroupCounter(const KeyParts* parts, uint32_t index_number)
      : parts_(parts),
        index_number_(index_number),
        boundaries_(parts == nullptr ? 0 : parts->PartCount(index_number) + 1, 0),
        jumps_(boundaries_.size(), 0) {}

  void Add(Bytes key, bool first_on_leaf) {
    if (parts_ != nullptr) {
      if (entries_ > 0) {
        const uint32_t equal = parts_->EqualParts(index_number_, {last_.data(), last_.size()}, key);
        ++(first_on_leaf ? jumps_ : boundaries_)[equal];
      }
      last_.assign(key.begin(), key.end());
    }
    ++entries_;
  }
  [[nodiscard]] uint64_t entries() const { return entries_; }

  /// `rows` = of the whole index.
  [[nodiscard]] std::vector<float> RowsPerKey(uint64_t rows) const {
    std::vector<float> result;
    const double total = std::max<double>(static_cast<double>(rows), 1.0);
    const double scale = entries_ == 0 ? 1.0 : std::max(1.0, total / static_cast<double>(entries_));
    double inside = 0;
    double between = 0;
    for (size_t parts = 1; parts < boundaries_.size(); ++parts) {
      inside += static_cast<double>(boundaries_[parts - 1]);
      between += static_cast<double>(jumps_[parts - 1]);
      // Neighbours within a leaf stand for the whole index; leaves that differ from the sampled one
      // before are a lower bound when groups are larger than a leaf.
      const double groups = std::max(inside * scale, inside + between) + 1;
      result.push_back(static_cast<float>(std::clamp(total / groups, 1.0, total)));
    }
    return result;
  }

 private:
  const KeyParts* const parts_;
  const uint32_t index_number_;
  std::vector<uint64_t> boundaries_;
  std::vector<uint64_t> jumps_;
  uint64_t entries_ = 0;
  std::vector<std::byte> last_;
};

bool IsLive(Bytes value, bool clustered) {
  Bytes rest;
  if (clustered) {
    ClusteredHeader header;
    return ParseClustered(value, &header, &rest) && !header.deleted;
  }
  SecondaryHeader header;
  return ParseSecondary(value, &header, &rest) && header.deleter == kNoTxn;
}

/// Adds the live entries from the cursor on; only those of its leaf unless `all`. Reads at most
/// kLeavesCounted leaves.
Status AddFrom(Cursor* cursor, bool all, bool clustered, FunctionRef<bool()> interrupted,
               GroupCounter* counter) {
  PageNumber leaf = kNoPage;
  bool first = true;
  for (;;) {
    if (cursor->leaf() != leaf) {
      if (leaf != kNoPage && (!all || interrupted())) return Status::Ok();
      leaf = cursor->leaf();
      first = !all;  // what lies between two sampled leaves is unknown
    }
    if (IsLive(cursor->value(), clustered)) {
      counter->Add(cursor->key(), first);
      first = false;
    }
    const Status status = cursor->Next();
    if (!status.ok()) return status;
  }
}

Status CountIndex(Index* index, bool whole, uint32_t leaves, FunctionRef<bool()> interrupted,
                  GroupCounter* counter) {
  Cursor cursor(&index->tree, FixHint::kScan);
  const auto add_after = [&](Status found) {
    return found.ok() ? AddFrom(&cursor, whole, index->clustered, interrupted, counter) : found;
  };
  Status status;
  if (whole) {
    status = add_after(cursor.SeekFirst());
  } else {
    Random random(uint64_t{index->tree.index().value()} + 1);
    for (const KeyBuffer& key : SampleLeaves(&index->tree, leaves, &random, interrupted)) {
      if (interrupted()) break;
      status = add_after(cursor.SeekAtLeast(key));
      cursor.Unlatch();
      if (!status.ok() && !status.Is(Code::kEndOfRange)) return status;
    }
  }
  if (interrupted()) return Status(Code::kInterrupted);
  return status.Is(Code::kEndOfRange) ? Status::Ok() : status;
}

}  // namespace

Status RefreshTableStatistics(PageAllocator* allocator, Table* table, uint32_t leaves,
                              FunctionRef<bool()> interrupted) {
  Cardinalities* cardinalities = table->cardinalities();
  const MutexLock lock(cardinalities->counting_mutex());
  const std::shared_ptr<const KeyParts> parts = cardinalities->parts();
  Table::Statistics statistics;
  Cardinalities::RowsPerKey rows_per_key;
  std::vector<TreeStatistics> trees;
  for (uint32_t i = 0; i < table->index_count(); ++i) {
    Index* index = table->index(i);
    // The pages of one that goes will soon be others', who must not be called damaged.
    const auto is_over = [&] {
      return index->dropped.load(std::memory_order_acquire) || (interrupted && interrupted());
    };
    if (is_over()) return Status(Code::kInterrupted);
    Result<TreeStatistics> tree = index->tree.Statistics();
    if (!tree.ok()) return tree.status();
    const bool whole = tree->leaf_pages <= kLeavesCounted;
    GroupCounter counter(parts.get(), i);
    if (whole || parts != nullptr) {
      const Status status = CountIndex(index, whole, leaves, is_over, &counter);
      if (!status.ok()) return status;
    }
    const uint64_t pages = tree->leaf_pages + tree->inner_pages;
    (i == 0 ? statistics.clustered_pages : statistics.secondary_pages) += pages;
    if (i == 0) statistics.rows = whole ? counter.entries() : tree->entries;
    trees.push_back(tree.value());
    if (whole) trees.back().entries = counter.entries();
    rows_per_key.push_back(counter.RowsPerKey(whole ? counter.entries() : statistics.rows));
  }
  Result<SpaceStatistics> space = allocator->Statistics(table->space());
  if (!space.ok()) return space.status();
  statistics.file_pages = space->file_pages;
  statistics.used_pages = space->used_pages;
  table->SetStatistics(statistics);
  cardinalities->PublishTrees(std::move(trees));
  if (parts != nullptr) cardinalities->Publish(std::move(rows_per_key), statistics.rows);
  return Status::Ok();
}

bool RefreshIsDue(Table* table, std::chrono::steady_clock::time_point now) {
  Cardinalities* cardinalities = table->cardinalities();
  if (cardinalities->parts() == nullptr) return false;
  const bool recent = now - cardinalities->counted_at() < kRefreshInterval;
  if (cardinalities->failed() && recent) return false;
  if (cardinalities->version() == 0) return true;
  const uint64_t changes = table->changes_since_refresh();
  if (changes == 0 || !cardinalities->settings().automatic) return false;
  const Table::Statistics known = table->statistics();
  if (cardinalities->Outdated(known.rows)) return true;
  if (recent) return false;
  // A small table is counted: it may as well be exact.
  const bool small = known.clustered_pages + known.secondary_pages <= kLeavesCounted;
  return small || changes >= known.rows / kRefreshShare;
}

}  // namespace rowan
