// SPDX-License-Identifier: GPL-2.0-only
// rowan-bench commit: every thread updates rows of its own and commits each update, through the
// engine without a server: what group commit gains with many threads and what it costs a lone one.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/format.h"
#include "base/logging.h"
#include "bench/commands.h"
#include "bench/options.h"
#include "bench/samples.h"
#include "engine/engine.h"

namespace rowan {
namespace {

constexpr uint64_t kRowsPerThread = 16;
constexpr size_t kRowBytes = 100;
constexpr char kFolderName[] = "/rowan-bench-commit";

struct Settings {
  std::string folder;
  std::vector<int> threads;
  std::vector<LogSyncMethod> methods;
  double seconds = 0;
  Durability durability = Durability::kDurable;
};

struct Figures {
  Samples samples;
  double seconds = 0;
  uint64_t syncs = 0;
};

std::string Key(uint64_t id) {
  std::string bytes(8, '\0');
  StoreBe64(reinterpret_cast<std::byte*>(bytes.data()), id);
  return bytes;
}

/// An engine in a fresh folder with one table full of rows.
class Instance {
 public:
  Instance(const Settings& settings, LogSyncMethod method, uint64_t rows) {
    std::filesystem::remove_all(settings.folder);
    std::filesystem::create_directories(settings.folder);
    EngineOptions options;
    options.storage.folder = settings.folder;
    options.storage.log.sync_method = method;
    Result<std::unique_ptr<Engine>> opened = Engine::Open(options);
    Require(opened.status(), "opening the engine");
    engine_ = std::move(opened).value();
    CreateTable(rows);
  }

  Engine* engine() { return engine_.get(); }
  Table* table() { return table_.get(); }
  void Close() {
    table_.reset();
    Require(engine_->Close(), "closing the engine");
  }

 private:
  void CreateTable(uint64_t rows) {
    TableDef definition;
    definition.name = "bench/rows";
    definition.indexes = {ClusteredIndex("PRIMARY")};
    const std::unique_ptr<Session> session = engine_->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    Result<std::shared_ptr<Table>> table = engine_->CreateTable(session.get(), definition);
    Require(table.status(), "creating the table");
    table_ = std::move(table).value();
    const std::string row(kRowBytes, 'r');
    for (uint64_t id = 0; id < rows; ++id) {
      const Status status = session->InsertRow(table_.get(), AsBytes(Key(id)), AsBytes(row), {});
      Require(status, "inserting a row");
    }
    Require(session->Commit(), "committing the rows");
    Require(engine_->FlushLog(), "flushing the log");
  }

