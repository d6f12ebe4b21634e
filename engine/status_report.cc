// SPDX-License-Identifier: GPL-2.0-only
// SHOW ENGINE ROWAN STATUS: sections an operator reads top down; figures since start.
#include <iterator>

#include "base/counters.h"
#include "base/format.h"
#include "engine/engine.h"
#include "engine/engine_impl.h"

namespace rowan {
namespace {

constexpr size_t kTransactionsShown = 100;

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

void DescribeTransactions(const TxnManager& txns, std::string* report) {
  const std::vector<TxnInfo> infos = txns.Describe();
  *report += Format("{} writing or prepared transactions\n",
                 infos.size());
  for (size_t i = 0; i < infos.size() && i < kTransactionsShown; ++i) {
    const TxnInfo& info = infos[i];
    *report += Format("transaction {}, {}{}{}, {} undo records, {} row locks\n", info.id.value(),
                   StateName(info.state), info.waiting ? ", waiting for a row lock" : "",
                   info.recovered ? ", recovered" : "", info.undo_records, info.locks);
  }
}

void DescribeLog(const Log& log, std::string* report) {
  *report += Format("tail LSN {}\nwritten up to {}\ndurable up to {}\ncheckpoint at {}\n"
                 "checkpoint age {} of {} bytes\nsync method {}\n",
                 log.tail().value(), log.written().value(), log.durable().value(),
                 log.checkpoint().value(), log.tail().value() - log.checkpoint().value(),
                 log.capacity_bytes(), LogSyncMethodName(log.sync_method()));
}

void DescribeSyncs(const Log& log, std::string* report) {
  const uint64_t commits = ReadCounter(Counter::kCommits);
  const uint64_t syncs = ReadCounter(Counter::kLogSyncs);
  const auto ratio = [](uint64_t part, uint64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  *report += Format("{} log writes, {} log syncs, {} commits: {:.3f} syncs per commit, "
                    "{:.2f} commits per sync\n",
                    ReadCounter(Counter::kLogWrites), syncs, commits, ratio(syncs, commits),
                    ratio(commits, syncs));
  for (size_t i = 0; i < kLogSyncMethods; ++i) {
    const auto method = static_cast<LogSyncMethod>(i);
    for (const LogPhase phase : {LogPhase::kWrite, LogPhase::kSync, LogPhase::kCommit}) {
      const LatencyHistogram& histogram = log.Latency(method, phase);
      const uint64_t count = histogram.TotalCount();
      if (count == 0) continue;
      *report += Format("{} {}: {} times, {:.1f} us on average, median up to {} us, "
                        "99 % up to {} us\n",
                        LogSyncMethodName(method), LogPhaseName(phase), count,
                        ratio(histogram.TotalMicros(), count), histogram.QuantileMicros(0.50),
                        histogram.QuantileMicros(0.99));
    }
  }
}

void DescribePool(const BufferPool& pool, std::string* report) {
  const PoolStatistics statistics = pool.Statistics();
  *report += Format("{} frames of {} bytes, {} free, {} dirty\nI/O backend {}\n", statistics.frames,
                 pool.page_size_bytes(), statistics.free_frames, statistics.dirty_frames,
                 IoBackendName(pool.io_backend()));
  const uint64_t checkpoints = ReadCounter(Counter::kCheckpoints);
  const uint64_t written = ReadCounter(Counter::kPageVersionsBytes);
  *report += Format("page versions: {} bytes of memory, {} bytes written per checkpoint, {} stale "
                    "pages found\n",
                    statistics.page_versions_bytes, checkpoints == 0 ? 0 : written / checkpoints,
                    ReadCounter(Counter::kStalePages));
}

}  // namespace

std::string Engine::StatusReport() {
  std::string report = "ROWAN STATUS";
  if (stopped()) report += "\nTHE ENGINE IS STOPPED: a write or sync of log or data failed.";
  Section(&report, "TRANSACTIONS");
  DescribeTransactions(*txns(), &report);
  Section(&report, "LOG");
  DescribeLog(*log(), &report);
  DescribeSyncs(*log(), &report);
  Section(&report, "BUFFER POOL");
  DescribePool(*pool(), &report);
  Section(&report, "UNDO AND PURGE");
  const UndoStatistics undo = impl_->undo->Statistics();
  report += Format("{} streams, {} pages, history list length {}\n", undo.streams, undo.pages,
                 undo.transactions_to_purge);
  Section(&report, "ROW LOCKS");
  report += Format("{} explicit row locks\n",
                 txns()->locks()->lock_count());
  Section(&report, "COUNTERS");
  for (uint32_t i = 0; i < static_cast<uint32_t>(Counter::kCount); ++i) {
    const auto counter = static_cast<Counter>(i);
    const CounterInfo& info = CounterDescription(counter);
    report += Format("{} {} {}\n", info.name, ReadCounter(counter),
                   info.unit);
  }
  return report;
}

}  // namespace rowan
