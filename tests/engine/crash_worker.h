// SPDX-License-Identifier: GPL-2.0-only
// CrashWorker: one writing thread of a crash program and the model of what it did.
//
// It owns the ids congruent to its number, so its part of the table is a serial history. Each of
// its transactions has a number, which the first of its rows, the marker, carries: after a crash
// the marker tells which transaction was the last, and its rows must be exactly the state after
// that one. Some transactions also change one of a few hot rows, which hold for each worker the
// newest of its transactions that touched them: whoever survives must have survived after all that
// it had read.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/engine/crash_context.h"

namespace rowan {

inline constexpr uint32_t kCrashWorkersMax = 8;
inline constexpr uint32_t kHotRows = 2;
inline constexpr uint64_t kHotRowFirst = uint64_t{1} << 40;
/// Newest transaction of each worker that changed a hot row.
using HotClock = std::array<uint32_t, kCrashWorkersMax>;
ToyRow MakeHotRow(uint32_t hot, const HotClock& clock);
HotClock ParseHotRow(const ToyRow& row);

struct CrashWorkerSettings {
  uint32_t workers = 3;
  uint32_t ids = 24;  ///< of each
  uint32_t text_bytes_max = 600;
  uint32_t blob_bytes_max = 5 * TestPageSizeBytes();  ///< some large enough for a patch
  uint32_t long_operations = 80;  ///< of a transaction now and then: undo of many pages
  uint32_t long_one_in = 30;      ///< how often that is
};

class CrashWorker {
 public:
  CrashWorker(uint32_t number, uint64_t seed, const CrashWorkerSettings& settings)
      : number_(number), settings_(settings), random_(seed), history_(1) {}

  /// Thread body: so many transactions, or until the engine or the power is gone.
  void Work(CrashContext* context, Table* table, uint32_t transactions);

  /// Compares with all rows found after recovery and takes over what the crash decided.
  void Settle(const ToyRows& all, CrashKind kind);
  /// After Settle of all workers: the hot row agrees with what survived of this one.
  void CheckHot(uint32_t hot, const HotClock& clock) const;
  /// From now on what a backup may have is remembered until Settle.
  void RememberForBackups() { remembers_ = true; }
  /// Compares with all rows of a copy that ends at `end`; call before Settle.
  void CheckCopy(const ToyRows& all, Lsn end) const;
  /// As coordinator of the prepared transactions: whether it decided that this one commits.
  [[nodiscard]] bool Decided(const std::string& xid) const { return decided_.contains(xid); }
  [[nodiscard]] uint64_t commits() const { return commits_; }

 private:
  struct State {
    uint32_t sequence = 0;
    ToyRows rows;
    std::array<uint32_t, kHotRows> hot{};  ///< newest transaction that changed it
  };
  /// A state, and when it came: not before `from`, and to stay by `by`.
  struct Remembered {
    State state;
    Lsn from;
    Lsn by;
  };
  enum class Outcome { kGoOn, kStop };

  Outcome Transaction(CrashContext* context, Table* table, Session* session);
  Outcome Failed(CrashContext* context, Session* session, Status status);
  Status Change(Table* table, Session* session, State* state);
  Status ChangeOne(Table* table, Session* session, uint64_t id, const ToyRow& row, State* state);
  Status ChangeHot(Table* table, Session* session, uint32_t hot);
  Outcome Commit(CrashContext* context, Session* session, State state);
  Outcome CommitInTwoPhases(CrashContext* context, Session* session, State state);
  Status Resolve(CrashContext* context, Session* session, const std::string& xid, bool commit);
  void Remember(CrashContext* context, const State& state, Lsn from, const Status& status);
  [[nodiscard]] ToyRows MineOf(const ToyRows& all) const;
  [[nodiscard]] uint32_t MarkerIn(const ToyRows& mine) const;
  ToyRow RandomRow(uint64_t id);
  /// In a few places.
  ToyRow WithChangedBlob(ToyRow row);
  [[nodiscard]] uint64_t IdAt(uint32_t position) const {
    return 1 + number_ + uint64_t{settings_.workers} * position;
  }

  const uint32_t number_;
  const CrashWorkerSettings settings_;
  Random random_;
  uint32_t sequence_ = 0;       ///< of the newest transaction attempted
  std::vector<State> history_;  ///< attempted commits, from the oldest that may be the last
  uint32_t durable_ = 0;        ///< acknowledged as durable
  uint32_t written_ = 0;        ///< acknowledged as safe from a crash of the process
  uint32_t committed_ = 0;      ///< acknowledged
  uint64_t commits_ = 0;
  bool remembers_ = false;
  std::vector<Remembered> remembered_{1};  ///< since the last Settle
  std::set<std::string> decided_;          ///< prepared transactions that must commit
};

}  // namespace rowan
