// SPDX-License-Identifier: GPL-2.0-only
#include "engine/index_build.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/format.h"
#include "btree/cursor.h"
#include "engine/engine_impl.h"
#include "engine/table_cursor.h"
#include "engine/tree_build.h"
#include "mvcc/row/row_change.h"
#include "mvcc/row/row_header.h"

namespace rowan {
namespace {

/// Of one index.
constexpr size_t kSortMemoryBytesMin = size_t{2} << 10;
/// Rounds among writers: until so few changed rows are left that others hardly notice the last
/// round, or as often as it helps against writers who are faster than the build.
constexpr uint64_t kRowsOfLastRound = 1000;
constexpr int kRoundsMax = 20;
constexpr uint64_t kInterruptionStride = 1024;

}  // namespace

/// A state of the table and how to read it.
struct IndexBuild::Snapshot {
  Snapshot(Engine* engine, Table* table, const Rows& rows)
      : session(engine->NewSession()), cursor(engine, table, rows.codec) {
    session->Begin(IsolationLevel::kRepeatableRead);
    session->OpenSnapshot();
    cursor.SetSession(session.get(), ReadOptions{});
    cursor.SetColumns(rows.columns, RowKeys::kKeep);
  }
  std::unique_ptr<Session> session;
  TableCursor cursor;
};

/// An index in the making.
struct IndexBuild::Target {
  Target(const Table& table, const NewIndex& made)
      : index_number(made.index_number),
        index(table.index(0)->tree.allocator(), table.space(), made.root, made.id, table.id(),
              false) {}

  const uint32_t index_number;
  Index index;
  std::unique_ptr<EntrySorter> sorter{};  ///< entries to be inserted
  EncodedEntry buffer{};
  std::vector<EncodedEntry> before{};  ///< of the row being compared, by their keys
  std::vector<EncodedEntry> after{};

