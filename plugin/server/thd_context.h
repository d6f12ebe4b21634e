// SPDX-License-Identifier: GPL-2.0-only
// ThdContext: what Rowan keeps for one connection (the server's ha_data slot): its session. Created
// at the first use of a Rowan table, deleted by close_connection. A transaction may commit on a
// thread other than the one it ran on, so everything is found through the THD, never through
// thread-local state. Thread safety: as Session.
#pragma once

#include <memory>
#include <vector>

#include "engine/engine.h"
#include "engine/read_meter.h"

class THD;

namespace rowan {

/// The savepoints of the open transaction. The server offers memory inside its own savepoint
/// object, but computes its address wrongly for engines installed while it runs (it lies after the
/// object), so the address serves only as the savepoint's name.
class Savepoints {
 public:
  void Set(const void* name, const Session::Place& place);
  /// Null when there is none. Savepoints set later are forgotten.
  const Session::Place* ReturnTo(const void* name);
  /// Forgets only this one: a name that is set again is released first, and the savepoints set in
  /// between stay. After RELEASE SAVEPOINT the server no longer asks for later ones.
  void Release(const void* name);
  void Clear() { points_.clear(); }

 private:
  struct Point {
    const void* name;
    Session::Place place;
  };
  std::vector<Point> points_;  ///< oldest first
};

struct ThdContext {
  explicit ThdContext(Engine* engine) : session(engine->NewSession()) {}

  std::unique_ptr<Session> session;
  Savepoints savepoints;
  ReadMeter reads;                 ///< of the session's statements so far
  std::unique_ptr<Backup> backup;  ///< begun by this connection and not ended
  Lsn prepared_lsn;                ///< end of the newest prepared group
  bool changed_catalog = false;    ///< by the open transaction: its commit is always made durable
};

/// Null when this connection has not used Rowan yet.
ThdContext* FindContext(THD* thd);
/// Creates it when missing. Null, with the error raised, while the plugin is being uninstalled: a
/// connection that uses Rowan must hold the plugin, which is no longer possible then.
ThdContext* ContextOf(THD* thd);
/// Replaces the connection's context (null: none) and returns the one it had.
ThdContext* SwapContext(THD* thd, ThdContext* context);
/// Returns the connection's context (or null) for deletion; it can no longer be found. Unlike
/// SwapContext with null it leaves the connection's hold on the plugin to the server: giving that
/// up can unload the plugin, which must not happen while its code runs.
ThdContext* TakeContext(THD* thd);

/// Deletes a context. REQUIRES: it can no longer be found through the THD.
void DiscardContext(THD* thd, ThdContext* context);
/// Deletes the connection's context and gives up its hold on the plugin, unless a transaction is
/// open.
void ReleaseIdleContext(THD* thd);

/// A kill that ended an earlier statement does not end the next; one that arrives during this call
/// does.
void ForgetFormerKill(THD* thd, Session* session);
/// At the start of each statement's use of a table: registers with the server's transaction, begins
/// ours if none is open, and marks where the statement starts. Cheap when repeated. Fails for null,
/// the error of which has been raised.
Status EnterStatement(THD* thd, ThdContext* context);
/// The same for statements that change the catalog; also tells the server that we write, which it
/// cannot see for itself because it asks before it calls the method that writes.
Status EnterCatalogChange(THD* thd, ThdContext* context);

/// The transaction changed the catalog and the server's dictionary, and no log of the coordinator
/// will have its outcome: its session writes no binary log.
bool ChangesCatalogUnlogged(THD* thd, const ThdContext& context);

/// True when "commit" or "rollback" means the transaction, not only the statement.
bool EndsTransaction(THD* thd, bool all);

}  // namespace rowan
