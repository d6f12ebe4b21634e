// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log_history.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace rowan {

InstanceId DrawId() {
  std::random_device source;
  InstanceId id;
  for (uint8_t& byte : id) byte = static_cast<uint8_t>(source());
  return id;
}

void AddRun(LogHistory* history, Lsn begin) {
  if (history->size() == kLogRunsMax) history->erase(history->begin());
  history->push_back({DrawId(), begin});
}

bool IsPast(const LogHistory& past, Lsn end, const LogHistory& history, Lsn tail) {
  if (past.empty()) return false;
  const auto run = std::find(history.begin(), history.end(), past.back());
  if (run == history.end()) return false;
  // What the run appended after the beginning of the next one was lost, or belongs to another copy.
  const auto next = run + 1;
  return end <= (next == history.end() ? tail : next->begin);
}

void StoreHistory(std::byte* bytes, const LogHistory& history) {
  std::memset(bytes, 0, kLogRunsMax * kLogRunBytes);
  for (const LogRun& run : history) {
    std::memcpy(bytes, run.id.data(), run.id.size());
    StoreLe<uint64_t>(bytes + run.id.size(), run.begin.value());
    bytes += kLogRunBytes;
  }
}

LogHistory LoadHistory(const std::byte* bytes) {
  LogHistory history;
  for (size_t i = 0; i < kLogRunsMax; ++i, bytes += kLogRunBytes) {
    LogRun run;
    std::memcpy(run.id.data(), bytes, run.id.size());
    if (run.id == InstanceId{}) break;
    run.begin = Lsn(LoadLe<uint64_t>(bytes + run.id.size()));
    history.push_back(run);
  }
  return history;
}

}  // namespace rowan
