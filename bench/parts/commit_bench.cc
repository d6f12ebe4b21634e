// SPDX-License-Identifier: GPL-2.0-only
// Commits per second and latency by number of threads, for each sync method, next to a bare write
// and sync of the same file: what grouping gains and what it costs a lone client. Each thread does
// about 2 us of work, appends one group of 300 bytes and waits until it is durable.
//
//   rowan-bench-commit <folder> [seconds per cell] [method ...]
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/logging.h"
#include "io/aligned_buffer.h"
#include "io/file.h"
#include "wal/log.h"
#include "wal/sync_strategy.h"

namespace {

using namespace rowan;

constexpr size_t kGroupBytes = 300;
constexpr uint64_t kWorkNanos = 2000;
constexpr uint64_t kBareFileBytes = uint64_t{16} << 20;

struct Figures {
  double per_second = 0;
  double p50_us = 0;
  double p99_us = 0;
  double per_sync = 0;
};

void Check(Status status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what, status.message());
  std::exit(1);
}

void Work() {
  const uint64_t until = MonotonicNanos() + kWorkNanos;
  while (MonotonicNanos() < until) {
  }
}

Figures Summarise(std::vector<uint64_t> nanos, double seconds, uint64_t syncs) {
  Figures figures;
  if (nanos.empty()) return figures;
  std::sort(nanos.begin(), nanos.end());
  figures.per_second = static_cast<double>(nanos.size()) / seconds;
  figures.p50_us = static_cast<double>(nanos[nanos.size() / 2]) / 1000;
  figures.p99_us = static_cast<double>(nanos[nanos.size() * 99 / 100]) / 1000;
  figures.per_sync = syncs == 0 ? 0 : static_cast<double>(nanos.size()) / double(syncs);
  return figures;
}

/// The least that a lone durable write can cost: the same bytes at the same places of a file that
/// is filled with zeros, by the same strategy, without any log.
class BareFile {
 public:
  BareFile(const std::string& folder, LogSyncMethod method) : block_(kBareFileBytes) {
    std::string reason;
    auto strategy = MakeSyncStrategy(PosixFileSystem(), method, &reason);
    Check(strategy.status(), reason.c_str());
    strategy_ = std::move(strategy).value();
    auto fill = PosixFileSystem()->Open(folder + "/bare", {.create = true});
    Check(fill.status(), "open");
    Check(fill.value()->Write(0, block_.span()), "fill");
    Check(fill.value()->Sync(SyncMethod::kFsync), "sync");
    auto file = PosixFileSystem()->Open(folder + "/bare", strategy_->open_options());
    Check(file.status(), "open");
    file_ = std::move(file).value();
  }

  void Commit() {
    const uint64_t from = position_ / 4096 * 4096;
    position_ += kGroupBytes;
    const uint64_t to = (position_ + 4095) / 4096 * 4096;
    std::memset(block_.data() + position_, 1, 8);
    Check(strategy_->WriteAndSync(file_.get(), from, block_.span().subspan(from, to - from)),
          "write");
    if (position_ > kBareFileBytes / 2) position_ = 0;
  }

 private:
  AlignedBuffer block_;
  std::unique_ptr<SyncStrategy> strategy_;
  std::unique_ptr<File> file_;
  uint64_t position_ = 0;
};

struct LogUnderTest {
  std::unique_ptr<ControlFile> control;
  std::unique_ptr<Log> log;
};

LogUnderTest OpenLog(const std::string& folder, LogSyncMethod method) {
  LogUnderTest opened;
  auto control = ControlFile::Create(PosixFileSystem(), folder, {});
  Check(control.status(), "control file");
  opened.control = std::move(control).value();
  LogOptions options;
  options.sync_method = method;
  auto log = Log::Open(PosixFileSystem(), options, opened.control.get(), Lsn(0));
  Check(log.status(), "log");
  opened.log = std::move(log).value();
  return opened;
}

void Commit(Log* log, GroupBuilder* group) {
  group->Clear();
  const size_t body = kGroupBytes - kGroupHeaderBytes - 5;
  std::memset(group->Add(RecordType::kPageBytes, {SpaceId(16), PageNumber(1)}, body), 7, body);
  Check(log->ReserveOrWait(kGroupBytes), "reserve");
  const Lsn end = log->Append(group);
  log->Release(kGroupBytes);
  Check(log->WaitCommitted(end, Durability::kDurable), "commit");
  log->SetCheckpoint(log->durable());
}

