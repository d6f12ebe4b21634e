// SPDX-License-Identifier: GPL-2.0-only
#include "engine/build/index_build.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/format.h"
#include "base/out_of_memory.h"
#include "btree/cursor.h"
#include "engine/engine.h"
#include "engine/tree_build.h"
#include "mvcc/row/row_change.h"
#include "mvcc/row/row_header.h"

namespace rowan {
namespace {

/// State of one worker, on its own cache line.
struct alignas(64) SortingWorker {
  EncodedEntry buffer;
};

}  // namespace

/// An index being built.
struct IndexBuild::Target {
  Target(const Table& table, const NewIndex& made)
      : index_number(made.index_number),
        index(table.index(0)->tree.allocator(), table.space(), made.root, made.id, table.id(),
              false) {}

  const uint32_t index_number;
  Index index;
  std::unique_ptr<EntrySorter> sorter{};  ///< entries to be inserted
};

IndexBuild::IndexBuild(Session* session, std::shared_ptr<Table> table, const Rows& rows,
                       const BuildLimits& limits)
    : session_(session),
      table_(std::move(table)),
      rows_(rows),
      limits_(limits),
      scan_(session, table_, rows) {}

IndexBuild::~IndexBuild() = default;

Status IndexBuild::AtIndex(Status status, const Target& target) {
  return status.Is(Code::kDuplicate)
             ? Status(Code::kDuplicate, "duplicate entry", target.index_number)
             : status;
}

std::unique_ptr<EntrySorter> IndexBuild::NewSorter(const Target& target, uint32_t lanes) const {
  return session_->sort_space().NewSorter(Format("{}", target.index.id().value()),
                                          limits_.sort_memory_bytes / targets_.size(), lanes);
}

Status IndexBuild::Start(std::vector<NewIndex> indexes) {
  return OrOutOfMemory([&] { return CreateTrees(std::move(indexes)); });
}

Status IndexBuild::CreateTrees(std::vector<NewIndex> indexes) {
  indexes_ = std::move(indexes);
  for (NewIndex& index : indexes_) {
    const Status status =
        session_->engine()->CreateIndex(session_, *table_, &index.id, &index.root);
    if (!status.ok()) return status;
    targets_.push_back(std::make_unique<Target>(*table_, index));
    made_.resize(std::max<size_t>(made_.size(), index.index_number + 1));
    made_[index.index_number] = true;
  }
  before_ = std::make_unique<RowImage>(rows_.codec, made_.size());
  after_ = std::make_unique<RowImage>(rows_.codec, made_.size());
  scan_.Start(Format("changes_{}", indexes_.front().id.value()), limits_);
  return Status::Ok();
}

Status IndexBuild::Build() {
  const Status status = OrOutOfMemory([this] { return BuildTrees(); });
  if (!status.ok()) return status;
  return OrOutOfMemory([this] { return scan_.CatchUpAmongWriters(this); });
}

Status IndexBuild::Finish() {
  return OrOutOfMemory([this] { return scan_.CatchUpForGood(this); });
}

// --- the first snapshot ---

Status IndexBuild::BuildTrees() {
  const size_t lanes_max = limits_.sort_memory_bytes / targets_.size() / limits_.lane_bytes_min;
  const uint32_t workers =
      scan_.WorkersFor(static_cast<uint32_t>(std::min<size_t>(limits_.threads, lanes_max)));
  for (const auto& target : targets_) target->sorter = NewSorter(*target, workers);
  const Status scanned = SortEntries(workers);
  if (!scanned.ok()) return scanned;
  std::vector<TreeBuild> builds;
  for (const auto& target : targets_) {
    builds.push_back({&target->index.tree, std::move(target->sorter)});
  }
  TreeBuildFailure failure;
  const Status status = rowan::BuildTrees(builds,
                                          {.stamp = session_->txn()->txn_id(),
                                           .interrupted = [this] { return session_->must_stop(); },
                                           .progress = session_->progress(),
                                           .threads = limits_.threads},
                                          &failure);
  duplicate_key_ = std::move(failure.duplicate_key);
  return AtIndex(status, *targets_[failure.tree]);
}

/// Each worker adds to its own lane, which it sorts at the end.
Status IndexBuild::SortEntries(uint32_t workers) {
  std::vector<SortingWorker> sorting(workers);
  const auto add = [&](uint32_t worker, const void* record, Bytes key) {
    return AddEntries(worker, record, key, &sorting[worker].buffer);
  };
  const auto finish = [&](uint32_t worker) {
    for (const auto& target : targets_) {
      const Status status = target->sorter->FinishLane(worker);
      if (!status.ok()) return status;
    }
    return Status::Ok();
  };
  return scan_.ScanRows(workers, add, finish);
}

Status IndexBuild::AddEntries(uint32_t worker, const void* record, Bytes key,
                              EncodedEntry* buffer) {
  for (const auto& target : targets_) {
    const auto add = [&](const EncodedEntry& entry) {
      return target->sorter->Add(entry.View(target->index_number), worker);
    };
    const Status status =
        rows_.codec->EncodeEntries(target->index_number, record, key, buffer, add);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

// --- from one snapshot to the next ---

void IndexBuild::StartRound() {
  for (const auto& target : targets_) target->sorter = NewSorter(*target, 1);
}

Status IndexBuild::EndRound() {
  for (const auto& target : targets_) {
    const Status status = InsertEntries(target.get());
    if (!status.ok()) return AtIndex(status, *target);
  }
  return Status::Ok();
}

Status IndexBuild::ReadDuplicate(uint32_t index_number) {
  ByteBuffer scratch;
  Result<Bytes> key = rows_.codec->ClusteredKeyOf(index_number, duplicate_key_, &scratch);
  if (!key.ok()) return key.status();
  return scan_.ReadBefore(*key);
}

Status IndexBuild::Compare(Bytes key) {
  Status status = KeepEntries(key, scan_.ReadBefore(key), before_.get());
  if (!status.ok()) return status;
  status = KeepEntries(key, scan_.ReadNow(key), after_.get());
  if (!status.ok()) return status;
  RowImage::ListChanges(*before_, *after_, &made_, &changes_);
  for (const EntryChange& change : changes_) {
    status = Apply(change);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status IndexBuild::KeepEntries(Bytes key, Status found, RowImage* image) const {
  image->Clear();
  if (found.Is(Code::kNotFound)) return Status::Ok();
  if (!found.ok()) return found;
  image->SetKey(key);
  return image->EncodeEntries(rows_.record, &made_);
}

Status IndexBuild::Apply(const EntryChange& change) {
  const Bytes before = change.before.key;
  const Bytes after = change.after.key;
  Target* target = TargetOf(change.after.index);
  if (EqualBytes(before, after)) return Put(target, change.after);
  const Status status = before.empty() ? Status::Ok() : Remove(target, before);
  return status.ok() && !after.empty() ? target->sorter->Add(change.after) : status;
}

IndexBuild::Target* IndexBuild::TargetOf(uint32_t index_number) const {
  const auto found = std::find_if(targets_.begin(), targets_.end(), [&](const auto& target) {
    return target->index_number == index_number;
  });
  return found->get();
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
  RowChange change(session_->txns(), txn, &target->index, entry.key);
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
  RowChange change(session_->txns(), session_->txn(), &target->index, key);
  bool merge_is_due = false;
  const Status status = RunChange(&change, [&](MiniTxn* mini_txn) {
    LeafPosition position;
    const Status found = tree.FindForWrite(mini_txn, key, &position);
    if (!found.ok()) return found;
    if (!position.exact) {
      return target->index.ReportDamage(position.leaf.id.page,
                                        "an entry of the index being built is missing");
    }
    const LeafShrinkage shrinkage(tree, position);
    tree.RemoveAt(mini_txn, position);
    merge_is_due = shrinkage.MergeIsDue();
    return Status::Ok();
  });
  if (merge_is_due) MergeAfterRemoval(&target->index, key);
  return status;
}

}  // namespace rowan
