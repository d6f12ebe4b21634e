// SPDX-License-Identifier: GPL-2.0-only
// CrashDdl: the thread of a crash program that creates, fills, renames, truncates, rebuilds and
// drops tables, replaces their indexes in place, and exports and imports them, and the model of
// them: the list of states, table name -> rows, after each of its commits.
#pragma once

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/random.h"
#include "tests/engine/crash_context.h"
#include "tests/engine/crash_variations.h"

namespace rowan {

/// Outside of the instance folder; of a quarter of the tables of CrashDdl.
inline constexpr char kCrashDirectory[] = "/disk";

class CrashDdl {
 public:
  explicit CrashDdl(uint64_t seed) : random_(seed), history_(1) {}

  /// How many tables there may be at a time.
  void set_tables_max(size_t tables) { tables_max_ = tables; }
  /// What this program does besides.
  void set_variations(const CrashVariations& variations) { variations_ = variations; }
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
  /// A table is made anew while others write it.
  Status RebuildOnline(CrashContext* context, Session* session);
  /// The rows of a table go into a file, and from it into a new one.
  Status Transport(EngineFixture* world, Session* session, TableId old, const std::string& name);
  static Status Export(EngineFixture* world, Session* session, Table* table);
  static Status Import(EngineFixture* world, Session* session, Table* table);
  /// A transaction of another session on a table that is being altered.
  Status WriteMeanwhile(CrashContext* context, const std::string& name, TableId table);
  Status Create(EngineFixture* world, Session* session, const std::string& name, ToyRows* rows);
  Status Insert(EngineFixture* world, Session* session, TableId id, ToyRows* rows);
  /// ALTER TABLE and CREATE INDEX by copy.
  Status Rebuild(EngineFixture* world, Session* session, TableId old, const std::string& name,
                 const ToyRows& rows);
  static Result<TableId> Find(EngineFixture* world, const std::string& name);
  Status Drop(EngineFixture* world, Session* session, TableId table);
  static TableDef Definition(const std::string& name);
  [[nodiscard]] const std::string& AnyTable();
  ToyRow AnyRow(uint64_t id);
  /// Some rows change, some go.
  Status Change(EngineFixture* world, Session* session, TableId id, ToyRows* rows);
  void CheckFiles(EngineFixture* world);
  /// An exported file is there as a whole or not at all.
  static void CheckExport(EngineFixture* world);
  /// That each file outside of the instance folder has its link there.
  static void CheckPlacedFiles(EngineFixture* world);
  /// Where the links in the instance folder, and those set aside, lead to.
  static std::unordered_set<std::string> LinkedPlaces(EngineFixture* world);

  Random random_;
  uint32_t next_name_ = 0;
  size_t tables_max_ = 4;
  CrashVariations variations_;
  std::vector<State> history_;
  std::vector<Moment> moments_{1};  ///< of each of them
  size_t durable_ = 0;  ///< positions in history_ that a crash of some kind must not undo
  size_t written_ = 0;
  size_t committed_ = 0;
  bool in_doubt_ = false;  ///< a commit failed: nothing can be said about what follows
};

}  // namespace rowan
