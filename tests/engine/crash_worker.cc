// SPDX-License-Identifier: GPL-2.0-only
#include "tests/engine/crash_worker.h"

#include <algorithm>

namespace rowan {
namespace {

constexpr uint32_t kOperationsMax = 8;
constexpr uint32_t kLockWaitSeconds = 10;
constexpr uint32_t kBlobOneIn = 12;
constexpr uint32_t kChangedBytesMax = 40;

}  // namespace

ToyRow MakeHotRow(uint32_t hot, const HotClock& clock) {
  ToyRow row;
  row.unique = UINT32_MAX - hot;
  row.text.assign(reinterpret_cast<const char*>(clock.data()), sizeof(clock));
  return row;
}

HotClock ParseHotRow(const ToyRow& row) {
  HotClock clock{};
  EXPECT_EQ(row.text.size(), sizeof(clock));
  std::copy_n(row.text.data(), std::min(row.text.size(), sizeof(clock)),
              reinterpret_cast<char*>(clock.data()));
  return clock;
}

void CrashWorker::Work(CrashContext* context, Table* table, uint32_t transactions) {
  std::unique_ptr<Session> session = context->engine()->NewSession();
  session->SetLockWait({.timeout_s = kLockWaitSeconds});
  context->Enlist(session.get());
  for (uint32_t i = 0; i < transactions; ++i) {
    if (Transaction(context, table, session.get()) == Outcome::kStop) break;
  }
  context->Leave(session.get());
}

CrashWorker::Outcome CrashWorker::Transaction(CrashContext* context, Table* table,
                                              Session* session) {
  session->Begin(random_.OneIn(2) ? IsolationLevel::kReadCommitted
                                  : IsolationLevel::kRepeatableRead);
  State state = history_.back();
  state.sequence = ++sequence_;
  const uint64_t operations = random_.OneIn(settings_.long_one_in)
                                  ? settings_.long_operations
                                  : 1 + random_.Below(kOperationsMax);
  Status status;
  for (uint64_t i = 0; i < operations && status.ok(); ++i) {
    const UndoPosition savepoint = session->Savepoint();
    const ToyRows before = state.rows;
    status = Change(table, session, &state);
    if (!status.ok() || !random_.OneIn(8)) continue;
    status = session->RollbackTo(savepoint);
    state.rows = before;
  }
  if (status.ok()) {
    ToyRow marker = RandomRow(IdAt(0));
    marker.value = sequence_;
    status = ChangeOne(table, session, IdAt(0), marker, &state);
  }
  if (status.ok() && random_.OneIn(3)) {
    const auto hot = static_cast<uint32_t>(random_.Below(kHotRows));
    status = ChangeHot(table, session, hot);
    state.hot[hot] = sequence_;
  }
  if (!status.ok()) return Failed(context, session, status);
  if (random_.OneIn(4)) return CommitInTwoPhases(context, session, std::move(state));
  if (!random_.OneIn(6)) return Commit(context, session, std::move(state));
  status = context->Rollback(session, RollbackOf::kRows);
  return status.ok() ? Outcome::kGoOn : Failed(context, session, status);
}

CrashWorker::Outcome CrashWorker::Failed(CrashContext* context, Session* session, Status status) {
  EXPECT_TRUE(context->MayFail()) << "worker " << number_ << ": " << CodeName(status.code()) << ": "
                                  << status.message();
  // A timeout: someone's rollback waits for its next try, and would again be waited for.
  const bool over = context->Over() || status.Is(Code::kLockTimeout);
  const Status undone = context->Rollback(session, RollbackOf::kRows);
  // The engine goes on, but rows that could not be rolled back stay locked.
  return over || !undone.ok() || context->Over() ? Outcome::kStop : Outcome::kGoOn;
}

CrashWorker::Outcome CrashWorker::Commit(CrashContext* context, Session* session, State state) {
  const auto durability = static_cast<Durability>(random_.Below(3));
  const Lsn from = context->LogTail();
  const Status status = session->Commit(durability);
  Remember(context, state, from, status);
  history_.push_back(std::move(state));
  if (!status.ok()) {
    // In doubt: nothing may be built on either outcome.
    Failed(context, session, status);
    return Outcome::kStop;
  }
  ++commits_;
  committed_ = sequence_;
  if (durability != Durability::kBackground) written_ = sequence_;
  if (durability != Durability::kDurable) return Outcome::kGoOn;
  durable_ = sequence_;
  history_.erase(history_.begin(), history_.end() - 1);
  return Outcome::kGoOn;
}

CrashWorker::Outcome CrashWorker::CommitInTwoPhases(CrashContext* context, Session* session,
                                                    State state) {
  const std::string xid = std::to_string(number_) + ":" + std::to_string(sequence_);
  Status status = session->Prepare(AsBytes(xid)).status();
  if (status.ok()) status = context->engine()->FlushLog();
  // Undecided: a coordinator rolls back what it finds prepared.
  if (!status.ok()) return Failed(context, session, status);
  if (random_.OneIn(5)) {
    status = Resolve(context, session, xid, false);
    if (status.ok()) return Outcome::kGoOn;
    Failed(context, session, status);
    return Outcome::kStop;  // still prepared, perhaps, and its rows locked
  }
  // From here on it commits, whatever happens.
  decided_.insert(xid);
  durable_ = written_ = committed_ = sequence_;
  const Lsn from = context->LogTail();
  status = Resolve(context, session, xid, true);
  Remember(context, state, from, status);
  history_ = {std::move(state)};
  if (status.ok()) {
    ++commits_;
    return Outcome::kGoOn;
  }
  EXPECT_TRUE(context->MayFail()) << "commit of " << xid << ": " << status.message();
  EXPECT_TRUE(context->Over() || status.Is(Code::kStopped))
      << "the engine goes on without a decided commit: " << status.message();
  return Outcome::kStop;
}

Status CrashWorker::Resolve(CrashContext* context, Session* session, const std::string& xid,
                            bool commit) {
  const auto durability = static_cast<Durability>(random_.Below(3));
  if (!random_.OneIn(3)) {
    return commit ? session->Commit(durability, CommitWait::kNone)
                  : context->Rollback(session, RollbackOf::kRows);
  }
  // As XA COMMIT or XA ROLLBACK from another connection.
  session->DetachPrepared();
  Engine* engine = context->engine();
  return commit ? engine->CommitPrepared(xid, durability) : engine->RollbackPrepared(xid);
}

ToyRow CrashWorker::RandomRow(uint64_t id) {
  ToyRow row;
  row.value = static_cast<uint32_t>(random_.Below(5));
  // Unique by construction, but changing, so that unique entries come and go.
  row.unique = static_cast<uint32_t>(id * 4 + random_.Below(4));
  row.text.assign(random_.Below(settings_.text_bytes_max),
                  static_cast<char>('a' + random_.Below(26)));
  if (random_.OneIn(kBlobOneIn)) {
    row.blob.assign(1 + random_.Below(settings_.blob_bytes_max),
                    static_cast<char>('A' + random_.Below(26)));
  }
  return row;
}

ToyRow CrashWorker::WithChangedBlob(ToyRow row) {
  for (uint64_t changes = 1 + random_.Below(3); changes > 0; --changes) {
    const size_t at = random_.Below(row.blob.size());
    const size_t size = std::min(row.blob.size() - at, 1 + random_.Below(kChangedBytesMax));
    row.blob.replace(at, size, size, static_cast<char>('a' + random_.Below(26)));
  }
  return row;
}

Status CrashWorker::Change(Table* table, Session* session, State* state) {
  const uint64_t id = IdAt(1 + static_cast<uint32_t>(random_.Below(settings_.ids)));
  const auto found = state->rows.find(id);
  if (found != state->rows.end() && !found->second.blob.empty() && !random_.OneIn(3)) {
    return ChangeOne(table, session, id, WithChangedBlob(found->second), state);
  }
  if (found == state->rows.end() || !random_.OneIn(3)) {
    return ChangeOne(table, session, id, RandomRow(id), state);
  }
  const Status status = EngineFixture::Delete(session, table, id, found->second);
  if (status.ok()) state->rows.erase(found);
  return status;
}

Status CrashWorker::ChangeOne(Table* table, Session* session, uint64_t id, const ToyRow& row,
                              State* state) {
  const auto found = state->rows.find(id);
  const Status status = found == state->rows.end()
                            ? EngineFixture::Insert(session, table, id, row)
                            : EngineFixture::Update(session, table, id, found->second, row);
  if (status.ok()) state->rows[id] = row;
  return status;
}

Status CrashWorker::ChangeHot(Table* table, Session* session, uint32_t hot) {
  ToyRow before;
  const Status status = EngineFixture::ReadForUpdate(session, table, kHotRowFirst + hot, &before);
  if (!status.ok()) return status;
  HotClock clock = ParseHotRow(before);
  clock[number_] = sequence_;
  return EngineFixture::Update(session, table, kHotRowFirst + hot, before, MakeHotRow(hot, clock));
}

void CrashWorker::Remember(CrashContext* context, const State& state, Lsn from,
                           const Status& status) {
  if (!remembers_) return;
  remembered_.push_back({state, from, status.ok() ? context->LogTail() : Lsn(UINT64_MAX)});
}

ToyRows CrashWorker::MineOf(const ToyRows& all) const {
  ToyRows mine;
  for (const auto& [id, row] : all) {
    if (id < kHotRowFirst && (id - 1) % settings_.workers == number_) mine[id] = row;
  }
  return mine;
}

uint32_t CrashWorker::MarkerIn(const ToyRows& mine) const {
  const auto marker = mine.find(IdAt(0));
  return marker == mine.end() ? 0 : marker->second.value;
}

void CrashWorker::CheckCopy(const ToyRows& all, Lsn end) const {
  const ToyRows mine = MineOf(all);
  const uint32_t last = MarkerIn(mine);
  uint32_t least = 0;
  for (const Remembered& one : remembered_) {
    if (one.by <= end) least = one.state.sequence;
  }
  EXPECT_GE(last, least) << "worker " << number_ << ": transaction " << least
                         << " was committed before the copy's end, the newest in it is " << last;
  const auto found =
      std::find_if(remembered_.begin(), remembered_.end(),
                   [last](const Remembered& one) { return one.state.sequence == last; });
  ASSERT_NE(found, remembered_.end())
      << "worker " << number_ << ": the copy has transaction " << last << ", which is none";
  EXPECT_TRUE(found->from == kNoLsn || found->from < end)
      << "worker " << number_ << ": transaction " << last << " came after the copy's end";
  EXPECT_EQ(found->state.rows, mine) << "worker " << number_ << " in a copy, transaction " << last;
  for (uint32_t hot = 0; hot < kHotRows; ++hot) {
    EXPECT_EQ(ParseHotRow(all.at(kHotRowFirst + hot))[number_], found->state.hot[hot])
        << "hot row " << hot << " of a copy";
  }
}

void CrashWorker::Settle(const ToyRows& all, CrashKind kind) {
  ToyRows mine = MineOf(all);
  const uint32_t last = MarkerIn(mine);
  uint32_t least = durable_;
  if (kind == CrashKind::kProcess) least = std::max(least, written_);
  if (kind >= CrashKind::kClean) least = committed_;
  EXPECT_GE(last, least) << "worker " << number_ << ": transaction " << least
                         << " was acknowledged, the newest one there is " << last;
  const auto state = std::find_if(history_.begin(), history_.end(), [last](const State& candidate) {
    return candidate.sequence == last;
  });
  if (state == history_.end()) {
    ADD_FAILURE() << "worker " << number_ << ": transaction " << last << " is there, which was "
                  << "rolled back or is older than one that was acknowledged";
    return;
  }
  EXPECT_EQ(state->rows, mine) << "worker " << number_ << ": not the rows after transaction "
                               << last;
  State kept = *state;
  remembered_ = {{kept, kNoLsn, kNoLsn}};
  history_ = {std::move(kept)};
  durable_ = written_ = committed_ = last;
}

void CrashWorker::CheckHot(uint32_t hot, const HotClock& clock) const {
  EXPECT_EQ(clock[number_], history_.back().hot[hot])
      << "hot row " << hot << " disagrees with the newest transaction of worker " << number_;
}

}  // namespace rowan