  std::unique_ptr<Engine> engine_;
  std::shared_ptr<Table> table_;
};

void RunClient(Instance* instance, uint64_t number, uint64_t stop, Durability durability,
               Samples* samples) {
  const std::unique_ptr<Session> session = instance->engine()->NewSession();
  std::string row(kRowBytes, 'r');
  for (uint64_t i = 0; MonotonicNanos() < stop; ++i) {
    const std::string key = Key(number * kRowsPerThread + i % kRowsPerThread);
    std::memcpy(row.data(), &i, sizeof(i));
    const uint64_t begin = MonotonicNanos();
    session->Begin(IsolationLevel::kRepeatableRead);
    session->StartStatement();
    const Status status =
        session->UpdateRow(instance->table(), AsBytes(key), AsBytes(key), AsBytes(row), {});
    Require(status, "updating a row");
    Require(session->Commit(durability), "committing");
    samples->Add(MonotonicNanos() - begin);
  }
}

Figures RunThreads(Instance* instance, int threads, const Settings& settings) {
  Figures figures;
  const uint64_t syncs = ReadCounter(Counter::kLogSyncs);
  std::vector<Samples> samples(static_cast<size_t>(threads));
  const uint64_t begin = MonotonicNanos();
  const uint64_t stop = begin + static_cast<uint64_t>(settings.seconds * 1e9);
  std::vector<std::thread> clients;
  for (size_t i = 0; i < samples.size(); ++i) {
    clients.emplace_back(RunClient, instance, i, stop, settings.durability, &samples[i]);
  }
  for (std::thread& client : clients) client.join();
  figures.seconds = static_cast<double>(MonotonicNanos() - begin) / 1e9;
  figures.syncs = ReadCounter(Counter::kLogSyncs) - syncs;
  for (const Samples& mine : samples) figures.samples.AddAll(mine);
  return figures;
}

void PrintRow(const char* method, int threads, Figures* figures) {
  const auto commits = static_cast<double>(figures->samples.count());
  const auto syncs = static_cast<double>(figures->syncs);
  std::puts(Format("{:<14}{:>8}{:>12.0f}{:>10.1f}{:>10.1f}{:>10.1f}{:>12.1f}{:>14.2f}{:>14.3f}",
                   method, threads, commits / figures->seconds,
                   figures->samples.QuantileMicros(0.5), figures->samples.QuantileMicros(0.95),
                   figures->samples.QuantileMicros(0.99), figures->samples.QuantileMicros(1),
                   syncs == 0 ? 0 : commits / syncs, commits == 0 ? 0 : syncs / commits)
                .c_str());
  std::fflush(stdout);
}

void RunMethod(const Settings& settings, LogSyncMethod method) {
  int threads_max = 1;
  for (const int threads : settings.threads) threads_max = std::max(threads_max, threads);
  Instance instance(settings, method, static_cast<uint64_t>(threads_max) * kRowsPerThread);
  if (instance.engine()->Figures().log_sync_method != method) {
    std::puts(Format("{:<14}{:>8}", LogSyncMethodName(method), "refused here").c_str());
  } else {
    for (const int threads : settings.threads) {
      Figures figures = RunThreads(&instance, threads, settings);
      PrintRow(LogSyncMethodName(method), threads, &figures);
    }
  }
  instance.Close();
}

Settings SettingsOf(const boost::program_options::variables_map& values) {
  Settings settings;
  settings.folder = values["dir"].as<std::string>() + kFolderName;
  settings.threads = ParseNumbers(values["threads"].as<std::string>());
  settings.methods = ParseMethods(values["method"].as<std::string>());
  settings.seconds = values["seconds"].as<double>();
  const int durability = values["durability"].as<int>();
  if (durability < 0 || durability > 2) throw std::invalid_argument("durability is 0, 1 or 2");
  settings.durability = static_cast<Durability>(durability);
  return settings;
}

}  // namespace

int RunCommitCommand(const std::vector<std::string>& arguments) {
  namespace po = boost::program_options;
  po::options_description options("options");
  options.add_options()("help,h", "show this")("dir,d", po::value<std::string>()->required(),
                                               "folder on the disk to measure")(
      "threads,t", po::value<std::string>()->default_value("1,2,4,8,16,32,64,128,256"),
      "comma-separated numbers of threads")(
      "method,m", po::value<std::string>()->default_value("fdatasync"),
      "comma-separated: fsync, fdatasync, dsync, direct_dsync, uring, all")(
      "durability", po::value<int>()->default_value(1),
      "as rowan_flush_log_at_trx_commit: 0, 1 or 2")(
      "seconds,s", po::value<double>()->default_value(2.0), "for each line of the table");
  po::variables_map values;
  if (!ParseOptions(arguments,
                    "rowan-bench commit: single-row updates, each committed, by number of threads. "
                    "The latency is that of\nthe whole transaction: begin, update, commit.",
                    options, &values)) {
    return 0;
  }
  const Settings settings = SettingsOf(values);
  SetLogLevel(LogLevel::kError);
  std::printf("commits below %s, %g s a line, durability %u\n\n", settings.folder.c_str(),
              settings.seconds, static_cast<unsigned>(settings.durability));
  std::puts(Format("{:<14}{:>8}{:>12}{:>10}{:>10}{:>10}{:>12}{:>14}{:>14}", "method", "threads",
                   "commits/s", "p50 us", "p95 us", "p99 us", "longest us", "commits/sync",
                   "syncs/commit")
                .c_str());
  for (const LogSyncMethod method : settings.methods) RunMethod(settings, method);
  std::filesystem::remove_all(settings.folder);
  return 0;
}

}  // namespace rowan
