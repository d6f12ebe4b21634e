// SPDX-License-Identifier: GPL-2.0-only
// What many unused tables cost: memory of a closed and of an open table, startup, and the commit of
// a prepared transaction.
//
//   rowan-bench-tables make FOLDER TABLES     an instance with that many tables
//   rowan-bench-tables measure FOLDER         in another process, with fresh memory
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/format.h"
#include "engine/engine.h"

namespace rowan {
namespace {

constexpr int kCommits = 2000;

void Require(Status status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s failed: %s\n", what, status.message());
  std::exit(1);
}

template <typename T>
T Require(Result<T> result, const char* what) {
  Require(result.status(), what);
  return std::move(result).value();
}

double ResidentMib() {
  std::ifstream stream("/proc/self/statm");
  uint64_t total = 0;
  uint64_t resident = 0;
  stream >> total >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

/// Of this thread.
double CpuMicros() {
  timespec now;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

void MakeTables(Engine* engine, size_t tables) {
  for (size_t i = engine->ListTableIds().size(); i < tables; ++i) {
    const std::unique_ptr<Session> session = engine->NewSession();
    session->Begin();
    const std::string name = Format("bench/t{}", i);
    const TableDef definition{.name = name,
                              .indexes = {ClusteredIndex("PRIMARY"), SecondaryIndex("k")}};
    const auto table = Require(engine->CreateTable(session.get(), definition), "creating a table");
    Require(session->InsertRow(table.get(), AsBytes("key"), AsBytes("row")), "inserting");
    Require(session->Commit(Durability::kBackground), "committing");
  }
}

/// CPU of the median commit.
double MeasureCommitPrepared(Engine* engine) {
  const auto table = Require(engine->OpenTable(engine->ListTableIds().front()), "opening");
  std::vector<double> micros;
  for (int i = 0; i < kCommits; ++i) {
    const std::string xid = Format("xid {}", i);
    const std::unique_ptr<Session> session = engine->NewSession();
    session->Begin();
    Require(
        session->InsertRow(table.get(), AsBytes(Format("{} {}", xid, ::getpid())), AsBytes("row")),
        "inserting");
    Require(session->Prepare(AsBytes(xid), Coordinator::kExternal).status(), "preparing");
    session->DetachPrepared();
    const double begin = CpuMicros();
    Require(engine->CommitPrepared(xid, Durability::kBackground), "committing");
    micros.push_back(CpuMicros() - begin);
  }
  std::nth_element(micros.begin(), micros.begin() + kCommits / 2, micros.end());
  return micros[kCommits / 2];
}

EngineOptions OptionsFor(const std::string& folder) {
  EngineOptions options;
  options.storage.folder = folder;
  options.storage.buffer.pool_bytes = uint64_t{512} << 20;
  options.storage.log.capacity_bytes = uint64_t{512} << 20;
  return options;
}

void Make(const std::string& folder, size_t tables) {
  const auto engine = Require(Engine::Open(OptionsFor(folder)), "opening");
  MakeTables(engine.get(), tables);
  Require(engine->Close(), "closing");
}

void Measure(const std::string& folder) {
  const double before = ResidentMib();
  const uint64_t begin = MonotonicMicros();
  const auto engine = Require(Engine::Open(OptionsFor(folder)), "opening");
  const std::vector<TableId> ids = engine->ListTableIds();
  std::printf("tables %zu\nstart_ms %.1f\nstart_pages_read %llu\nclosed_mib %.1f\n", ids.size(),
              static_cast<double>(MonotonicMicros() - begin) / 1e3,
              static_cast<unsigned long long>(ReadCounter(Counter::kPagesRead)),
              ResidentMib() - before);
  const double closed = ResidentMib();
  std::vector<std::shared_ptr<Table>> open;
  for (const TableId id : ids) open.push_back(Require(engine->OpenTable(id), "opening a table"));
  const EngineFigures figures = engine->Figures();
  std::printf("opened_mib %.1f\nopen_files %llu\npage_lsns_mib %.1f\npool_pages %llu\n",
              ResidentMib() - closed, static_cast<unsigned long long>(figures.open_files),
              static_cast<double>(figures.page_lsns_bytes) / (1 << 20),
              static_cast<unsigned long long>(figures.pool_frames - figures.pool_frames_free));
  open.clear();
  std::printf("commit_prepared_cpu_us %.2f\n", MeasureCommitPrepared(engine.get()));
  Require(engine->Close(), "closing");
}

}  // namespace
}  // namespace rowan

int main(int argc, char** argv) {
  const std::string command = argc > 2 ? argv[1] : "";
  if (command == "make" && argc == 4) {
    rowan::Make(argv[2], std::strtoul(argv[3], nullptr, 10));
  } else if (command == "measure") {
    rowan::Measure(argv[2]);
  } else {
    std::fprintf(stderr, "usage: rowan-bench-tables make FOLDER TABLES | measure FOLDER\n");
    return 2;
  }
  return 0;
}
