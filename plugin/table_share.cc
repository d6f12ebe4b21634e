// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/abi_guard.h"

#include "plugin/table_share.h"

#include <algorithm>

namespace rowan {
namespace {

constexpr uint32_t kLeavesSampled = 20;
constexpr uint32_t kLeavesSampledByAnalyze = 200;

/// Counts of key changes between neighbours, by how many leading parts stay equal.
class GroupCounter {
 public:
  GroupCounter(const TableCodec& codec, uint32_t ordinal)
      : codec_(codec), ordinal_(ordinal), boundaries_(codec.PartCount(ordinal) + 1, 0),
        jumps_(codec.PartCount(ordinal) + 1, 0) {}

  void Add(Bytes key, bool first_on_leaf) {
    if (entries_ > 0) {
      const uint32_t equal = codec_.EqualParts(ordinal_, {last_.data(), last_.size()}, key);
      ++(first_on_leaf ? jumps_ : boundaries_)[equal];
    }
    ++entries_;
    last_.assign(key.begin(), key.end());
  }

  /// `rows` = estimate of the whole index.
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
  const TableCodec& codec_;
  const uint32_t ordinal_;
  std::vector<uint64_t> boundaries_;
  std::vector<uint64_t> jumps_;
  uint64_t entries_ = 0;
  ByteBuffer last_;
};

}  // namespace

Result<std::vector<float>> TableShare::SampleOneIndex(Engine* engine, uint32_t ordinal,
                                                      uint32_t leaves) const {
  GroupCounter counter(*codec_, ordinal);
  const Status status = engine->SampleIndex(
      table_.get(), ordinal, leaves,
      [&](Bytes key, bool first_on_leaf) { counter.Add(key, first_on_leaf); });
  if (!status.ok()) return status;
  return counter.RowsPerKey(table_->statistics().rows);
}

Status TableShare::RefreshCardinality(Engine* engine, bool force) {
  const uint64_t rows = table_->statistics().rows;
  if (!force && cardinality_version() != 0) {
    const uint64_t before = rows_at_refresh_.load(std::memory_order_relaxed);
    const uint64_t changed = rows > before ? rows - before : before - rows;
    if (changed <= before / 8 + 16) return Status::Ok();
  }
  std::unique_lock<std::mutex> lock(refresh_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    if (!force) return Status::Ok();  // another session is at it
    lock.lock();
  }
  Status status = engine->RefreshStatistics(table_.get());
  if (!status.ok()) return status;
  std::vector<std::vector<float>> all;
  for (uint32_t ordinal = 0; ordinal < table_->index_count(); ++ordinal) {
    Result<std::vector<float>> one =
        SampleOneIndex(engine, ordinal, force ? kLeavesSampledByAnalyze : kLeavesSampled);
    if (!one.ok()) return one.status();
    all.push_back(std::move(one).value());
  }
  rows_at_refresh_.store(table_->statistics().rows, std::memory_order_relaxed);
  const std::lock_guard<std::mutex> publish(mutex_);
  rows_per_key_ = std::move(all);
  version_.fetch_add(1, std::memory_order_release);
  return status;
}

std::vector<float> TableShare::RowsPerKey(uint32_t ordinal) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (ordinal >= rows_per_key_.size()) return {};
  return rows_per_key_[ordinal];
}

}  // namespace rowan
