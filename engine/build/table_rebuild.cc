// SPDX-License-Identifier: GPL-2.0-only
#include "engine/build/table_rebuild.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/out_of_memory.h"
#include "engine/bulk_load.h"
#include "engine/engine.h"

namespace rowan {
TableRebuild::TableRebuild(Session* session, std::shared_ptr<Table> former,
                           const OnlineScan::Rows& rows, RowConversion* conversion, Keys keys,
                           const BuildLimits& limits)
    : session_(session),
      former_(std::move(former)),
      conversion_(conversion),
      keys_(keys),
      limits_(limits),
      scan_(session, former_, rows) {}

TableRebuild::~TableRebuild() = default;

Status TableRebuild::Start(TableDef definition) {
  Result<std::string> directory = session_->engine()->DirectoryOf(former_->id());
  if (!directory.ok()) return directory.status();
  definition.directory = std::move(directory).value();
  Result<std::shared_ptr<Table>> created =
      session_->engine()->CreateTable(session_, std::move(definition));
  if (!created.ok()) return created.status();
  table_ = std::move(*created);
  writer_ = std::make_unique<TableWriter>(session_, table_.get(), &conversion_->codec());
  scan_.Start(Format("changes_{}", table_->id().value()), limits_);
  return Status::Ok();
}

Status TableRebuild::Build() {
  const Status status = OrOutOfMemory([this] { return LoadRows(); });
  if (!status.ok()) return status;
  return OrOutOfMemory([this] { return scan_.CatchUpAmongWriters(this); });
}

Status TableRebuild::Finish(uint64_t auto_increment) {
  Status status = OrOutOfMemory([this] { return scan_.CatchUpForGood(this); });
  if (!status.ok()) return status;
  status = table_->LoadCounters();
  if (!status.ok()) return status;
  status = table_->SetAutoIncrement(std::max(auto_increment, former_->auto_increment()));
  if (!status.ok()) return status;
  return session_->engine()->DropTable(session_, former_->id());
}

Status TableRebuild::ReadDuplicate(uint32_t index_number) {
  if (duplicate_key_.empty()) return Status::Ok();
  ByteBuffer scratch;
  Bytes key = duplicate_key_;
  if (index_number != 0) {
    Result<Bytes> found = conversion_->codec().ClusteredKeyOf(index_number, key, &scratch);
    if (!found.ok()) return found.status();
    key = *found;
  }
  duplicate_reader_ = std::make_unique<TableCursor>(session_, table_.get(), &conversion_->codec());
  return duplicate_reader_->GetRow(key, conversion_->record());
}

// --- the first snapshot ---

Status TableRebuild::LoadRows() {
  BulkLoad load(session_, table_.get(), limits_,
                keys_ == Keys::kSame ? BulkLoad::RowOrder::kByKey : BulkLoad::RowOrder::kAny);
  Status status = scan_.ScanRows([&](Bytes former_key) {
    const Status converted = conversion_->Convert();
    if (!converted.ok()) return converted;
    return writer_->Load(&load, conversion_->record(), former_key);
  });
  if (!status.ok()) return status;
  status = load.Finish();
  if (status.Is(Code::kDuplicate)) {
    const Bytes key = load.duplicate_key();
    duplicate_key_.assign(key.begin(), key.end());
  }
  return status;
}

// --- from one snapshot to the next ---

void TableRebuild::StartRound() {
  waiting_ = session_->sort_space().NewSorter(Format("waiting_{}", table_->id().value()),
                                              limits_.sort_memory_bytes / 4);
}

Status TableRebuild::EndRound() {
  const std::unique_ptr<EntrySorter> waiting = std::move(waiting_);
  Status status = waiting->StartReading();
  if (!status.ok()) return status;
  for (IndexEntry former;;) {
    Result<bool> more = waiting->Next(&former);
    if (!more.ok()) return more.status();
    if (!*more) return Status::Ok();
    if (session_->must_stop()) {
      return Status(Code::kInterrupted, "interrupted while a table was altered");
    }
    status = scan_.ReadBefore(former.key);
    if (!status.ok()) return status;
    status = conversion_->Convert();
    if (!status.ok()) return status;
    status = writer_->Insert(conversion_->record(), LockMode::kShared, former.key);
    if (!status.ok()) return status;
  }
}

Status TableRebuild::Compare(Bytes former_key) {
  bool was = false;
  Status status = Convert(scan_.ReadBefore(former_key), &was);
  if (!status.ok()) return status;
  if (was) {
    status = writer_->Take({.record = conversion_->record(), .number = former_key});
    if (!status.ok()) return status;
  }
  bool is = false;
  status = Convert(scan_.ReadNow(former_key), &is);
  if (!status.ok()) return status;
  if (was && is) {
    status = writer_->Prepare(conversion_->record());
    if (!status.ok()) return status;
    if (writer_->KeepsPlace()) return writer_->Update();
  }
  if (was) {
    status = writer_->Delete();
    if (!status.ok()) return status;
  }
  return is ? waiting_->Add({.key = former_key}) : Status::Ok();
}

Status TableRebuild::Convert(Status found, bool* exists) {
  *exists = found.ok();
  if (found.Is(Code::kNotFound)) return Status::Ok();
  if (!found.ok()) return found;
  return conversion_->Convert();
}

}  // namespace rowan
