// SPDX-License-Identifier: GPL-2.0-only
#include "engine/build/online_scan.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/random.h"
#include "base/workers.h"
#include "btree/cursor.h"
#include "btree/leaf_sample.h"
#include "engine/engine.h"
#include "engine/table_cursor.h"
#include "mvcc/row/row_header.h"

namespace rowan {
namespace {

/// Rounds among writers: until so few changed rows are left that others hardly notice the last
/// round, or until more rounds no longer help because writers outrun the build.
constexpr uint64_t kRowsOfLastRound = 1000;
constexpr int kRoundsMax = 20;
/// Ranges that a scan is cut into for each worker: a worker that is done takes another one, so all
/// end at about the same time although ranges differ in size.
constexpr uint32_t kRangesPerWorker = 32;
/// Reading fewer leaves is faster than starting a thread.
constexpr size_t kLeavesPerWorkerMin = 4;

}  // namespace

/// A state of the table and how to read it.
struct OnlineScan::Snapshot {
  /// `same`: shares this one, which must stay as long; null: a new one.
  Snapshot(Engine* engine, Table* table, const Rows& rows, const Snapshot* same = nullptr)
      : session(engine->NewSession()), cursor(engine, table, rows.codec) {
    session->Begin(IsolationLevel::kRepeatableRead);
    session->OpenSnapshot();
    if (same != nullptr) session->ShareSnapshot(*same->session);
    cursor.SetSession(session.get(), ReadOptions{});
    cursor.SetColumns(rows.columns, RowKeys::kKeep);
  }
  std::unique_ptr<Session> session;
  TableCursor cursor;
};

OnlineScan::OnlineScan(Session* session, std::shared_ptr<Table> table, const Rows& rows)
    : session_(session), table_(std::move(table)), rows_(rows) {}

OnlineScan::~OnlineScan() {
  if (changed_ != nullptr) table_->CollectChanges(nullptr);
}

Status OnlineScan::CheckGoOn() const {
  if (session_->must_stop())
    return Status(Code::kInterrupted, "interrupted while a table was altered");
  return changed_->failure();
}

std::unique_ptr<OnlineScan::Snapshot> OnlineScan::TakeSnapshot() {
  return std::make_unique<Snapshot>(session_->engine(), table_.get(), rows_);
}

void OnlineScan::Start(const std::string& name, const BuildLimits& limits) {
  changed_ = std::make_shared<ChangedRows>(
      session_->sort_space(), name,
      ChangedRows::Limits{limits.sort_memory_bytes / 4, limits.changes_bytes_max});
  table_->CollectChanges(changed_);
  built_ = TakeSnapshot();
}

uint32_t OnlineScan::WorkersFor(uint32_t threads) {
  range_starts_.clear();
  if (threads <= 1 || rows_.new_record == nullptr) return 1;
  Tree* tree = &table_->index(0)->tree;
  Random random(tree->index().value());
  std::vector<ByteBuffer> keys = SampleLeaves(tree, threads * kRangesPerWorker, &random);
  const size_t workers = std::min<size_t>(threads, keys.size() / kLeavesPerWorkerMin);
  if (workers <= 1) return 1;
  range_starts_ = std::move(keys);
  return static_cast<uint32_t>(workers);
}

/// State shared by the workers of a scan.
struct OnlineScan::SharedScan {
  SharedScan(std::string name, uint32_t count) : workers(std::move(name), count) {}

