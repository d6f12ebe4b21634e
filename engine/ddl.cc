// SPDX-License-Identifier: GPL-2.0-only
#include "engine/ddl.h"

#include "base/logging.h"

namespace rowan {
namespace {

struct Payload {
  DdlLog::Kind kind;
  TableId table;
  SpaceId space;         // created, dropped
  std::string old_name;  // renamed
};

constexpr size_t kNameOffset = 9;

Result<Payload> DecodePayload(Bytes payload) {
  if (payload.size() < kNameOffset) return Status(Code::kCorrupt, "malformed DDL undo record");
  Payload record{static_cast<DdlLog::Kind>(payload[0]),
                 TableId(LoadLe<uint64_t>(payload.data() + 1)), SpaceId(0), {}};
  if (record.kind == DdlLog::Kind::kRenamed) {
    record.old_name = AsText(payload.subspan(kNameOffset));
    return record;
  }
  if (record.kind != DdlLog::Kind::kCreated && record.kind != DdlLog::Kind::kDropped) {
    return Status(Code::kCorrupt, "unknown DDL undo record");
  }
  if (payload.size() != DdlLog::kPayloadBytes) {
    return Status(Code::kCorrupt, "malformed DDL undo record");
  }
  record.space = SpaceId(LoadLe<uint32_t>(payload.data() + kNameOffset));
  return record;
}

}  // namespace

void DdlLog::EncodePayload(std::byte* payload, Kind kind, TableId table, SpaceId space) {
  payload[0] = static_cast<std::byte>(kind);
  StoreLe<uint64_t>(payload + 1, table.value());
  StoreLe<uint32_t>(payload + 9, space.value());
}

std::string DdlLog::EncodeRename(TableId table, const std::string& old_name) {
  std::string payload(kNameOffset, '\0');
  payload[0] = static_cast<char>(Kind::kRenamed);
  StoreLe<uint64_t>(reinterpret_cast<std::byte*>(payload.data()) + 1, table.value());
  return payload + old_name;
}

void DdlLog::NoteDrop(const Txn* txn, TableId table, SpaceId space) {
  const std::lock_guard<std::mutex> lock(mutex_);
  pending_[txn].drops.push_back({table, space});
}

void DdlLog::ForgetDrop(TableId table) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [txn, pending] : pending_) {
    if (pending.committed) continue;
    std::erase_if(pending.drops, [table](const Dropped& drop) { return drop.table == table; });
  }
}

void DdlLog::OnCommit(const Txn* txn) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = pending_.find(txn);
  if (found != pending_.end()) found->second.committed = true;
}

void DdlLog::OnRollback(const Txn* txn) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = pending_.find(txn);
  // A committed drop that waits for Finish stays, even if the session rolls back later work.
  if (found == pending_.end() || found->second.committed) return;
  pending_.erase(found);
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
  Result<Payload> record = DecodePayload(payload);
  if (!record.ok()) return record.status();
  switch (record->kind) {  // the catalog row has an undo record of its own
    case Kind::kCreated: return RemoveTable(record->table, record->space);
    case Kind::kDropped: ForgetDrop(record->table); break;
    case Kind::kRenamed:
      // Not there if the table was created by the same transaction and is gone already.
      catalog_->Rename(record->table, record->old_name).Ignore();
      break;
  }
  return Status::Ok();
}

Status DdlLog::PurgeExtension(Bytes payload) {
  Result<Payload> record = DecodePayload(payload);
  if (!record.ok()) return record.status();
  if (record->kind != Kind::kDropped) return Status::Ok();
  return RemoveTable(record->table, record->space);
}

Status DdlLog::RemoveTable(TableId table, SpaceId space) {
  const std::lock_guard<std::mutex> lock(remove_mutex_);
  catalog_->Remove(table);
  const Status status = allocator_->DropSpace(space);
  if (!status.ok() && !status.Is(Code::kNotFound)) return status;
  catalog_->ForgetDamage(space);
  return Status::Ok();
}

}  // namespace rowan
