// SPDX-License-Identifier: GPL-2.0-only
#include "wal/sync_probe.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/format.h"
#include "base/logging.h"
#include "io/aligned_buffer.h"
#include "wal/sync_strategy.h"

namespace rowan {
namespace {

/// fsync is left out: on a file whose size stands still it never beats fdatasync.
constexpr std::array kCandidates = {LogSyncMethod::kFdatasync, LogSyncMethod::kDsync,
                                    LogSyncMethod::kDirectDsync, LogSyncMethod::kUring};
/// A lone commit writes one block, a batch of some tens of commits four.
constexpr std::array<size_t, 2> kWriteBytes = {4096, 16384};
constexpr uint64_t kFileBytes = uint64_t{256} << 10;
constexpr int kRoundsMin = 3;
constexpr int kRoundsMax = 24;
constexpr uint64_t kMethodNanosMax = uint64_t{60} * 1000 * 1000;
/// Another method must win by more than what two measurements of one differ.
constexpr double kWorthChanging = 0.90;

struct Finding {
  LogSyncMethod method;
  bool usable = false;
  double micros = 0;  ///< sum of the medians of all write sizes
  std::string text;
};

Status PrepareFile(FileSystem* file_system, const std::string& path, bool* simulated) {
  Result<std::unique_ptr<File>> file = file_system->Open(path, {.create = true});
  if (!file.ok()) return file.status();
  *simulated = file.value()->descriptor() < 0;
  if (*simulated) return Status::Ok();
  const AlignedBuffer zeros(kFileBytes);
  const Status status = file.value()->Write(0, zeros.span());
  return status.ok() ? file.value()->Sync(SyncMethod::kFsync) : status;
}

double Median(std::vector<uint64_t> nanos) {
  const auto middle = nanos.begin() + static_cast<ptrdiff_t>(nanos.size() / 2);
  std::nth_element(nanos.begin(), middle, nanos.end());
  return static_cast<double>(*middle) / 1000.0;
}

Status Measure(SyncStrategy* strategy, File* file, Finding* finding) {
  AlignedBuffer bytes(kWriteBytes.back());
  uint64_t offset = 0;
  for (const size_t size : kWriteBytes) {
    std::vector<uint64_t> nanos;
    const uint64_t give_up = MonotonicNanos() + kMethodNanosMax / kWriteBytes.size();
    for (int round = 0; round < kRoundsMax; ++round) {
      const uint64_t begin = MonotonicNanos();
      if (round >= kRoundsMin && begin > give_up) break;
      bytes.data()[0] = static_cast<std::byte>(round);
      const Status status = strategy->WriteAndSync(file, offset, bytes.span().first(size));
      if (!status.ok()) return status;
      nanos.push_back(MonotonicNanos() - begin);
      offset = (offset + size) % kFileBytes;
    }
    finding->micros += Median(std::move(nanos));
  }
  finding->micros /= static_cast<double>(kWriteBytes.size());
  return Status::Ok();
}

Finding Try(FileSystem* file_system, const std::string& path, LogSyncMethod method) {
  Finding finding{.method = method, .text = {}};
  std::string reason;
  const char* name = LogSyncMethodName(method);
  Result<std::unique_ptr<SyncStrategy>> strategy = MakeSyncStrategy(method, &reason);
  if (!strategy.ok()) {
    finding.text = Format("{} refused ({})", name, reason);
    return finding;
  }
  Result<std::unique_ptr<File>> file =
      file_system->Open(path, strategy.value()->open_options());
  const Status status = file.ok()
                            ? Measure(strategy.value().get(), file.value().get(), &finding)
                            : file.status();
  finding.usable = status.ok();
  finding.text = status.ok() ? Format("{} {:.0f} us", name, finding.micros)
                             : Format("{} refused ({})", name, status.message());
  return finding;
}

}  // namespace

LogSyncMethod ProbeSyncMethod(FileSystem* file_system, const std::string& folder) {
  const std::string path = folder + "/redo_probe.tmp";
  bool simulated = false;
  const Status status = PrepareFile(file_system, path, &simulated);
  std::vector<Finding> findings;
  if (status.ok() && !simulated) {
    for (const LogSyncMethod method : kCandidates) {
      findings.push_back(Try(file_system, path, method));
    }
  }
  file_system->Remove(path).Ignore();  // a scratch file left behind is written over next time
  if (findings.empty() || !findings.front().usable) {
    if (!simulated) LogInfo("Log sync method: fdatasync; the disk could not be probed");
    return LogSyncMethod::kFdatasync;
  }
  const Finding* best = &findings.front();
  std::string text;
  for (const Finding& finding : findings) {
    text += (text.empty() ? "" : ", ") + finding.text;
    if (!finding.usable) continue;
    const double bar = best == &findings.front() ? best->micros * kWorthChanging : best->micros;
    if (finding.micros < bar) best = &finding;
  }
  LogInfo("Log sync method: {} chosen; a durable write took: {}", LogSyncMethodName(best->method),
          text);
  return best->method;
}

}  // namespace rowan
