// SPDX-License-Identifier: GPL-2.0-only
#include "engine/table_rebuild.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/format.h"
#include "btree/cursor.h"
#include "engine/engine_impl.h"
#include "mvcc/row/row_header.h"

namespace rowan {
namespace {

/// Small, so that tests of a few hundred rows sort through files, too.
constexpr size_t kSortMemoryBytesMin = size_t{2} << 10;
constexpr uint64_t kInterruptionStride = 1024;

}  // namespace

struct TableRebuild::Image {
  struct Entry {
    uint32_t index;
    EncodedEntry entry;
  };
  bool exists = false;
  ByteBuffer key;
  ByteBuffer row;              ///< empty until it is encoded
  std::vector<Entry> entries;  ///< by index and key
  std::vector<IndexEntry> views;

  void MakeViews() {
    std::sort(entries.begin(), entries.end(), [](const Entry& one, const Entry& other) {
      if (one.index != other.index) return one.index < other.index;
      return CompareBytes(one.entry.key, other.entry.key) < 0;
    });
    views.clear();
    for (const Entry& entry : entries) views.push_back(entry.entry.View(entry.index));
  }
};

namespace {

/// Negative, 0, positive.
int CompareEntries(const IndexEntry& one, const IndexEntry& other) {
  if (one.index != other.index) return one.index < other.index ? -1 : 1;
  return CompareBytes(one.key, other.key);
}

/// What makes the entries `before` those of `after`; both are sorted.
std::vector<EntryChange> Difference(std::span<const IndexEntry> before,
                                    std::span<const IndexEntry> after) {
  std::vector<EntryChange> changes;
  size_t i = 0;
  size_t j = 0;
  while (i < before.size() || j < after.size()) {
    const int order = i == before.size()  ? 1
                      : j == after.size() ? -1
                                          : CompareEntries(before[i], after[j]);
    if (order < 0) {
      changes.push_back({before[i], {.index = before[i].index}});
    } else if (order > 0) {
      changes.push_back({{.index = after[j].index}, after[j]});
    } else if (!EqualBytes(before[i].payload, after[j].payload)) {
      changes.push_back({before[i], after[j]});
    }
    if (order <= 0) ++i;
    if (order >= 0) ++j;
  }
  return changes;
}

bool TakesUniqueValue(const std::vector<EntryChange>& changes) {
  return std::any_of(changes.begin(), changes.end(), [](const EntryChange& change) {
    return change.after.unique_prefix_bytes != 0;
  });
}

}  // namespace

TableRebuild::TableRebuild(Session* session, std::shared_ptr<Table> former,
                           const OnlineScan::Rows& rows, RowConversion* conversion, Keys keys,
                           const BuildLimits& limits)
    : session_(session),
      former_(std::move(former)),
      conversion_(conversion),
      keys_(keys),
      limits_(limits),
      scan_(session, former_, rows),
      before_(std::make_unique<Image>()),
      after_(std::make_unique<Image>()) {}

TableRebuild::~TableRebuild() = default;

Status TableRebuild::Start(TableDef definition) {
  Result<std::string> directory = session_->engine()->DirectoryOf(former_->id());
  if (!directory.ok()) return directory.status();
  definition.directory = std::move(directory).value();
  Result<std::shared_ptr<Table>> created =
      session_->engine()->CreateTable(session_, std::move(definition));
  if (!created.ok()) return created.status();
  table_ = std::move(*created);
  scan_.Start(Format("changes_{}", table_->id().value()), limits_);
  return Status::Ok();
}

Status TableRebuild::Build() {
  const Status status = LoadRows();
  if (!status.ok()) return status;
  return scan_.CatchUpAmongWriters(this);
}

Status TableRebuild::Finish(uint64_t auto_increment) {
  Status status = scan_.CatchUpForGood(this);
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
  BulkLoad load(session_, table_.get(), limits_);
  Status status = keys_ == Keys::kSame ? LoadRowsAsTheyCome(&load) : LoadSortedRows(&load);
  if (!status.ok()) return status;
  status = load.Finish();
  if (status.Is(Code::kDuplicate)) {
    const Bytes key = load.duplicate_key();
    duplicate_key_.assign(key.begin(), key.end());
  }
  return status;
}

Status TableRebuild::LoadRowsAsTheyCome(BulkLoad* load) {
  return scan_.ScanRows([&](Bytes former_key) {
    Status status = EncodeRow(former_key, after_.get());
    if (!status.ok()) return status;
    status = load->AddRow(after_->key, after_->row);
    if (!status.ok()) return status;
    return LoadEntries(load);
  });
}

Status TableRebuild::LoadEntries(BulkLoad* load) {
  for (uint32_t i = 1; i < table_->index_count(); ++i) {
    const auto add = [&](const EncodedEntry& entry) {
      const IndexEntry view = entry.View(i);
      return load->AddEntries({&view, 1});
    };
    const Status status =
        conversion_->codec().EncodeEntries(i, conversion_->record(), after_->key, &buffer_, add);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status TableRebuild::LoadSortedRows(BulkLoad* load) {
  Engine* engine = session_->engine();
  EntrySorter rows(engine->impl()->storage->file_system(), engine->options().storage.folder,
                   Format("rows_{}", table_->id().value()),
                   std::max(kSortMemoryBytesMin, limits_.sort_memory_bytes));
  Status status = scan_.ScanRows([&](Bytes former_key) {
    Status added = EncodeRow(former_key, after_.get());
    if (!added.ok()) return added;
    added = rows.Add({.key = after_->key, .payload = after_->row});
    if (!added.ok()) return added;
    return LoadEntries(load);
  });
  if (!status.ok()) return status;
  status = rows.StartReading();
  if (!status.ok()) return status;
  return AddSorted(&rows, load);
}

Status TableRebuild::AddSorted(EntrySorter* rows, BulkLoad* load) {
  WorkProgress* progress = session_->progress();
  if (progress != nullptr) progress->Begin(WorkPhase::kBuildIndex, rows->entries());
  IndexEntry row;
  for (uint64_t count = 0;; ++count) {
    if (count % kInterruptionStride == 0) {
      if (scan_.IsInterrupted()) {
        return Status(Code::kInterrupted, "interrupted while a table was altered");
      }
      if (progress != nullptr) progress->Completed(count);
    }
    Result<bool> more = rows->Next(&row);
    if (!more.ok()) return more.status();
    if (!*more) {
      if (progress != nullptr) progress->Completed(count);
      return Status::Ok();
    }
    const Status status = load->AddRow(row.key, row.payload);
    if (status.Is(Code::kDuplicate)) duplicate_key_.assign(row.key.begin(), row.key.end());
    if (!status.ok()) return status;
  }
}

Status TableRebuild::EncodeEntries(Image* image) {
  image->entries.clear();
  for (uint32_t i = 1; i < table_->index_count(); ++i) {
    const auto keep = [&](const EncodedEntry& entry) {
      image->entries.push_back({i, entry});
      return Status::Ok();
    };
    const Status status =
        conversion_->codec().EncodeEntries(i, conversion_->record(), image->key, &buffer_, keep);
    if (!status.ok()) return status;
  }
  image->MakeViews();
  return Status::Ok();
}

Status TableRebuild::EncodeRow(Bytes former_key, Image* image) {
  const Status status = conversion_->Convert(former_key, &image->key);
  if (!status.ok()) return status;
  return conversion_->EncodeRow(session_, table_.get(), image->key.size(), &image->row);
}

// --- from one snapshot to the next ---

void TableRebuild::StartRound() {
  Engine* engine = session_->engine();
  waiting_ = std::make_unique<EntrySorter>(
      engine->impl()->storage->file_system(), engine->options().storage.folder,
      Format("waiting_{}", table_->id().value()),
      std::max(kSortMemoryBytesMin, limits_.sort_memory_bytes / 4));
}

Status TableRebuild::EndRound() {
  const std::unique_ptr<EntrySorter> waiting = std::move(waiting_);
  Status status = waiting->StartReading();
  if (!status.ok()) return status;
  for (IndexEntry former;;) {
    Result<bool> more = waiting->Next(&former);
    if (!more.ok()) return more.status();
    if (!*more) return Status::Ok();
    status = scan_.ReadBefore(former.key);
    if (!status.ok()) return status;
    status = EncodeRow(former.key, after_.get());
    if (!status.ok()) return status;
    status = EncodeEntries(after_.get());
    if (!status.ok()) return status;
    status = session_->InsertRow(table_.get(), after_->key, after_->row, after_->views);
    if (!status.ok()) return status;
  }
}

Status TableRebuild::Compare(Bytes former_key) {
  Status status = ReadImage(former_key, scan_.ReadBefore(former_key), before_.get());
  if (!status.ok()) return status;
  status = ReadImage(former_key, scan_.ReadNow(former_key), after_.get());
  if (!status.ok()) return status;
  const bool stays = before_->exists && after_->exists && EqualBytes(before_->key, after_->key) &&
                     !TakesUniqueValue(Difference(before_->views, after_->views));
  if (stays) return Replace(*before_, after_.get());
  if (before_->exists) {
    status = Delete(*before_);
    if (!status.ok()) return status;
  }
  return after_->exists ? waiting_->Add({.key = former_key}) : Status::Ok();
}

Status TableRebuild::ReadImage(Bytes former_key, Status found, Image* image) {
  image->exists = found.ok();
  if (found.Is(Code::kNotFound)) return Status::Ok();
  if (!found.ok()) return found;
  const Status status = conversion_->Convert(former_key, &image->key);
  if (!status.ok()) return status;
  return EncodeEntries(image);
}

Status TableRebuild::Replace(const Image& before, Image* after) {
  std::vector<BlobRef> blobs;
  Status status = StoredBlobs(before.key, &blobs);
  if (!status.ok()) return status;
  status = conversion_->EncodeRow(session_, table_.get(), after->key.size(), &after->row);
  if (!status.ok()) return status;
  const std::vector<EntryChange> changes = Difference(before.views, after->views);
  status = session_->UpdateRow(table_.get(), before.key, after->key, after->row, changes);
  if (!status.ok()) return status;
  return DropBlobs(blobs);
}

Status TableRebuild::Delete(const Image& image) {
  std::vector<BlobRef> blobs;
  Status status = StoredBlobs(image.key, &blobs);
  if (!status.ok()) return status;
  status = session_->DeleteRow(table_.get(), image.key, image.views);
  if (!status.ok()) return status;
  return DropBlobs(blobs);
}

Status TableRebuild::StoredBlobs(Bytes key, std::vector<BlobRef>* blobs) {
  Cursor cursor(&table_->index(0)->tree);
  const Status status = cursor.SeekAtLeast(key);
  if (!status.ok() && !status.Is(Code::kEndOfRange)) return status;
  ClusteredHeader header;
  Bytes row;
  if (!status.ok() || !EqualBytes(cursor.key(), key) ||
      !ParseClustered(cursor.value(), &header, &row)) {
    return Status(Code::kCorrupt, "a row of the table being built is missing");
  }
  conversion_->codec().BlobsOf(row, blobs);
  return Status::Ok();
}

Status TableRebuild::DropBlobs(const std::vector<BlobRef>& blobs) {
  for (const BlobRef& blob : blobs) {
    const Status status = session_->DropBlob(blob);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

}  // namespace rowan
