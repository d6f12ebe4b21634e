// SPDX-License-Identifier: GPL-2.0-only
// CrashDdl: the thread of a crash program that creates, fills, renames, truncates, rebuilds and
// drops tables and replaces their indexes in place, and the model of them: the list of states,
// table name -> rows, after each of its commits.
#pragma once

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/random.h"
#include "tests/engine/crash_context.h"

namespace rowan {

class CrashDdl {
 public:
  explicit CrashDdl(uint64_t seed) : random_(seed), history_(1) {}

  /// How many tables there may be at a time.
  void set_tables_max(size_t tables) { tables_max_ = tables; }
  /// Thread body: so many transactions, or until the engine or the power is gone.
  void Work(CrashContext* context, uint32_t transactions);
  /// Compares the tables there are, but for `other`, with the model, each checked as a whole.
  void Settle(EngineFixture* world, TableId other, CrashKind kind);
  /// The same of a copy, opened in `world`, that ends at `end`; call before Settle.
  void CheckCopy(EngineFixture* world, TableId other, Lsn end) const;

 private:
  using State = std::map<std::string, ToyRows>;

  /// When a state came: not before `from`, and to stay by `by`.
  struct Moment {
    Lsn from;
    Lsn by;
  };

  /// All tables there are but `other`.
  static State Read(EngineFixture* world, TableId other);
  [[nodiscard]] bool Transaction(CrashContext* context, Session* session);
  Status Step(EngineFixture* world, Session* session, State* state);
  /// Ends the transaction with a commit that is acknowledged as `state`.
  [[nodiscard]] bool Commit(CrashContext* context, Session* session, State state);
  Status AlterIndexes(CrashContext* context, Session* session);
  /// A transaction of another session on a table that is being altered.
  Status WriteMeanwhile(CrashContext* context, const std::string& name);
  Status Create(EngineFixture* world, Session* session, const std::string& name, ToyRows* rows);
  Status Insert(EngineFixture* world, Session* session, const std::string& name, ToyRows* rows);
  /// ALTER TABLE and CREATE INDEX by copy.
  Status Rebuild(EngineFixture* world, Session* session, TableId old, const std::string& name,
                 const ToyRows& rows);
  static Result<TableId> Find(EngineFixture* world, const std::string& name);
  Status Drop(EngineFixture* world, Session* session, TableId table);
  void CheckFiles(EngineFixture* world);
  /// That each file outside of the instance folder has its link there.
  static void CheckPlacedFiles(EngineFixture* world);
  /// Where the links in the instance folder, and those set aside, lead to.
  static std::unordered_set<std::string> LinkedPlaces(EngineFixture* world);

  Random random_;
  uint32_t next_name_ = 0;
  size_t tables_max_ = 4;
  std::unordered_set<std::string> dropped_files_;  ///< of tables that were to be dropped
  std::vector<State> history_;
  std::vector<Moment> moments_{1};  ///< of each of them
  size_t durable_ = 0;  ///< positions in history_ that a crash of some kind must not undo
  size_t written_ = 0;
  size_t committed_ = 0;
  bool in_doubt_ = false;  ///< a commit failed: nothing can be said about what follows
};

}  // namespace rowan
