// SPDX-License-Identifier: GPL-2.0-only
#include "engine/catalog/cardinalities.h"

#include <utility>

namespace rowan {
namespace {

/// Below this many rows even a change by half of them does not matter.
constexpr uint64_t kRowsOfNoMatter = 16;

}  // namespace

void Cardinalities::Describe(std::shared_ptr<const KeyParts> parts, const Settings& settings) {
  const MutexLock lock(&mutex_);
  parts_ = std::move(parts);
  settings_ = settings;
  automatic_.store(settings.automatic, std::memory_order_relaxed);
}

std::shared_ptr<const KeyParts> Cardinalities::parts() const {
  const MutexLock lock(&mutex_);
  return parts_;
}

Cardinalities::Settings Cardinalities::settings() const {
  const MutexLock lock(&mutex_);
  return settings_;
}

void Cardinalities::Publish(RowsPerKey rows_per_key, uint64_t rows) {
  const MutexLock lock(&mutex_);
  rows_per_key_ = std::move(rows_per_key);
  counted_at_ = std::chrono::steady_clock::now();
  failed_ = false;
  rows_.store(rows, std::memory_order_relaxed);
  version_.fetch_add(1, std::memory_order_release);
}

std::vector<float> Cardinalities::Of(uint32_t index_number) const {
  const MutexLock lock(&mutex_);
  if (index_number >= rows_per_key_.size()) return {};
  return rows_per_key_[index_number];
}

Cardinalities::RowsPerKey Cardinalities::All() const {
  const MutexLock lock(&mutex_);
  return rows_per_key_;
}

void Cardinalities::PublishTrees(std::vector<TreeStatistics> trees) {
  const MutexLock lock(&mutex_);
  trees_ = std::move(trees);
}

std::vector<TreeStatistics> Cardinalities::Trees() const {
  const MutexLock lock(&mutex_);
  return trees_;
}

bool Cardinalities::Outdated(uint64_t rows_now) const {
  if (version() == 0) return true;
  if (!automatic_.load(std::memory_order_relaxed)) return false;
  const uint64_t rows = rows_.load(std::memory_order_relaxed);
  return rows_now > 2 * rows + kRowsOfNoMatter || rows > 2 * rows_now + kRowsOfNoMatter;
}

std::chrono::steady_clock::time_point Cardinalities::counted_at() const {
  const MutexLock lock(&mutex_);
  return counted_at_;
}

void Cardinalities::NoteFailure() {
  const MutexLock lock(&mutex_);
  counted_at_ = std::chrono::steady_clock::now();
  failed_ = true;
}

bool Cardinalities::failed() const {
  const MutexLock lock(&mutex_);
  return failed_;
}

}  // namespace rowan