template <typename Call>
uint64_t Nanos(Call call) {
  Work();
  const uint64_t before = MonotonicNanos();
  call();
  return MonotonicNanos() - before;
}

void RunClient(Log* log, uint64_t stop, std::vector<uint64_t>* nanos) {
  GroupBuilder group;
  while (MonotonicNanos() < stop) nanos->push_back(Nanos([&] { Commit(log, &group); }));
}

struct Pair {
  Figures bare;
  Figures log;
};

/// One thread, in turns, so that whatever else the machine does hits both alike.
Pair RunInTurns(Log* log, BareFile* bare, double seconds) {
  GroupBuilder group;
  std::vector<uint64_t> log_nanos;
  std::vector<uint64_t> bare_nanos;
  const uint64_t stop = MonotonicNanos() + static_cast<uint64_t>(seconds * 2e9);
  while (MonotonicNanos() < stop) {
    bare_nanos.push_back(Nanos([&] { bare->Commit(); }));
    log_nanos.push_back(Nanos([&] { Commit(log, &group); }));
  }
  const uint64_t count = log_nanos.size();
  return {Summarise(std::move(bare_nanos), seconds * 2, count),
          Summarise(std::move(log_nanos), seconds * 2, count)};
}

Figures RunLog(Log* log, int threads, double seconds) {
  const uint64_t syncs = ReadCounter(Counter::kLogSyncs);
  std::vector<std::vector<uint64_t>> nanos(static_cast<size_t>(threads));
  const uint64_t begin = MonotonicNanos();
  const auto stop = begin + static_cast<uint64_t>(seconds * 1e9);
  std::vector<std::thread> clients;
  for (auto& mine : nanos) clients.emplace_back(RunClient, log, stop, &mine);
  for (std::thread& client : clients) client.join();
  const double elapsed = static_cast<double>(MonotonicNanos() - begin) / 1e9;
  std::vector<uint64_t> all;
  for (const auto& mine : nanos) all.insert(all.end(), mine.begin(), mine.end());
  return Summarise(std::move(all), elapsed, ReadCounter(Counter::kLogSyncs) - syncs);
}

void Print(const char* method, const std::string& threads, const Figures& figures) {
  std::printf("%-13s%9s%12.0f%10.1f%10.1f%14.1f\n", method, threads.c_str(), figures.per_second,
              figures.p50_us, figures.p99_us, figures.per_sync);
}

void RunMethod(const std::string& folder, LogSyncMethod method, double seconds) {
  const char* name = LogSyncMethodName(method);
  std::filesystem::create_directory(folder);
  LogUnderTest opened = OpenLog(folder, method);
  BareFile bare(folder, method);
  const Pair pair = RunInTurns(opened.log.get(), &bare, seconds);
  Print(name, "bare", pair.bare);
  Print(name, "in turns", pair.log);
  for (const int threads : {1, 2, 4, 8, 16, 32, 64}) {
    Print(name, std::to_string(threads), RunLog(opened.log.get(), threads, seconds));
  }
  Check(opened.log->Close(), "close");
  opened = {};
  std::filesystem::remove_all(folder);
}

bool Wanted(LogSyncMethod method, int argc, char** argv) {
  if (argc <= 3) return true;
  const std::string name = LogSyncMethodName(method);
  return std::any_of(argv + 3, argv + argc, [&](const char* wanted) { return name == wanted; });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s <folder> [seconds per cell] [method ...]\n", argv[0]);
    return 2;
  }
  SetLogLevel(LogLevel::kError);
  const double seconds = argc > 2 ? std::strtod(argv[2], nullptr) : 1.0;
  std::printf("%-13s%9s%12s%10s%10s%14s\n", "method", "threads", "commits/s", "p50 us", "p99 us",
              "commits/sync");
  for (const LogSyncMethod method :
       {LogSyncMethod::kFsync, LogSyncMethod::kFdatasync, LogSyncMethod::kDsync,
        LogSyncMethod::kDirectDsync, LogSyncMethod::kUring}) {
    if (Wanted(method, argc, argv)) {
      RunMethod(std::string(argv[1]) + "/rowan-bench-commit", method, seconds);
    }
  }
  return 0;
}