  Workers workers;
  std::atomic<size_t> next_range{0};  ///< not taken yet
  std::atomic<uint64_t> rows{0};      ///< visited so far, updated now and then; for the progress
};

Status OnlineScan::ScanRows(KeyVisit visit) {
  range_starts_.clear();
  return ScanRows(
      1, [&](uint32_t, const void*, Bytes key) { return visit(key); },
      [](uint32_t) { return Status::Ok(); });
}

Status OnlineScan::ScanRows(uint32_t workers, WorkerVisit visit, WorkerFinish finish) {
  WorkProgress* progress = session_->progress();
  if (progress != nullptr) progress->Begin(WorkPhase::kReadRows, table_->statistics().rows);
  SharedScan shared("ddl-", workers);
  const Status status = shared.workers.Run([&](uint32_t worker) {
    const Status scanned = ScanRanges(&shared, worker, visit);
    return scanned.ok() ? finish(worker) : scanned;
  });
  if (progress != nullptr) progress->Completed(shared.rows.load());
  return status;
}

Status OnlineScan::ScanRanges(SharedScan* shared, uint32_t worker, WorkerVisit visit) {
  std::unique_ptr<Snapshot> own;
  std::shared_ptr<void> own_record;
  if (worker != 0) {
    own_record = rows_.new_record();
    own = std::make_unique<Snapshot>(session_->engine(), table_.get(), rows_, built_.get());
  }
  TableCursor& cursor = (worker == 0 ? *built_ : *own).cursor;
  void* const record = worker == 0 ? rows_.record : own_record.get();
  uint64_t count = 0;
  const auto go_on = [&] {
    const uint64_t rows = shared->rows += std::exchange(count, 0);
    if (worker == 0 && session_->progress() != nullptr) session_->progress()->Completed(rows);
    return shared->workers.failed() ? Status(Code::kInterrupted) : CheckGoOn();
  };
  for (size_t range; (range = shared->next_range++) <= range_starts_.size();) {
    cursor.OpenScan(0);
    if (range < range_starts_.size()) cursor.SetEnd(range_starts_[range]);
    Status status = go_on();
    if (!status.ok()) return status;
    status = range == 0 ? cursor.SeekFirst(record)
                        : cursor.SeekAtLeast(range_starts_[range - 1], record);
    while (status.ok()) {
      status = visit(worker, record, cursor.row_key());
      if (!status.ok()) return status;
      // A row may have many pages.
      if (++count == kInterruptionStride || session_->must_stop()) {
        status = go_on();
        if (!status.ok()) return status;
      }
      status = cursor.Next(record);
    }
    cursor.CloseScan();
    if (!status.Is(Code::kEndOfRange)) return status;
  }
  shared->rows += count;
  cursor.PublishCounts();
  return Status::Ok();
}

Status OnlineScan::CatchUpAmongWriters(SnapshotFollower* follower) {
  for (int round = 0; round < kRoundsMax && changed_->count() > kRowsOfLastRound; ++round) {
    const Status status = CatchUp(Round::kAmongWriters, follower);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status OnlineScan::CatchUpForGood(SnapshotFollower* follower) {
  const Status status = CatchUp(Round::kLast, follower);
  if (!status.ok()) return status;
  table_->CollectChanges(nullptr);
  changed_.reset();
  built_.reset();
  return Status::Ok();
}

Status OnlineScan::CatchUp(Round round, SnapshotFollower* follower) {
  if (session_->progress() != nullptr) {
    session_->progress()->Begin(WorkPhase::kCatchUp, changed_->count());
  }
  // Snapshot first: what it sees was noted before it committed, hence before the keys are taken.
  now_ = TakeSnapshot();
  Result<std::unique_ptr<EntrySorter>> keys = changed_->Take();
  if (!keys.ok()) return keys.status();
  Status status = (*keys)->StartReading();
  if (!status.ok()) return status;
  follower->StartRound();
  status = CompareChanged(keys->get(), round, follower);
  if (!status.ok()) return status;
  built_ = std::move(now_);
  return follower->EndRound();
}

Status OnlineScan::CompareChanged(EntrySorter* keys, Round round, SnapshotFollower* follower) {
  ByteBuffer last;
  IndexEntry key;
  for (uint64_t count = 0;; ++count) {
    Result<bool> more = keys->Next(&key);
    if (!more.ok()) return more.status();
    if (!*more) return Status::Ok();
    if (count % kInterruptionStride == 0 || session_->must_stop()) {
      const Status go_on = CheckGoOn();
      if (!go_on.ok()) return go_on;
      if (session_->progress() != nullptr) session_->progress()->Completed(count);
    }
    if (count > 0 && EqualBytes(last, key.key)) continue;
    last.assign(key.key.begin(), key.key.end());
    if (round == Round::kAmongWriters) {
      const Status noted = NoteAgainIfOpen(last);
      if (!noted.ok()) return noted;
    }
    const Status status = follower->Compare(last);
    if (!status.ok()) return status;
  }
}

Status OnlineScan::ReadBefore(Bytes key) { return built_->cursor.GetRow(key, rows_.record); }

Status OnlineScan::ReadNow(Bytes key) { return now_->cursor.GetRow(key, rows_.record); }

/// A row's newest version that the snapshot does not see may be committed later, by a session that
/// has already noted it.
Status OnlineScan::NoteAgainIfOpen(Bytes key) {
  Cursor cursor(&table_->index(0)->tree);
  const Status status = cursor.SeekAtLeast(key);
  if (status.Is(Code::kEndOfRange)) return Status::Ok();
  if (!status.ok()) return status;
  if (!EqualBytes(cursor.key(), key)) return Status::Ok();
  ClusteredHeader header;
  Bytes row;
  if (!ParseClustered(cursor.value(), &header, &row)) {
    return Status(Code::kCorrupt, "malformed row");
  }
  cursor.Unlatch();
  const rowan::Snapshot& now = now_->session->txn()->snapshot;
  if (!session_->txns()->IsVisible(now, header.txn, kNoTxn)) changed_->Add(key);
  return Status::Ok();
}

}  // namespace rowan
