// SPDX-License-Identifier: GPL-2.0-only
#include "engine/report/attention.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/format.h"

namespace rowan {
namespace {

constexpr double kNanosPerSecond = 1e9;
/// From here on checkpoints hurry and writers wait for them.
constexpr double kLogFullShare = 0.75;
constexpr double kDirtyShare = 0.9;
/// Old versions of this many transactions slow down scans of what they changed.
constexpr uint64_t kHistoryLong = 1'000'000;
/// A disk that takes longer for one sync in a hundred is busy with something else.
constexpr uint64_t kSyncSlowMicros = 100'000;

double Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string AboutLog(const Situation& now) {
  const EngineFigures& figures = now.figures;
  const double full = Share(figures.checkpoint_age_bytes, figures.log_capacity_bytes);
  const uint64_t waits = now.since.of(Counter::kLogWaits);
  std::string text;
  if (full >= kLogFullShare) {
    text += Format("full: the redo log, {:.0f} % of {} bytes; {} dirty pages are to be written\n",
                   100 * full, figures.log_capacity_bytes, figures.pool_frames_dirty);
  }
  if (waits > 0) {
    text += Format("slow: sessions waited {} times for room in the log\n", waits);
  }
  if (!text.empty()) {
    text += Format(
        "  {:.0f} pages are written a second; a larger rowan_redo_log_capacity lets "
        "them be written later, a larger rowan_io_capacity sooner\n",
        now.since.PerSecond(Counter::kPagesWritten));
  }
  if (Share(figures.log_held_bytes, figures.log_capacity_bytes) >= kLogFullShare) {
    text += Format("full: reader '{}' holds {} bytes of the log\n", now.oldest_reader,
                   figures.log_held_bytes);
  }
  if (now.sync_p99_micros >= kSyncSlowMicros) {
    text += Format("slow: one sync of the log in a hundred takes {} us or more ({})\n",
                   now.sync_p99_micros, LogSyncMethodName(figures.log_sync_method));
  }
  return text;
}

std::string AboutPool(const Situation& now) {
  const EngineFigures& figures = now.figures;
  const uint64_t waits = now.since.of(Counter::kFreeFrameWaits);
  std::string text;
  if (waits > 0) {
    text += Format(
        "full: sessions found no free frame {} times; {} of {} pages are dirty, {:.0f} "
        "pages are read and {:.0f} written a second\n",
        waits, figures.pool_frames_dirty, figures.pool_frames,
        now.since.PerSecond(Counter::kPagesRead), now.since.PerSecond(Counter::kPagesWritten));
  } else if (Share(figures.pool_frames_dirty, figures.pool_frames) >= kDirtyShare) {
    text += Format("full: {} of {} pages in the buffer pool are dirty\n", figures.pool_frames_dirty,
                   figures.pool_frames);
  }
  if (!figures.scrub.last_finding.empty()) {
    text += Format("damaged: {}\n", figures.scrub.last_finding);
  }
  if (figures.open_files_max > 0 && figures.open_files >= figures.open_files_max) {
    text += Format(
        "full: {} tablespaces are open, as many as may be; others are opened again and "
        "again (open_files_limit of the server)\n",
        figures.open_files);
  }
  return text;
}

std::string AboutTransactions(const Situation& now) {
  std::string text;
  if (now.waiting_for_rows > 0) {
    text += Format(
        "stuck: {} transactions wait for row locks, see INFORMATION_SCHEMA."
        "ROWAN_LOCK_WAITS\n",
        now.waiting_for_rows);
  }
  if (now.figures.failed_rollbacks > 0) {
    text += Format(
        "stuck: rollbacks of {} transactions failed, whose rows stay locked until they are "
        "through; the error log says why\n  they are tried again, unless something is damaged\n",
        now.figures.failed_rollbacks);
  }
  if (now.figures.purge.damaged_streams > 0) {
    text += Format(
        "stuck: {} streams of undo are damaged, what their transactions deleted is not removed; "
        "\"Damage in undo\" in docs/durability.md\n",
        now.figures.purge.damaged_streams);
  }
  if (now.figures.purge.history_length >= kHistoryLong) {
    text += Format(
        "slow: old versions of {} transactions wait for purge, which the oldest "
        "snapshot or the rate of writes holds up\n",
        now.figures.purge.history_length);
  }
  return text;
}

}  // namespace

CounterRates::CounterRates() : taken_at_nanos_(MonotonicNanos()) {}

CounterDeltas CounterRates::Take() {
  CounterDeltas deltas;
  const uint64_t now = MonotonicNanos();
  const uint64_t former = taken_at_nanos_.exchange(now, std::memory_order_relaxed);
  deltas.seconds = static_cast<double>(now - std::min(now, former)) / kNanosPerSecond;
  for (size_t i = 0; i < deltas.counts.size(); ++i) {
    const uint64_t count = ReadCounter(static_cast<Counter>(i));
    const uint64_t taken = taken_[i].exchange(count, std::memory_order_relaxed);
    deltas.counts[i] = count - std::min(count, taken);
  }
  return deltas;
}

std::string DescribeAttention(const Situation& now) {
  std::string text;
  if (now.figures.stopped) {
    text +=
        "stuck: the engine is stopped, a write or sync of log or data failed; the error log "
        "says which\n";
  }
  text += AboutTransactions(now) + AboutLog(now) + AboutPool(now);
  return text.empty() ? "nothing\n" : text;
}

std::string DescribeRates(const CounterDeltas& since) {
  std::string text = Format("in the last {:.1f} s, per second:\n", since.seconds);
  constexpr std::pair<Counter, const char*> kRates[] = {
      {Counter::kCommits, "commits"},
      {Counter::kRowsRead, "rows read"},
      {Counter::kRowsInserted, "rows inserted"},
      {Counter::kRowsUpdated, "rows updated"},
      {Counter::kRowsDeleted, "rows deleted"},
      {Counter::kPagesRead, "pages read"},
      {Counter::kPagesWritten, "pages written"},
      {Counter::kLogBytes, "bytes of log"},
      {Counter::kLogSyncs, "syncs of the log"},
  };
  for (const auto& [counter, name] : kRates) {
    text += Format("{:.1f} {}\n", since.PerSecond(counter), name);
  }
  return text;
}

}  // namespace rowan
