// SPDX-License-Identifier: GPL-2.0-only
#include "wal/sync_probe.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/format.h"
#include "base/logging.h"
#include "io/aligned_buffer.h"
#include "wal/sync_strategy.h"

namespace rowan {
namespace {

/// Simplest first. fsync is left out: on a file of constant size it never beats fdatasync.
constexpr std::array kCandidates = {LogSyncMethod::kFdatasync, LogSyncMethod::kDsync,
                                    LogSyncMethod::kDirectDsync, LogSyncMethod::kUring};
/// A lone commit writes one block, a batch of some tens of commits four.
constexpr std::array<size_t, 2> kWriteBytes = {4096, 16384};
constexpr uint64_t kFileBytes = uint64_t{256} << 10;
/// The first round finds cold caches and is not counted.
constexpr int kRoundsMin = 8;
constexpr int kRoundsMax = 60;
constexpr uint64_t kProbeNanosMax = uint64_t{250} * 1000 * 1000;

/// A method with its own scratch file, so that none is affected by what another left in the cache.
struct Candidate {
  LogSyncMethod method;
  std::string path;
  std::unique_ptr<SyncStrategy> strategy;
  std::unique_ptr<File> file;
  std::string refusal;  ///< empty: usable
  std::array<std::vector<uint64_t>, kWriteBytes.size()> nanos{};
};

Status Prepare(FileSystem* file_system, Candidate* candidate) {
  Result<std::unique_ptr<File>> plain = file_system->Open(candidate->path, {.create = true});
  if (!plain.ok()) return plain.status();
  const AlignedBuffer zeros(kFileBytes);
  Status status = plain.value()->Write(WriteCause::kProbe, 0, zeros.span());
  if (!status.ok()) return status;
  status = plain.value()->Sync(SyncMethod::kFsync);
  if (!status.ok()) return status;
  Result<std::unique_ptr<SyncStrategy>> strategy =
      MakeSyncStrategy(file_system, candidate->method, &candidate->refusal);
  if (!strategy.ok()) return strategy.status();
  candidate->strategy = std::move(strategy).value();
  Result<std::unique_ptr<File>> file =
      file_system->Open(candidate->path, candidate->strategy->open_options());
  if (!file.ok()) return file.status();
  candidate->file = std::move(file).value();
  return Status::Ok();
}

void Refuse(Candidate* candidate, Status status) {
  if (candidate->refusal.empty()) candidate->refusal = status.message();
}

Status MeasureOnce(Candidate* candidate, size_t size_index, int round, AlignedBuffer* bytes) {
  const size_t size = kWriteBytes[size_index];
  const uint64_t offset = static_cast<uint64_t>(round) * kWriteBytes.back() % kFileBytes;
  bytes->data()[0] = static_cast<std::byte>(round);
  CountWritten(WriteCause::kProbe, size);
  const uint64_t begin = MonotonicNanos();
  const Status status =
      candidate->strategy->WriteAndSync(candidate->file.get(), offset, bytes->span().first(size));
  if (!status.ok()) return status;
  if (round > 0) candidate->nanos[size_index].push_back(MonotonicNanos() - begin);
  return Status::Ok();
}

/// All candidates take turns, so that other load on the disk affects them alike.
void MeasureAll(std::vector<Candidate>* candidates) {
  AlignedBuffer bytes(kWriteBytes.back());
  const uint64_t give_up = MonotonicNanos() + kProbeNanosMax;
  const size_t count = candidates->size();
  for (int round = 0; round < kRoundsMax; ++round) {
    if (round > kRoundsMin && MonotonicNanos() > give_up) break;
    for (size_t size = 0; size < kWriteBytes.size(); ++size) {
      for (size_t turn = 0; turn < count; ++turn) {
        Candidate& candidate = (*candidates)[(turn + static_cast<size_t>(round)) % count];
        if (!candidate.refusal.empty()) continue;
        const Status status = MeasureOnce(&candidate, size, round, &bytes);
        if (!status.ok()) Refuse(&candidate, status);
      }
    }
  }
}

/// Of each write size, then the mean of the sizes.
SyncFinding Summarize(Candidate* candidate) {
  SyncFinding finding{.method = candidate->method, .refusal = candidate->refusal};
  if (!finding.refusal.empty()) return finding;
  for (std::vector<uint64_t>& nanos : candidate->nanos) {
    std::sort(nanos.begin(), nanos.end());
    finding.median_us += static_cast<double>(nanos[nanos.size() / 2]) / 1000;
    finding.best_us += static_cast<double>(nanos[nanos.size() / 10]) / 1000;
  }
  finding.median_us /= static_cast<double>(kWriteBytes.size());
  finding.best_us /= static_cast<double>(kWriteBytes.size());
  return finding;
}

std::string Describe(const std::vector<SyncFinding>& findings) {
  std::string text;
  for (const SyncFinding& finding : findings) {
    text += text.empty() ? "" : ", ";
    text += finding.refusal.empty()
                ? Format("{} {:.0f} us ({:.0f})", LogSyncMethodName(finding.method),
                         finding.median_us, finding.best_us)
                : Format("{} refused ({})", LogSyncMethodName(finding.method), finding.refusal);
  }
  return text;
}

}  // namespace

LogSyncMethod ChooseSyncMethod(const std::vector<SyncFinding>& findings) {
  // A more complicated method must win by more than the spread of two measurements of one.
  constexpr double kWorthChanging = 0.90;
  const SyncFinding* chosen = nullptr;
  for (const SyncFinding& finding : findings) {
    if (!finding.refusal.empty()) continue;
    if (chosen == nullptr || (finding.median_us < chosen->median_us * kWorthChanging &&
                              finding.best_us < chosen->best_us * kWorthChanging)) {
      chosen = &finding;
    }
  }
  return chosen == nullptr ? LogSyncMethod::kFdatasync : chosen->method;
}

LogSyncMethod ProbeSyncMethod(FileSystem* file_system, const std::string& folder) {
  std::vector<Candidate> candidates;
  bool simulated = false;
  for (const LogSyncMethod method : kCandidates) {
    Candidate candidate{.method = method, .path = {}, .strategy = {}, .file = {}, .refusal = {}};
    candidate.path = folder + "/redo_probe_" + LogSyncMethodName(method) + ".tmp";
    const Status status = Prepare(file_system, &candidate);
    if (!status.ok()) Refuse(&candidate, status);
    simulated = simulated || (candidate.file != nullptr && candidate.file->descriptor() < 0);
    candidates.push_back(std::move(candidate));
  }
  if (!simulated) MeasureAll(&candidates);
  std::vector<SyncFinding> findings;
  for (Candidate& candidate : candidates) {
    if (!simulated) findings.push_back(Summarize(&candidate));
    candidate.file.reset();
    // A leftover scratch file is overwritten next time.
    file_system->Remove(candidate.path).Ignore();
  }
  const LogSyncMethod chosen = ChooseSyncMethod(findings);
  if (!simulated) {
    LogInfo("Log sync method: {} chosen; median (best tenth) of durable writes taken in turns: {}",
            LogSyncMethodName(chosen), Describe(findings));
  }
  return chosen;
}

}  // namespace rowan