  Status Add(const EncodedEntry& entry) const { return sorter->Add(entry.View(index_number)); }
};

IndexBuild::IndexBuild(Session* session, std::shared_ptr<Table> table, const Rows& rows,
                       size_t sort_memory_bytes)
    : session_(session),
      table_(std::move(table)),
      rows_(rows),
      sort_memory_bytes_(sort_memory_bytes) {}

IndexBuild::~IndexBuild() {
  if (changed_ != nullptr) table_->CollectChanges(nullptr);
}

bool IndexBuild::IsInterrupted() const {
  return session_->interrupted() || session_->engine()->impl()->txns->ShuttingDown();
}

Status IndexBuild::AtIndex(Status status, const Target& target) const {
  return status.Is(Code::kDuplicate)
             ? Status(Code::kDuplicate, "duplicate entry", target.index_number)
             : status;
}

std::unique_ptr<IndexBuild::Snapshot> IndexBuild::TakeSnapshot() {
  return std::make_unique<Snapshot>(session_->engine(), table_.get(), rows_);
}

std::unique_ptr<EntrySorter> IndexBuild::NewSorter(const Target& target) const {
  const Engine* engine = session_->engine();
  return std::make_unique<EntrySorter>(
      engine->impl()->storage->file_system(), engine->options().storage.folder,
      Format("{}", target.index.id().value()),
      std::max(kSortMemoryBytesMin, sort_memory_bytes_ / targets_.size()));
}

Status IndexBuild::Start(std::vector<NewIndex> indexes) {
  indexes_ = std::move(indexes);
  for (NewIndex& index : indexes_) {
    const Status status = CreateTree(&index);
    if (!status.ok()) return status;
    targets_.push_back(std::make_unique<Target>(*table_, index));
  }
  Engine* engine = session_->engine();
  changed_ = std::make_shared<ChangedRows>(engine->impl()->storage->file_system(),
                                           engine->options().storage.folder,
                                           Format("changes_{}", indexes_.front().id.value()),
                                           std::max(kSortMemoryBytesMin, sort_memory_bytes_ / 4));
  table_->CollectChanges(changed_);
  built_ = TakeSnapshot();
  return Status::Ok();
}

Status IndexBuild::CreateTree(NewIndex* index) {
  Engine::Impl* impl = session_->engine()->impl();
  Result<IndexId> id = impl->table_ids->NewIndex();
  if (!id.ok()) return id.status();
  index->id = *id;
  const std::string payload = DdlLog::EncodeIndex(
      DdlLog::Kind::kIndexCreated, {table_->id(), table_->space(), index->id, kNoPage});
  const Status status = session_->LogExtension(AsBytes(payload));
  if (!status.ok()) return status;
  Result<PageNumber> root = Tree::Create(impl->storage->allocator(), table_->space(), index->id);
  if (!root.ok()) return root.status();
  index->root = *root;
  return Status::Ok();
}

Status IndexBuild::Build() {
  Status status = BuildTrees();
  if (!status.ok()) return status;
  for (int round = 0; round < kRoundsMax && changed_->count() > kRowsOfLastRound; ++round) {
    status = CatchUp(Round::kAmongWriters);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status IndexBuild::Finish() {
  const Status status = CatchUp(Round::kLast);
  if (!status.ok()) return status;
  table_->CollectChanges(nullptr);
  changed_.reset();
  built_.reset();
  return Status::Ok();
}

// --- the first snapshot ---

Status IndexBuild::BuildTrees() {
  for (const auto& target : targets_) target->sorter = NewSorter(*target);
  const Status scanned = ScanRows();
  if (!scanned.ok()) return scanned;
  for (const auto& target : targets_) {
    const TreeBuild build{&target->index.tree, target->sorter.get(), session_->txn()->txn_id(),
                          [this] { return IsInterrupted(); }};
    const Status status = BuildTree(build, &duplicate_key_);
    if (!status.ok()) return AtIndex(status, *target);
    target->sorter.reset();
  }
  return Status::Ok();
}

Status IndexBuild::ScanRows() {
  TableCursor& cursor = built_->cursor;
  cursor.OpenScan(0);
  Status status = cursor.SeekFirst(rows_.record);
  for (uint64_t count = 0; status.ok(); ++count) {
    if (count % kInterruptionStride == 0 && IsInterrupted()) {
      return Status(Code::kInterrupted, "interrupted while an index was built");
    }
    for (const auto& target : targets_) {
      const auto add = [&](const EncodedEntry& entry) { return target->Add(entry); };
      status = rows_.codec->EncodeEntries(target->index_number, rows_.record, cursor.row_key(),
                                          &target->buffer, add);
      if (!status.ok()) return status;
    }
    status = cursor.Next(rows_.record);
  }
  cursor.CloseScan();
  cursor.PublishCounts();
  return status.Is(Code::kEndOfRange) ? Status::Ok() : status;
}

// --- from one snapshot to the next ---

Status IndexBuild::CatchUp(Round round) {
  // Snapshot first: what it sees was noted before its commit, hence before the keys are taken.
  std::unique_ptr<Snapshot> now = TakeSnapshot();
  Result<std::unique_ptr<EntrySorter>> keys = changed_->Take();
  if (!keys.ok()) return keys.status();
  Status status = (*keys)->StartReading();
  if (!status.ok()) return status;
  for (const auto& target : targets_) target->sorter = NewSorter(*target);
  ByteBuffer last;
  IndexEntry key;
  for (uint64_t count = 0;; ++count) {
    Result<bool> more = (*keys)->Next(&key);
    if (!more.ok()) return more.status();
    if (!*more) break;
    if (count % kInterruptionStride == 0 && IsInterrupted()) {
      return Status(Code::kInterrupted, "interrupted while an index was built");
    }
    if (count > 0 && EqualBytes(last, key.key)) continue;
    last.assign(key.key.begin(), key.key.end());
    status = Compare(last, now.get(), round);
    if (!status.ok()) return status;
  }
  built_ = std::move(now);
  // All that goes is gone: what is equal now are duplicates.
  for (const auto& target : targets_) {
    status = InsertEntries(target.get());
    if (!status.ok()) return AtIndex(status, *target);
  }
  return Status::Ok();
}

Status IndexBuild::ReadDuplicate(uint32_t index_number) {
  ByteBuffer scratch;
  Result<Bytes> key = rows_.codec->ClusteredKeyOf(index_number, duplicate_key_, &scratch);
  if (!key.ok()) return key.status();
  return built_->cursor.GetRow(*key, rows_.record);
}

Status IndexBuild::Compare(Bytes key, Snapshot* now, Round round) {
  Status status = ReadEntries(key, built_.get(), false);
  if (!status.ok()) return status;
  status = ReadEntries(key, now, true);
  if (!status.ok()) return status;
  if (round == Round::kAmongWriters) {
    status = NoteAgainIfOpen(key, *now);
    if (!status.ok()) return status;
  }
  for (const auto& target : targets_) {
    status = ApplyDifference(target.get());
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status IndexBuild::ReadEntries(Bytes key, Snapshot* snapshot, bool after) {
  for (const auto& target : targets_) (after ? target->after : target->before).clear();
  const Status found = snapshot->cursor.GetRow(key, rows_.record);
  if (found.Is(Code::kNotFound)) return Status::Ok();
  if (!found.ok()) return found;
  for (const auto& target : targets_) {
    std::vector<EncodedEntry>& entries = after ? target->after : target->before;
    const auto keep = [&](const EncodedEntry& entry) {
      entries.push_back(entry);
      return Status::Ok();
    };
    const Status status =
        rows_.codec->EncodeEntries(target->index_number, rows_.record, key, &target->buffer, keep);
    if (!status.ok()) return status;
    std::sort(entries.begin(), entries.end(), [](const auto& left, const auto& right) {
      return CompareBytes(left.key, right.key) < 0;
    });
  }
  return Status::Ok();
}

/// A row whose newest version the snapshot does not see may be committed with that version later,
/// by somebody who noted it already.
Status IndexBuild::NoteAgainIfOpen(Bytes key, const Snapshot& now) {
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
  const TxnManager& txns = *session_->engine()->impl()->txns;
  if (!txns.IsVisible(now.session->txn()->snapshot, header.txn, kNoTxn)) changed_->Add(key);
  return Status::Ok();
}

Status IndexBuild::ApplyDifference(Target* target) {
  auto before = target->before.begin();
  auto after = target->after.begin();
  while (before != target->before.end() || after != target->after.end()) {
    const int order = before == target->before.end() ? 1
                      : after == target->after.end() ? -1
                                                     : CompareBytes(before->key, after->key);
    Status status;
    if (order < 0) {
      status = Remove(target, before->key);
    } else if (order > 0) {
      status = target->Add(*after);
    } else if (!EqualBytes(before->payload, after->payload)) {
      status = Put(target, after->View());
    }
    if (!status.ok()) return status;
    if (order <= 0) ++before;
    if (order >= 0) ++after;
  }
  return Status::Ok();
}

Status IndexBuild::InsertEntries(Target* target) {
  const std::unique_ptr<EntrySorter> sorter = std::move(target->sorter);
  Status status = sorter->StartReading();
  if (!status.ok()) return status;
  for (IndexEntry entry;;) {
    Result<bool> more = sorter->Next(&entry);
    if (!more.ok()) return more.status();
    if (!*more) return Status::Ok();
    status = CheckUnique(target, entry);
    if (!status.ok()) return status;
    status = Put(target, entry);
    if (!status.ok()) return status;
  }
}

Status IndexBuild::CheckUnique(Target* target, const IndexEntry& entry) {
  if (entry.unique_prefix_bytes == 0) return Status::Ok();
  Cursor cursor(&target->index.tree);
  const Bytes value = entry.key.first(entry.unique_prefix_bytes);
  const Status status = cursor.SeekAtLeast(value);
  if (status.Is(Code::kEndOfRange)) return Status::Ok();
  if (!status.ok()) return status;
  const Bytes found = cursor.key();
  const bool same = found.size() >= value.size() && EqualBytes(found.first(value.size()), value);
  if (!same) return Status::Ok();
  duplicate_key_.assign(entry.key.begin(), entry.key.end());
  return Status(Code::kDuplicate);
}

Status IndexBuild::Put(Target* target, const IndexEntry& entry) {
  std::array<std::byte, kSecondaryHeaderBytesMax> header;
  const size_t header_bytes = StoreSecondaryHeader(header.data(), kNoTxn, kNoTxn);
  ByteBuffer value(header.begin(), header.begin() + header_bytes);
  value.insert(value.end(), entry.payload.begin(), entry.payload.end());
  Txn* txn = session_->txn();
  Tree& tree = target->index.tree;
  RowChange change(session_->engine()->impl()->txns.get(), txn, &target->index, entry.key);
  change.value_bytes = value.size();
  return RunChange(&change, [&](MiniTxn* mini_txn) {
    LeafPosition position;
    const Status found = tree.FindForWrite(mini_txn, entry.key, &position);
    if (!found.ok()) return found;
    return position.exact ? tree.UpdateAt(mini_txn, position, value, txn->txn_id())
                          : tree.InsertAt(mini_txn, position, entry.key, value, txn->txn_id());
  });
}

Status IndexBuild::Remove(Target* target, Bytes key) {
  Tree& tree = target->index.tree;
  RowChange change(session_->engine()->impl()->txns.get(), session_->txn(), &target->index, key);
  size_t entries_left = 0;
  const Status status = RunChange(&change, [&](MiniTxn* mini_txn) {
    LeafPosition position;
    const Status found = tree.FindForWrite(mini_txn, key, &position);
    if (!found.ok()) return found;
    if (!position.exact) {
      return target->index.ReportDamage(position.leaf.id.page,
                                        "an entry of the index being built is missing");
    }
    tree.RemoveAt(mini_txn, position);
    entries_left = tree.EntryCountAt(position);
    return Status::Ok();
  });
  if (status.ok()) MergeAfterRemoval(&target->index, key, entries_left);
  return status;
}

}  // namespace rowan
