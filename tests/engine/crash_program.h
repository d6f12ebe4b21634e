// SPDX-License-Identifier: GPL-2.0-only
// CrashProgram: a random multi-threaded program against the engine, a power cut in the midst of it,
// recovery, a check of every structure, and the comparison with a model that knows which commits
// were acknowledged.
//
// Each thread owns the ids congruent to its number, so its part of the table is a serial history:
// the list of states after each of its commits. After a crash its rows must equal one of these
// states, not older than its last commit that was acknowledged as durable.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/engine/engine_world.h"

namespace rowan {

struct CrashProgramSettings {
  uint32_t threads = 3;
  uint32_t transactions = 40;      ///< per thread and round
  uint32_t rounds = 2;             ///< crashes
  uint32_t ids_per_thread = 24;
  uint32_t text_bytes_max = 600;
};

class CrashProgram {
 public:
  CrashProgram(uint64_t seed, const CrashProgramSettings& settings);
  /// Runs all rounds; failures are test failures that name the seed.
  void Run();

 private:
  struct Worker {
    uint32_t number = 0;
    Random random{0};
    ToyRows rows;                  ///< after the last commit attempted
    std::vector<ToyRows> history;  ///< states since the last durable one; [0] = that one
    bool commit_in_doubt = false;  ///< history.back() was being committed when the power went
  };

  void Round(uint32_t round);
  void Work(Worker* worker, Table* table);
  bool Transaction(Worker* worker, Table* table, Session* session);
  Status Operation(Worker* worker, Table* table, Session* session, ToyRows* rows);
  ToyRow RandomRow(Worker* worker, uint64_t id);
  void Compare(Table* table);
  void ReopenThroughCrashes();

  const uint64_t seed_;
  const CrashProgramSettings settings_;
  Random random_;
  EngineWorld world_;
  TableId table_;
  std::vector<Worker> workers_;
};

}  // namespace rowan
