// SPDX-License-Identifier: GPL-2.0-only
#include "engine/catalog/ddl.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "base/logging.h"
#include "btree/tree.h"
#include "engine/catalog/index_sweep.h"

namespace rowan {
namespace {

using Kind = DdlLog::Kind;

struct Payload {
  Kind kind;
  DdlLog::IndexTree subject;  ///< for a table only the first two fields
  std::string old_name;       ///< renamed
};

constexpr size_t kTableEnd = 9;
constexpr size_t kSpaceEnd = kTableEnd + 4;
constexpr size_t kIndexEnd = kSpaceEnd + 8;
constexpr size_t kRootEnd = kIndexEnd + 4;
static_assert(kSpaceEnd == DdlLog::kPayloadBytes);

/// Bytes of a record; 0 for an unknown kind.
size_t PayloadBytes(Kind kind, size_t actual_bytes) {
  switch (kind) {
    case Kind::kCreated:
    case Kind::kDropped: return kSpaceEnd;
    case Kind::kRenamed: return std::max(actual_bytes, kTableEnd);
    case Kind::kAltered: return kTableEnd;
    case Kind::kIndexCreated: return kIndexEnd;
    case Kind::kIndexDropped: return kRootEnd;
  }
  return 0;
}

Result<Payload> DecodePayload(Bytes payload) {
  if (payload.empty()) return Status(Code::kCorrupt, "malformed DDL undo record");
  const auto kind = static_cast<Kind>(payload[0]);
  if (payload.size() != PayloadBytes(kind, payload.size())) {
    return Status(Code::kCorrupt, "unknown or malformed DDL undo record");
  }
  Payload record{kind, {}, {}};
  DdlLog::IndexTree& subject = record.subject;
  subject.table = TableId(LoadLe<uint64_t>(payload.data() + 1));
  if (kind == Kind::kRenamed) {
    record.old_name = AsText(payload.subspan(kTableEnd));
    return record;
  }
  if (payload.size() >= kSpaceEnd) {
    subject.space = SpaceId(LoadLe<uint32_t>(payload.data() + kTableEnd));
  }
  if (payload.size() >= kIndexEnd) {
    subject.index = IndexId(LoadLe<uint64_t>(payload.data() + kSpaceEnd));
  }
  if (payload.size() >= kRootEnd) {
    subject.root = PageNumber(LoadLe<uint32_t>(payload.data() + kIndexEnd));
  }
  return record;
}

constexpr std::chrono::milliseconds kIndexUsePoll{1};
constexpr int kIndexUsePolls = 1000;

}  // namespace

void DdlLog::EncodePayload(std::byte* payload, Kind kind, TableId table, SpaceId space) {
  payload[0] = static_cast<std::byte>(kind);
  StoreLe<uint64_t>(payload + 1, table.value());
  StoreLe<uint32_t>(payload + 9, space.value());
}

std::string DdlLog::EncodeRename(TableId table, const std::string& old_name) {
  std::string payload = EncodeAlter(table);
  payload[0] = static_cast<char>(Kind::kRenamed);
  return payload + old_name;
}

std::string DdlLog::EncodeAlter(TableId table) {
  std::string payload(kTableEnd, static_cast<char>(Kind::kAltered));
  StoreLe<uint64_t>(reinterpret_cast<std::byte*>(payload.data()) + 1, table.value());
  return payload;
}

std::string DdlLog::EncodeIndex(Kind kind, const IndexTree& index) {
  std::array<std::byte, kRootEnd> payload;
  EncodePayload(payload.data(), kind, index.table, index.space);
  StoreLe<uint64_t>(payload.data() + kSpaceEnd, index.index.value());
  StoreLe<uint32_t>(payload.data() + kIndexEnd, index.root.value());
  return std::string(AsText(Bytes(payload).first(PayloadBytes(kind, 0))));
}

DdlLog::Pending& DdlLog::PendingOf(const Txn* txn) {
  Pending& pending = pending_[txn];
  pending_count_.store(pending_.size(), std::memory_order_relaxed);
  return pending;
}

void DdlLog::Forget(PendingMap::iterator pending) {
  pending_.erase(pending);
  pending_count_.store(pending_.size(), std::memory_order_relaxed);
}

void DdlLog::NoteDrop(const Txn* txn, TableId table, SpaceId space) {
  const MutexLock lock(&mutex_);
  PendingOf(txn).drops.push_back({table, space});
}

void DdlLog::NoteAlter(const Txn* txn, TableId table) {
  const MutexLock lock(&mutex_);
  PendingOf(txn).altered.push_back(table);
}

void DdlLog::NoteIndexDrop(const Txn* txn, const IndexTree& index) {
  const MutexLock lock(&mutex_);
  PendingOf(txn).index_drops.push_back(index);
}

void DdlLog::ForgetIndexDrop(IndexId index) {
  const MutexLock lock(&mutex_);
  for (auto& [txn, pending] : pending_) {
    if (pending.committed) continue;
    std::erase_if(pending.index_drops,
                  [index](const IndexTree& drop) { return drop.index == index; });
  }
}

void DdlLog::ForgetDrop(TableId table) {
  const MutexLock lock(&mutex_);
  for (auto& [txn, pending] : pending_) {
    if (pending.committed) continue;
    std::erase_if(pending.drops, [table](const Dropped& drop) { return drop.table == table; });
  }
}

void DdlLog::OnCommit(const Txn* txn) {
  if (NothingPending()) return;
  const MutexLock lock(&mutex_);
  const auto found = pending_.find(txn);
  if (found == pending_.end()) return;
  found->second.committed = true;
  for (const TableId table : found->second.altered) catalog_->SettleAlter(table);
}

void DdlLog::OnRollback(const Txn* txn) {
  if (NothingPending()) return;
  const MutexLock lock(&mutex_);
  const auto found = pending_.find(txn);
  // A committed drop that waits for Finish stays, even if the session rolls back later work.
  if (found == pending_.end() || found->second.committed) return;
  Forget(found);
}

void DdlLog::Finish(const Txn* txn, WorkBudget* budget) {
  Pending pending;
  {
    const MutexLock lock(&mutex_);
    const auto found = pending_.find(txn);
    if (found == pending_.end() || !found->second.committed) return;
    pending = std::move(found->second);
    Forget(found);
  }
  for (const Dropped& drop : pending.drops) {
    const Status status = RemoveTable(drop.table, drop.space);
    if (!status.ok()) {
      LogWarning(
          "The file of dropped table {} (space {}) could not be removed yet: {}. "
          "It will be tried again by purge and at the next start.",
          drop.table.value(), drop.space.value(), status.message());
    }
  }
  // Purge does what cannot be done yet.
  for (const IndexTree& drop : pending.index_drops) RemoveIndex(drop, budget).Ignore();
}

Status DdlLog::UndoExtension(Bytes payload, WorkBudget* budget) {
  Result<Payload> record = DecodePayload(payload);
  if (!record.ok()) return record.status();
  const IndexTree& subject = record->subject;
  switch (record->kind) {  // the catalog row has its own undo record
    case Kind::kCreated: return RemoveTable(subject.table, subject.space);
    case Kind::kDropped: ForgetDrop(subject.table); break;
    case Kind::kRenamed:
      // Absent if the same transaction created the table and it is gone already.
      catalog_->Rename(subject.table, record->old_name).Ignore();
      break;
    case Kind::kAltered: catalog_->UndoAlter(subject.table); break;
    case Kind::kIndexCreated: return SweepIndex(subject, budget);
    case Kind::kIndexDropped: ForgetIndexDrop(subject.index); break;
  }
  return Status::Ok();
}

Status DdlLog::PurgeExtension(Bytes payload, WorkBudget* budget) {
  Result<Payload> record = DecodePayload(payload);
  if (!record.ok()) return record.status();
  const IndexTree& subject = record->subject;
  switch (record->kind) {
    case Kind::kDropped: return RemoveTable(subject.table, subject.space);
    case Kind::kIndexDropped: return RemoveIndex(subject, budget);
    default: return Status::Ok();
  }
}

bool DdlLog::ClaimIndex(IndexId index) {
  const MutexLock lock(&index_mutex_);
  return claimed_.insert(index).second;
}

void DdlLog::UnclaimIndex(IndexId index) {
  const MutexLock lock(&index_mutex_);
  claimed_.erase(index);
}

Status DdlLog::RemoveIndex(const IndexTree& index, WorkBudget* budget) {
  if (!ClaimIndex(index.index)) return Status(Code::kBusy, "the index is being removed");
  const Status status = RemoveClaimed(index, budget);
  UnclaimIndex(index.index);
  return status;
}

Status DdlLog::RemoveClaimed(const IndexTree& index, WorkBudget* budget) {
  if (!catalog_->ReleaseIndex(index.index)) return Status(Code::kBusy, "the index is used");
  const Status opened = allocator_->OpenSpace(index.space);
  if (opened.Is(Code::kNotFound)) return Status::Ok();  // the table was dropped since
  if (!opened.ok()) return opened;
  return Tree(allocator_, index.space, index.root, index.index).Destroy(budget);
}

Status DdlLog::SweepIndex(const IndexTree& index, WorkBudget* budget) {
  // Only the altering session could read it, and the thread that counts rows in the background,
  // which leaves it at its next leaf. Other holders of the table are idle.
  for (int i = 0; i < kIndexUsePolls && !catalog_->ReleaseIndex(index.index); ++i) {
    std::this_thread::sleep_for(kIndexUsePoll);
  }
  const Status opened = allocator_->OpenSpace(index.space);
  if (opened.Is(Code::kNotFound)) return Status::Ok();
  if (!opened.ok()) return opened;
  PageNumber position;
  {
    const MutexLock lock(&index_mutex_);
    const auto found = swept_.find(index.index);
    if (found != swept_.end()) position = found->second;
  }
  const Status status = FreePagesOf(allocator_, index.space, index.index, &position, budget);
  const MutexLock lock(&index_mutex_);
  if (status.ok()) {
    swept_.erase(index.index);
  } else {
    swept_[index.index] = position;
  }
  return status;
}

Status DdlLog::RemoveTable(TableId table, SpaceId space) {
  const MutexLock lock(&remove_mutex_);
  catalog_->Remove(table);
  const Status status = allocator_->DropSpace(space);
  if (!status.ok() && !status.Is(Code::kNotFound)) return status;
  catalog_->ForgetDamage(space);
  return Status::Ok();
}

}  // namespace rowan
