// SPDX-License-Identifier: GPL-2.0-only
#include "engine/report/status_report.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/counters.h"
#include "base/format.h"
#include "engine/report/deadlock_report.h"
#include "storage/scrubber.h"

namespace rowan {
namespace {

constexpr size_t kTransactionsShown = 100;
/// With fewer, one in a hundred is not meaningful.
constexpr uint64_t kSyncsThatTell = 100;

const char* StateName(TxnState state) {
  switch (state) {
    case TxnState::kIdle: return "idle";
    case TxnState::kActive: return "active";
    case TxnState::kPrepared: return "prepared";
    case TxnState::kCommitted: return "committed";
    case TxnState::kRolledBack: return "rolled back";
  }
  return "unknown";
}

void Section(std::string* report, const char* title) {
  *report += Format("\n---\n{}\n---\n", title);
}

void DescribeTransactions(const std::vector<TxnInfo>& infos, std::string* report) {
  *report += Format("{} writing or prepared transactions\n", infos.size());
  for (size_t i = 0; i < infos.size() && i < kTransactionsShown; ++i) {
    const TxnInfo& info = infos[i];
    *report += Format("transaction {}, {}{}{}, {} undo records, {} row locks\n", info.id.value(),
                      StateName(info.state), info.waiting ? ", waiting for a row lock" : "",
                      info.recovered ? ", recovered" : "", info.undo_records, info.locks);
  }
}

void DescribeLog(const EngineFigures& figures, std::string* report) {
  *report += Format(
      "tail LSN {}\nwritten up to {}\ndurable up to {}\ncheckpoint at {}\n"
      "checkpoint age {} of {} bytes, {} files\nsync method {}\n",
      figures.log_tail.value(), figures.log_written.value(), figures.log_durable.value(),
      figures.log_checkpoint.value(), figures.log_tail.value() - figures.log_checkpoint.value(),
      figures.log_capacity_bytes, figures.log_files, LogSyncMethodName(figures.log_sync_method));
}

void DescribeReaders(const Log& log, std::string* report) {
  for (const LogHolds::Reader& reader : log.Readers()) {
    const uint64_t tail = std::max(log.tail(), reader.lsn).value();
    *report += Format("reader '{}' at LSN {}, {} bytes behind, {} permitted{}\n", reader.name,
                      reader.lsn.value(), tail - reader.lsn.value(), reader.bytes_max,
                      reader.lost ? ", lost" : "");
  }
}

void DescribeSyncs(const Log& log, std::string* report) {
  const uint64_t commits = ReadCounter(Counter::kCommits);
  const uint64_t syncs = ReadCounter(Counter::kLogSyncs);
  const auto ratio = [](uint64_t part, uint64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  *report += Format(
      "{} log writes, {} log syncs, {} commits: {:.3f} syncs per commit, "
      "{:.2f} commits per sync\n",
      ReadCounter(Counter::kLogWrites), syncs, commits, ratio(syncs, commits),
      ratio(commits, syncs));
  for (size_t i = 0; i < kLogSyncMethods; ++i) {
    const auto method = static_cast<LogSyncMethod>(i);
    for (const LogPhase phase : {LogPhase::kWrite, LogPhase::kSync, LogPhase::kCommit}) {
      const LatencyHistogram& histogram = log.Latency(method, phase);
      const uint64_t count = histogram.TotalCount();
      if (count == 0) continue;
      *report += Format(
          "{} {}: {} times, {:.1f} us on average, median up to {} us, "
          "99 % up to {} us\n",
          LogSyncMethodName(method), LogPhaseName(phase), count,
          ratio(histogram.TotalMicros(), count), histogram.QuantileMicros(0.50),
          histogram.QuantileMicros(0.99));
    }
  }
}

void DescribePool(const EngineFigures& figures, std::string* report) {
  *report += Format("{} frames of {} bytes, {} free, {} dirty\nI/O backend {}\n",
                    figures.pool_frames, figures.page_size_bytes, figures.pool_frames_free,
                    figures.pool_frames_dirty, IoBackendName(figures.io_backend));
  const uint64_t checkpoints = ReadCounter(Counter::kCheckpoints);
  const uint64_t written = ReadCounter(CounterOf(WriteCause::kPageLsns));
  *report += Format(
      "page LSNs: {} bytes of memory, {} bytes written per checkpoint, {} stale "
      "pages found\n",
      figures.page_lsns_bytes, checkpoints == 0 ? 0 : written / checkpoints,
      ReadCounter(Counter::kStalePages));
}

void DescribeScrubbing(const ScrubFigures& scrub, std::string* report) {
  *report += Format("at most {} bytes per second, {} rounds complete\n", scrub.bytes_per_second,
                    scrub.rounds);
  *report += Format("this round: {} of {} pages in {} s\n", scrub.pages_done, scrub.pages_total,
                    scrub.round_seconds);
  *report +=
      Format("{} pages damaged, {} damaged on disk and written again\n",
             ReadCounter(Counter::kScrubPagesDamaged), ReadCounter(Counter::kScrubPagesRewritten));
  if (!scrub.last_finding.empty()) *report += Format("last finding: {}\n", scrub.last_finding);
}

void DescribePurge(const PurgeFigures& purge, const StatementOfThread& statement_of,
                   std::string* report) {
  *report += Format(
      "{} row versions kept, {} of them could be purged, {} cannot: damage is in the way\n"
      "writers wait {} us for each page of undo\n",
      purge.versions_kept, purge.lag, purge.blocked, purge.writer_delay_us);
  const OldestSnapshot& oldest = purge.oldest_snapshot;
  if (!oldest.open) {
    *report += "no snapshot is open\n";
    return;
  }
  const std::string statement = statement_of ? statement_of(oldest.thread) : "";
  *report += Format("oldest snapshot: thread {}, open for {:.1f} s, statement: {}\n", oldest.thread,
                    static_cast<double>(oldest.age_ms) / 1000,
                    statement.empty() ? "none at the moment" : statement);
}

}  // namespace

EngineFigures StatusReport::Figures() const {
  const Log& log = *storage_->log();
  const PoolStatistics pool = storage_->pool()->Statistics();
  EngineFigures figures;
  figures.stopped = storage_->stopped();
  figures.page_size_bytes = storage_->options().page_size_bytes;
  figures.pool_frames = pool.frames;
  figures.pool_frames_free = pool.free_frames;
  figures.pool_frames_dirty = pool.dirty_frames;
  figures.page_lsns_bytes = pool.page_lsns_bytes;
  figures.visibility_map_bytes = pool.map_bytes;
  figures.io_backend = storage_->pool()->io_backend();
  figures.open_files = storage_->files()->OpenHandles();
  figures.open_files_max = storage_->files()->OpenHandlesMax();
  figures.scrub = storage_->scrubber()->Figures();
  figures.log_checkpoint = log.checkpoint();  // not after what is read next
  figures.log_durable = log.durable();
  figures.log_written = log.written();
  figures.log_tail = log.tail();
  figures.checkpoint_age_bytes = pool.checkpoint_age_bytes;
  figures.log_capacity_bytes = log.capacity_bytes();
  figures.log_files = log.files();
  for (const LogHolds::Reader& reader : log.Readers()) {
    if (reader.lost || reader.lsn > figures.log_tail) continue;
    ++figures.log_readers;
    figures.log_held_bytes =
        std::max(figures.log_held_bytes, figures.log_tail.value() - reader.lsn.value());
  }
  figures.log_sync_method = log.sync_method();
  figures.failed_rollbacks = txns_->FailedRollbacks();
  figures.purge = txns_->DescribePurge();
  figures.row_locks = txns_->locks()->lock_count();
  figures.row_lock_memory_bytes = txns_->locks()->memory_bytes() + txns_->serial()->memory_bytes();
  return figures;
}

Situation StatusReport::SituationNow(const CounterDeltas& since) const {
  const Log& log = *storage_->log();
  Situation now{.figures = Figures(), .since = since, .oldest_reader = {}};
  Lsn oldest = now.figures.log_tail;
  for (const LogHolds::Reader& reader : log.Readers()) {
    if (reader.lost || reader.lsn > oldest) continue;
    oldest = reader.lsn;
    now.oldest_reader = reader.name;
  }
  const LatencyHistogram& syncs = log.Latency(now.figures.log_sync_method, LogPhase::kSync);
  if (syncs.TotalCount() >= kSyncsThatTell) now.sync_p99_micros = syncs.QuantileMicros(0.99);
  const std::vector<TxnInfo> transactions = txns_->Describe();
  now.waiting_for_rows = static_cast<uint64_t>(std::count_if(
      transactions.begin(), transactions.end(), [](const TxnInfo& info) { return info.waiting; }));
  return now;
}

std::string StatusReport::Text(const CounterDeltas& since) const {
  const Situation now = SituationNow(since);
  const EngineFigures& figures = now.figures;
  std::string report = "ROWAN STATUS";
  Section(&report, "WHAT IS STUCK, SLOW OR FULL");
  report += DescribeAttention(now);
  Section(&report, "LOAD");
  report += DescribeRates(since);
  Section(&report, "TRANSACTIONS");
  DescribeTransactions(txns_->Describe(), &report);
  Section(&report, "LOG");
  DescribeLog(figures, &report);
  DescribeReaders(*storage_->log(), &report);
  DescribeSyncs(*storage_->log(), &report);
  Section(&report, "BUFFER POOL");
  DescribePool(figures, &report);
  Section(&report, "SCRUBBING");
  DescribeScrubbing(figures.scrub, &report);
  Section(&report, "UNDO AND PURGE");
  const UndoStatistics undo = undo_->Statistics();
  report += Format("{} streams, {} pages, history list length {}\n", undo.streams, undo.pages,
                   undo.transactions_to_purge);
  DescribePurge(figures.purge, statement_of_, &report);
  Section(&report, "ROW LOCKS");
  report += Format("{} explicit row locks, {} bytes for row locks\n", figures.row_locks,
                   figures.row_lock_memory_bytes);
  Section(&report, "LATEST DEADLOCK");
  report += DescribeDeadlock(txns_->locks()->LastDeadlock(), *catalog_);
  Section(&report, "COUNTERS");
  for (uint32_t i = 0; i < static_cast<uint32_t>(Counter::kCount); ++i) {
    const auto counter = static_cast<Counter>(i);
    const CounterInfo& info = CounterDescription(counter);
    report += Format("{} {} {}\n", info.name, ReadCounter(counter), info.unit);
  }
  return report;
}

}  // namespace rowan
