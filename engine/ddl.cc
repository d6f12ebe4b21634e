// SPDX-License-Identifier: GPL-2.0-only
#include "engine/ddl.h"

#include "base/logging.h"

namespace rowan {
namespace {

struct Payload {
  DdlLog::Kind kind;
  TableId table;
  SpaceId space;
};

Result<Payload> DecodePayload(Bytes payload) {
  if (payload.size() != DdlLog::kPayloadBytes) {
    return Status(Code::kCorrupt, "malformed DDL undo record");
  }
  const auto kind = static_cast<DdlLog::Kind>(payload[0]);
  if (kind != DdlLog::Kind::kCreated && kind != DdlLog::Kind::kDropped) {
    return Status(Code::kCorrupt, "unknown DDL undo record");
  }
  return Payload{kind, TableId(LoadLe<uint64_t>(payload.data() + 1)),
                 SpaceId(LoadLe<uint32_t>(payload.data() + 9))};
}

}  // namespace

void DdlLog::EncodePayload(std::byte* payload, Kind kind, TableId table, SpaceId space) {
  payload[0] = static_cast<std::byte>(kind);
  StoreLe<uint64_t>(payload + 1, table.value());
  StoreLe<uint32_t>(payload + 9, space.value());
}

void DdlLog::NoteDrop(const Txn* txn, TableId table, SpaceId space) {
  const std::lock_guard<std::mutex> lock(mutex_);
  pending_[txn].drops.push_back({table, space});
}

void DdlLog::NoteRename(const Txn* txn, TableId table, const std::string& old_name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  pending_[txn].renames.push_back({table, old_name});
}

void DdlLog::OnCommit(const Txn* txn) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = pending_.find(txn);
  if (found != pending_.end()) found->second.committed = true;
}

void DdlLog::OnRollback(const Txn* txn) {
  Pending pending;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = pending_.find(txn);
    // A committed drop that waits for Finish stays, even if the session rolls back later work.
    if (found == pending_.end() || found->second.committed) return;
    pending = std::move(found->second);
    pending_.erase(found);
  }
  for (auto rename = pending.renames.rbegin(); rename != pending.renames.rend(); ++rename) {
    // The table may have been created by the same transaction and be gone already.
    catalog_->Rename(rename->table, rename->old_name).Ignore();
  }
}

void DdlLog::Finish(const Txn* txn) {
  Pending pending;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = pending_.find(txn);
    if (found == pending_.end() || !found->second.committed) return;
    pending = std::move(found->second);
    pending_.erase(found);
  }
  for (const Dropped& drop : pending.drops) {
    const Status status = RemoveTable(drop.table, drop.space);
    if (!status.ok()) {
      LogWarning("The file of dropped table {} (space {}) could not be removed yet: {}. "
                 "It will be tried again by purge and at the next start.",
                 drop.table.value(), drop.space.value(), status.message());
    }
  }
}

Status DdlLog::UndoExtension(Bytes payload) {
  const Result<Payload> record = DecodePayload(payload);
  if (!record.ok()) return record.status();
  if (record.value().kind != Kind::kCreated) return Status::Ok();  // the row's undo restores it
  return RemoveTable(record.value().table, record.value().space);
}

Status DdlLog::PurgeExtension(Bytes payload) {
  const Result<Payload> record = DecodePayload(payload);
  if (!record.ok()) return record.status();
  if (record.value().kind != Kind::kDropped) return Status::Ok();
  return RemoveTable(record.value().table, record.value().space);
}

Status DdlLog::RemoveTable(TableId table, SpaceId space) {
  const std::lock_guard<std::mutex> lock(remove_mutex_);
  catalog_->Remove(table);
  const Status status = allocator_->DropSpace(space);
  return status.Is(Code::kNotFound) ? Status::Ok() : status;
}

}  // namespace rowan
