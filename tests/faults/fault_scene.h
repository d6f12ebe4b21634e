// SPDX-License-Identifier: GPL-2.0-only
// FaultScene: an instance with a table that is worked on and another one beside it, and the works
// that tests/faults/fault_rules.txt names, each of which makes certain calls of the file system.
// Thread safety: none.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/engine/engine_fixture.h"
#include "tests/support/log_capture.h"

namespace rowan::faults {

class FaultScene {
 public:
  /// With requests to a simulated kernel, or with blocking calls.
  enum class Calls { kQueued, kBlocking };
  explicit FaultScene(Calls calls);

  /// The session that works.
  void Begin();
  /// All rows, or one of them without its keys; `after` is what they are then.
  Status Change();
  Status ChangeOne();
  /// The rows are what they were to become.
  Status Commit();
  /// A failed work is undone, as far as that goes; its session stays.
  void Undo();
  void Checkpoint();
  /// All pages of the table leave the pool.
  void DropPages();
  /// The process ends and the next one begins; what was not acknowledged may be done or not.
  void Shutdown();
  void Kill();
  void OpenTables();
  Status ReadAll();
  Status CreateTable(const std::string& directory);
  Status DropMade();

  /// The file of a table that is there or is the next to be made.
  [[nodiscard]] std::string FileOf(const Table& table) const;
  [[nodiscard]] std::string NextFile() const;
  [[nodiscard]] bool FaultMet() const { return world.files.FaultsMet() != 0; }

  // What holds once the faults are gone.
  /// Nobody is locked, nothing waits, definitions change, a checkpoint and a start succeed.
  void ExpectHealthy();
  /// The table is damaged and said to be so; the other one is not touched, and it can be dropped.
  void ExpectToldAndLocal();

  EngineFixture world;
  LogCapture log;
  std::shared_ptr<Table> table;
  std::shared_ptr<Table> other;
  TableId table_id;
  TableId other_id;
  ToyRows rows;   ///< committed
  ToyRows after;  ///< when what is under way is committed
  ToyRows other_rows;
  std::unique_ptr<Session> session;
  std::unique_ptr<Session> reader;
  std::shared_ptr<Table> made;
  TableId made_id{0};
  uint32_t copies = 0;

 private:
  void ExpectUnlocked();
  void ExpectDefinitionsChange();
};

struct FaultWork {
  const char* name;
  /// Before the fault; nothing of it fails.
  std::function<void(FaultScene*)> prepare;
  std::function<Status(FaultScene*)> run;
  /// What the background has to do besides; awaited when the fault is gone. May be empty.
  std::function<bool(FaultScene*)> done = nullptr;
};

const std::vector<FaultWork>& FaultWorks();

}  // namespace rowan::faults
