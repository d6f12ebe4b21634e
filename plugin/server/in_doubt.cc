// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/in_doubt.h"

#include <algorithm>
#include <map>
#include <optional>

#include "mysql/plugin.h"
#include "sql/mysqld.h"
#include "sql/xa.h"

#include "base/format.h"
#include "base/logging.h"
#include "plugin/server/binlog_files.h"
#include "plugin/server/dictionary_tables.h"
#include "plugin/server/xid_bytes.h"

namespace rowan {
namespace {

uint32_t g_run_mark = kMarkWithoutBinlog;

struct Doubt {
  std::string bytes;    ///< as the engine keeps it
  uint64_t number = 0;  ///< as the coordinator's log keeps it
};
using DoubtsByRun = std::map<uint32_t, std::vector<Doubt>>;

/// Where the outcome of a run's transactions is recorded.
struct Verdict {
  bool server_decides = false;
  bool known = false;  ///< `committed` holds the truth
  Outcomes committed;
  std::string source;  ///< file, or what is missing
};

Verdict ServerDecides() { return {.server_decides = true, .committed = {}, .source = {}}; }
Verdict Unknown(std::string what) { return {.committed = {}, .source = std::move(what)}; }

DoubtsByRun InternalDoubts(Engine* engine) {
  DoubtsByRun doubts;
  for (const std::string& bytes : engine->PreparedXids()) {
    XID xid;
    uint32_t mark = 0;
    if (!BytesToXid(bytes, &xid, &mark) || xid.get_my_xid() == 0) continue;
    doubts[mark].push_back({bytes, xid.get_my_xid()});
  }
  return doubts;
}

Verdict JudgeWithoutBinlog(bool at_run_time) {
  Result<Outcomes> outcomes = CommittedInCoordinatorLog();
  if (!outcomes.ok()) {
    return Unknown(Format("the coordinator's log '{}', which is not there", opt_tc_log_file));
  }
  if (!at_run_time && !opt_bin_log) return ServerDecides();
  return {.known = true, .committed = std::move(*outcomes), .source = opt_tc_log_file};
}

/// Position of the last file of the run with this mark, or of no file: SIZE_MAX.
Result<size_t> LastFileOfRun(const std::vector<BinlogFile>& files, uint32_t mark) {
  size_t last = 0;
  while (last < files.size() && files[last].number <= mark) ++last;
  if (last == files.size()) return SIZE_MAX;
  if (files[last].number != mark + 1) {
    Result<BinlogState> state = StateOfBinlog(files[last]);
    if (!state.ok()) return state.status();
    if (state->starts_run) return SIZE_MAX;  // of a later run: this one's files are gone
  }
  for (size_t next = last + 1; next < files.size(); ++next) {
    Result<BinlogState> state = StateOfBinlog(files[next]);
    if (!state.ok()) return state.status();
    if (state->starts_run) break;
    last = next;
  }
  return last;
}

Result<Verdict> JudgeByBinlog(uint32_t mark, bool at_run_time) {
  if (!opt_bin_log) {
    return Unknown(
        "the binary log, which is switched off now: a start with the same --log-bin as "
        "before decides them");
  }
  Result<std::vector<BinlogFile>> files = ListBinlogFiles();
  if (!files.ok()) return files.status();
  Result<size_t> last = LastFileOfRun(*files, mark);
  if (!last.ok()) return last.status();
  // No file of the run although the newest one was not closed: the numbering has restarted since.
  const bool none = *last == SIZE_MAX;
  const bool newest = none || *last + 1 == files->size();
  if (newest && !files->empty() && !at_run_time) {
    Result<BinlogState> state = StateOfBinlog(files->back());
    if (!state.ok()) return state.status();
    const bool reset = none && files->back().number <= mark;
    if (state->in_use && (!none || reset)) return ServerDecides();
  }
  if (none) return Unknown(Format("the binary log files after number {}, which are gone", mark));
  Result<Outcomes> outcomes = CommittedInBinlog((*files)[*last]);
  if (!outcomes.ok()) return outcomes.status();
  return Verdict{.known = true, .committed = std::move(*outcomes), .source = (*files)[*last].path};
}

Status RefuseToGuess(size_t count, const std::string& source) {
  LogError(
      "Transactions ({}) were prepared when the server crashed, and whether they were "
      "committed stood in {}. Bring that back, or decide it yourself: start once with "
      "rowan_in_doubt=commit or with rowan_in_doubt=rollback.",
      count, source);
  return Status(Code::kInvalidArgument, "transactions in doubt");
}

Status Apply(Engine* engine, const std::vector<Doubt>& doubts, const Verdict& verdict,
             InDoubtPolicy policy) {
  if (!verdict.known && policy == InDoubtPolicy::kRefuse) {
    return RefuseToGuess(doubts.size(), verdict.source);
  }
  size_t commits = 0;
  for (const Doubt& doubt : doubts) {
    const bool commit =
        verdict.known ? verdict.committed.contains(doubt.number) : policy == InDoubtPolicy::kCommit;
    const Status status = commit ? engine->CommitPrepared(doubt.bytes, Durability::kDurable)
                                 : engine->RollbackPrepared(doubt.bytes);
    if (!status.ok()) return status;
    commits += commit ? 1 : 0;
  }
  LogInfo(
      "Transactions ({}) had been prepared when the server crashed, and it was started "
      "without Rowan since: {} committed, {} rolled back, as {} says.",
      doubts.size(), commits, doubts.size() - commits,
      verdict.known ? verdict.source : "rowan_in_doubt");
  return Status::Ok();
}

Result<uint32_t> MarkOfThisRun(bool at_run_time) {
  if (!opt_bin_log) return kMarkWithoutBinlog;
  Result<std::vector<BinlogFile>> files = ListBinlogFiles();
  if (!files.ok()) return files.status();
  if (files->empty()) return 0u;
  if (!at_run_time) return files->back().number;
  for (size_t at = files->size(); at-- > 0;) {
    Result<BinlogState> state = StateOfBinlog((*files)[at]);
    if (!state.ok()) return state.status();
    if (state->starts_run || at == 0) return (*files)[at].number - 1;
  }
  return 0u;
}

/// The server's dictionary has what the transaction did, or lacks what it dropped.
bool IsInDictionary(const Engine::PreparedDdl& ddl, const DictionaryTables& dictionary) {
  const auto has = [&](TableId id) { return dictionary.ids.contains(id.value()); };
  if (std::any_of(ddl.created.begin(), ddl.created.end(), has)) return true;
  if (!ddl.altered.empty()) return dictionary.changed_by.contains(ddl.txn_number);
  return ddl.created.empty() && !ddl.dropped.empty() &&
         std::none_of(ddl.dropped.begin(), ddl.dropped.end(), has);
}

/// DDL that goes to no binary log, as OPTIMIZE and whatever a session with sql_log_bin=0 does: the
/// server takes it for rolled back, although its dictionary, which commits first, may have it.
Status CommitWhatDictionaryHas(Engine* engine, const DoubtsByRun& by_run) {
  std::optional<DictionaryTables> dictionary;
  for (const auto& [run, doubts] : by_run) {
    for (const Doubt& doubt : doubts) {
      const Engine::PreparedDdl ddl = engine->DdlOf(doubt.bytes);
      if (ddl.created.empty() && ddl.dropped.empty() && ddl.altered.empty()) continue;
      if (!dictionary.has_value()) {
        Result<DictionaryTables> read = TablesInDictionary();
        if (!read.ok()) return read.status();
        dictionary = std::move(*read);
      }
      if (!IsInDictionary(ddl, *dictionary)) continue;
      const Status status = engine->CommitPrepared(doubt.bytes, Durability::kDurable);
      if (!status.ok()) return status;
      LogInfo("A change of tables that the server's dictionary has is committed.");
    }
  }
  return Status::Ok();
}

/// Clients' XA transactions whose XA PREPARE may not be in the binary log. Where the server no
/// longer checks that, they count as prepared: their owner decides.
Status SettleExternal(Engine* engine, bool at_run_time) {
  if (opt_bin_log && !at_run_time) {
    Result<std::vector<BinlogFile>> files = ListBinlogFiles();
    if (!files.ok()) return files.status();
    if (!files->empty()) {
      Result<BinlogState> state = StateOfBinlog(files->back());
      if (!state.ok()) return state.status();
      if (state->in_use) return Status::Ok();
    }
  }
  for (const std::string& stored : engine->PreparedXids()) {
    if (!IsNotInBinlog(stored)) continue;
    const Status status = engine->RenamePrepared(stored, WithMarkInBinlog(stored));
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

/// The backup ended when the coordinator had committed all it had written to its log: what is
/// prepared beyond was never acknowledged.
Status EndRestore(Engine* engine) {
  size_t count = 0;
  for (const auto& [run, doubts] : InternalDoubts(engine)) {
    count += doubts.size();
    for (const Doubt& doubt : doubts) {
      const Status status = engine->RollbackPrepared(doubt.bytes);
      if (!status.ok()) return status;
    }
  }
  for (const std::string& stored : engine->PreparedXids()) {
    if (!IsNotInBinlog(stored)) continue;
    ++count;
    const Status status = engine->RollbackPrepared(stored);
    if (!status.ok()) return status;
  }
  if (count > 0) {
    LogInfo("Transactions ({}) that were about to commit when the backup ended are rolled back.",
            count);
  }
  return engine->EndRestore();
}

}  // namespace

uint32_t RunMark() { return g_run_mark; }

Status ResolveInDoubt(Engine* engine, InDoubtPolicy policy, bool at_run_time) {
  Result<uint32_t> mark = MarkOfThisRun(at_run_time);
  if (!mark.ok()) return mark.status();
  g_run_mark = *mark;
  const Status committed = CommitWhatDictionaryHas(engine, InternalDoubts(engine));
  if (!committed.ok()) return committed;
  if (engine->restored()) return EndRestore(engine);
  for (const auto& [run, doubts] : InternalDoubts(engine)) {
    Result<Verdict> verdict = run == kMarkWithoutBinlog
                                  ? Result<Verdict>(JudgeWithoutBinlog(at_run_time))
                                  : JudgeByBinlog(run, at_run_time);
    if (!verdict.ok()) return RefuseToGuess(doubts.size(), "a binary log file that cannot be read");
    if (verdict->server_decides) continue;
    const Status status = Apply(engine, doubts, *verdict, policy);
    if (!status.ok()) return status;
  }
  return SettleExternal(engine, at_run_time);
}

}  // namespace rowan
