// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/commit_latency.h"

#include "engine/engine.h"
#include "plugin/server/instance.h"

namespace rowan {
namespace {

constexpr size_t kFirstPower = 7;

/// The last bucket below 2^power microseconds.
constexpr size_t LastBucketBelow(size_t power) {
  return LatencyHistogram::BucketOf((uint64_t{1} << power) - 1);
}

}  // namespace

CommitLatencyStatus::CommitLatencyStatus() {
  for (size_t i = 0; i < kBounds; ++i) {
    const uint64_t bound = LatencyHistogram::UpperBoundMicros(LastBucketBelow(kFirstPower + i));
    names_[i] = "commit_latency_us_le_" + std::to_string(bound);
  }
  names_[kBounds] = "commit_latency_us_le_inf";
  names_[kBounds + 1] = "commit_latency_us_sum";
}

void CommitLatencyStatus::Read(SHOW_VAR* variable) {
  values_.fill(0);
  for (const LogSyncMethod method :
       {LogSyncMethod::kFsync, LogSyncMethod::kFdatasync, LogSyncMethod::kDsync,
        LogSyncMethod::kDirectDsync, LogSyncMethod::kUring}) {
    const LatencyHistogram& histogram = g_engine->LogLatency(method, LogPhase::kCommit);
    uint64_t below = 0;
    size_t bucket = 0;
    for (size_t i = 0; i < kBounds; ++i) {
      for (; bucket <= LastBucketBelow(kFirstPower + i); ++bucket) below += histogram.Count(bucket);
      values_[i] += static_cast<long long>(below);
    }
    for (; bucket < LatencyHistogram::kBuckets; ++bucket) below += histogram.Count(bucket);
    values_[kBounds] += static_cast<long long>(below);
    values_[kBounds + 1] += static_cast<long long>(histogram.TotalMicros());
  }
  for (size_t i = 0; i < kVariables; ++i) {
    variable[i] = {names_[i].c_str(), reinterpret_cast<char*>(&values_[i]), SHOW_LONGLONG,
                   SHOW_SCOPE_GLOBAL};
  }
}

}  // namespace rowan
