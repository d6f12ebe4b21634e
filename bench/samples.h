// SPDX-License-Identifier: GPL-2.0-only
// Samples: durations of one kind, and their statistics. One thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rowan {

class Samples {
 public:
  void Add(uint64_t nanos) {
    nanos_.push_back(nanos);
    sorted_ = false;
  }
  void AddAll(const Samples& other) {
    nanos_.insert(nanos_.end(), other.nanos_.begin(), other.nanos_.end());
    sorted_ = false;
  }
  [[nodiscard]] size_t count() const { return nanos_.size(); }

  /// The duration that this share of all does not exceed; 0 without samples.
  [[nodiscard]] double QuantileMicros(double share) {
    if (nanos_.empty()) return 0;
    if (!sorted_) std::sort(nanos_.begin(), nanos_.end());
    sorted_ = true;
    const auto position = static_cast<size_t>(share * static_cast<double>(nanos_.size()));
    return static_cast<double>(nanos_[std::min(position, nanos_.size() - 1)]) / 1000;
  }

 private:
  std::vector<uint64_t> nanos_;
  bool sorted_ = true;
};

}  // namespace rowan
