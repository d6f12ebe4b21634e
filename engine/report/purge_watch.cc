// SPDX-License-Identifier: GPL-2.0-only
#include "engine/report/purge_watch.h"

#include "base/logging.h"

namespace rowan {
namespace {

constexpr uint64_t kNanosBetween = uint64_t{600} * 1'000'000'000;
/// Reports and backups take this long and do no harm.
constexpr uint64_t kSnapshotAgeMs = 60'000;
/// A hundred MiB of undo, and entries that every reader of the index steps over.
constexpr uint64_t kVersionsKept = 1'000'000;

/// True once in a while.
bool MayTell(uint64_t* told_nanos, uint64_t now_nanos) {
  if (*told_nanos != 0 && now_nanos - *told_nanos < kNanosBetween) return false;
  *told_nanos = now_nanos;
  return true;
}

}  // namespace

void PurgeWatch::Look(const PurgeFigures& figures, uint64_t now_nanos) {
  LookAtSnapshot(figures, now_nanos);
  LookAtWriters(figures, now_nanos);
}

void PurgeWatch::LookAtSnapshot(const PurgeFigures& figures, uint64_t now_nanos) {
  const OldestSnapshot& oldest = figures.oldest_snapshot;
  if (!oldest.open || oldest.age_ms < kSnapshotAgeMs) return;
  if (figures.versions_kept < kVersionsKept) return;
  if (!MayTell(&snapshot_told_nanos_, now_nanos)) return;
  const std::string statement = statement_of_ ? statement_of_(oldest.thread) : "";
  LogWarning(
      "A snapshot that thread {} opened {} s ago keeps {} old row versions of {} transactions from "
      "being purged. Its statement: {}",
      oldest.thread, oldest.age_ms / 1000, figures.versions_kept, figures.history_length,
      statement.empty() ? "none at the moment" : statement);
}

void PurgeWatch::LookAtWriters(const PurgeFigures& figures, uint64_t now_nanos) {
  if (figures.writer_delay_us == 0 || !MayTell(&writers_told_nanos_, now_nanos)) return;
  LogWarning(
      "Purge is {} row versions behind (rowan_max_purge_lag): transactions that write wait {} us "
      "for each page of undo.",
      figures.lag, figures.writer_delay_us);
}

}  // namespace rowan
