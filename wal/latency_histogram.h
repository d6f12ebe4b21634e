// SPDX-License-Identifier: GPL-2.0-only
// Counts of durations, in buckets that grow by a quarter of a power of two.
// Thread safety: all members from any thread; relaxed, so a reader may see a partial sum.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace rowan {

class LatencyHistogram {
 public:
  /// 4 exact buckets, then 4 for each power of two up to about 67 seconds.
  static constexpr size_t kBuckets = 4 + 4 * 24;

  void Add(uint64_t nanos) {
    counts_[BucketOf((nanos + 500) / 1000)].fetch_add(1, std::memory_order_relaxed);
    total_nanos_.fetch_add(nanos, std::memory_order_relaxed);
  }
  [[nodiscard]] uint64_t Count(size_t bucket) const {
    return counts_[bucket].load(std::memory_order_relaxed);
  }
  [[nodiscard]] uint64_t TotalCount() const {
    uint64_t sum = 0;
    for (size_t bucket = 0; bucket < kBuckets; ++bucket) sum += Count(bucket);
    return sum;
  }
  /// Upper bound of the bucket in which this share of all values is reached; 0 without values.
  [[nodiscard]] uint64_t QuantileMicros(double share) const {
    const uint64_t count = TotalCount();
    uint64_t below = 0;
    for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
      below += Count(bucket);
      if (below > 0 && static_cast<double>(below) >= share * static_cast<double>(count)) {
        return UpperBoundMicros(bucket);
      }
    }
    return 0;
  }
  /// Sum of everything added.
  [[nodiscard]] uint64_t TotalMicros() const {
    return total_nanos_.load(std::memory_order_relaxed) / 1000;
  }

  /// Values above the last bound are counted in the last bucket.
  [[nodiscard]] static constexpr size_t BucketOf(uint64_t micros) {
    if (micros < 4) return micros;
    const auto power = static_cast<size_t>(std::bit_width(micros) - 1);
    const size_t bucket = 4 * (power - 1) + ((micros >> (power - 2)) & 3);
    return bucket < kBuckets ? bucket : kBuckets - 1;
  }
  /// The largest value that falls into the bucket.
  [[nodiscard]] static constexpr uint64_t UpperBoundMicros(size_t bucket) {
    if (bucket < 4) return bucket;
    const size_t power = bucket / 4 + 1;
    const uint64_t quarter = uint64_t{1} << (power - 2);
    return (uint64_t{1} << power) + (bucket % 4 + 1) * quarter - 1;
  }

 private:
  std::array<std::atomic<uint64_t>, kBuckets> counts_{};
  std::atomic<uint64_t> total_nanos_{0};
};

static_assert(LatencyHistogram::BucketOf(3) == 3 && LatencyHistogram::BucketOf(4) == 4);
static_assert(LatencyHistogram::BucketOf(LatencyHistogram::UpperBoundMicros(37)) == 37);
static_assert(LatencyHistogram::BucketOf(LatencyHistogram::UpperBoundMicros(37) + 1) == 38);

}  // namespace rowan
