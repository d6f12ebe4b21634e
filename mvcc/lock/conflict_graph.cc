// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/lock/conflict_graph.h"

#include <algorithm>

#include "base/assertions.h"

namespace rowan {
namespace {

void Erase(std::vector<SerialTxn*>* list, SerialTxn* txn) {
  const auto place = std::find(list->begin(), list->end(), txn);
  if (place == list->end()) return;
  *place = list->back();
  list->pop_back();
}

bool IsPrepared(const SerialTxn& txn) { return txn.prepare_time != SerialTxn::kNever; }
uint64_t CommitTime(const SerialTxn& txn) {
  return txn.commit_time.load(std::memory_order_relaxed);
}
bool IsDoomed(const SerialTxn& txn) { return txn.doomed.load(std::memory_order_relaxed); }
/// It writes nothing, so it could only be T1, and of its snapshot that is out of the question: no
/// edge of it matters.
bool IsSafe(const SerialTxn& txn) { return txn.safe.load(std::memory_order_relaxed); }

}  // namespace

void ConflictGraph::List::Append(SerialTxn* txn) {
  txn->previous = last;
  txn->next = nullptr;
  (last == nullptr ? first : last->next) = txn;
  last = txn;
  ++size;
}

void ConflictGraph::List::Remove(SerialTxn* txn) {
  (txn->previous == nullptr ? first : txn->previous->next) = txn->next;
  (txn->next == nullptr ? last : txn->next->previous) = txn->previous;
  txn->previous = txn->next = nullptr;
  --size;
}

SerialTxn* ConflictGraph::New() {
  auto* txn = new SerialTxn;
  txn->number = ++numbers_;
  txn->first_time = time_;
  open_.Append(txn);
  return txn;
}

SerialTxn* ConflictGraph::Begin() {
  const MutexLock lock(&mutex_);
  ++open_writers_;
  return New();
}

SerialTxn* ConflictGraph::BeginReadOnly(FunctionRef<void()> take) {
  const MutexLock lock(&mutex_);
  take();
  if (open_writers_ == 0) return nullptr;
  SerialTxn* txn = New();
  txn->declared_read_only = true;
  txn->snapshot_time = time_;
  for (SerialTxn* other = open_.first; other != txn; other = other->next) {
    if (other->declared_read_only) continue;
    other->watchers.push_back(txn);
    ++txn->watched;
  }
  return txn;
}

void ConflictGraph::NoteSnapshot(SerialTxn* txn) {
  const MutexLock lock(&mutex_);
  // Behind the snapshot: what it shows was prepared by now.
  txn->snapshot_time = time_;
}

void ConflictGraph::SetId(SerialTxn* txn, TxnId id) {
  const MutexLock lock(&mutex_);
  txn->id = id;
  by_id_[id.value()] = txn;
}

// --- edges ---

bool ConflictGraph::WriterIsPivot(const SerialTxn& reader, const SerialTxn& writer) {
  const uint64_t third = writer.earliest_out;
  if (third == SerialTxn::kNever) return false;
  if (third > CommitTime(writer) || third > CommitTime(reader)) return false;
  return !reader.declared_read_only || third <= reader.snapshot_time;
}

bool ConflictGraph::ReaderIsPivot(const SerialTxn& reader, const SerialTxn& writer) {
  if (!IsPrepared(writer) || reader.declared_read_only) return false;
  return std::any_of(reader.readers.begin(), reader.readers.end(), [&](const SerialTxn* first) {
    if (IsDoomed(*first) || CommitTime(*first) < writer.prepare_time) return false;
    return !first->declared_read_only || first->snapshot_time >= writer.prepare_time;
  });
}

bool ConflictGraph::AddLocked(SerialTxn* reader, SerialTxn* writer, const SerialTxn* own) {
  if (reader == writer || reader->gone || writer->gone) return true;
  if (IsDoomed(*own)) return false;
  if (IsDoomed(*reader) || IsDoomed(*writer)) return true;
  if (CommitTime(*reader) <= writer->first_time || CommitTime(*writer) <= reader->first_time) {
    return true;  // not concurrent
  }
  std::vector<SerialTxn*>& readers = writer->readers;
  if (std::find(readers.begin(), readers.end(), reader) != readers.end()) return true;
  readers.push_back(reader);
  reader->writers.push_back(writer);
  reader->earliest_out = std::min(reader->earliest_out, writer->prepare_time);
  const bool writer_is_pivot = WriterIsPivot(*reader, *writer);
  if (!writer_is_pivot && !ReaderIsPivot(*reader, *writer)) return true;
  if (writer_is_pivot && writer != own && !IsPrepared(*writer)) {
    writer->doomed.store(true, std::memory_order_release);
    return true;
  }
  return false;
}

bool ConflictGraph::Add(SerialTxn* reader, SerialTxn* writer, const SerialTxn* own) {
  const MutexLock lock(&mutex_);
  return AddLocked(reader, writer, own);
}

bool ConflictGraph::AddWriter(SerialTxn* reader, TxnId writer) {
  const MutexLock lock(&mutex_);
  const auto found = by_id_.find(writer.value());
  return found == by_id_.end() || AddLocked(reader, found->second, reader);
}

// --- ends ---

bool ConflictGraph::Prepare(SerialTxn* txn) {
  const MutexLock lock(&mutex_);
  if (IsPrepared(*txn)) return true;
  if (IsDoomed(*txn)) return false;
  for (SerialTxn* second : txn->readers) {
    if (CommitTime(*second) != SerialTxn::kNever || IsDoomed(*second)) continue;
    const bool is_pivot =
        std::any_of(second->readers.begin(), second->readers.end(), [&](const SerialTxn* first) {
          return first == txn || (CommitTime(*first) == SerialTxn::kNever &&
                                  !first->declared_read_only && !IsDoomed(*first));
        });
    if (!is_pivot) continue;
    if (IsPrepared(*second)) return false;
    second->doomed.store(true, std::memory_order_release);
  }
  txn->prepare_time = ++time_;
  for (SerialTxn* reader : txn->readers) {
    reader->earliest_out = std::min(reader->earliest_out, txn->prepare_time);
  }
  return true;
}

void ConflictGraph::TellWatchers(SerialTxn* txn, bool committed) {
  for (SerialTxn* watcher : txn->watchers) {
    --watcher->watched;
    // With such an edge this one stands between the watcher and a third that its snapshot shows.
    const bool unsafe = committed && txn->earliest_out <= watcher->snapshot_time;
    if (unsafe) watcher->watched = UINT32_MAX / 2;  // never comes to nothing
    if (watcher->watched == 0) watcher->safe.store(true, std::memory_order_release);
  }
  txn->watchers.clear();
}

void ConflictGraph::Forget(SerialTxn* txn, std::vector<SerialTxn*>* forgotten) {
  txn->gone = true;
  for (SerialTxn* reader : txn->readers) Erase(&reader->writers, txn);
  for (SerialTxn* writer : txn->writers) Erase(&writer->readers, txn);
  txn->readers.clear();
  txn->writers.clear();
  if (txn->id != kNoTxn) by_id_.erase(txn->id.value());
  forgotten->push_back(txn);
}

std::vector<SerialTxn*> ConflictGraph::End(SerialTxn* txn, bool committed) {
  std::vector<SerialTxn*> forgotten;
  const MutexLock lock(&mutex_);
  open_.Remove(txn);
  if (txn->declared_read_only) {
    for (SerialTxn* other = open_.first; other != nullptr; other = other->next) {
      Erase(&other->watchers, txn);
    }
  } else {
    --open_writers_;
    TellWatchers(txn, committed);
  }
  if (committed && !IsSafe(*txn)) {
    txn->commit_time.store(++time_, std::memory_order_release);
    committed_.Append(txn);
  } else {
    Forget(txn, &forgotten);
  }
  const SerialTxn* const first = FirstThatMayCommit();
  const uint64_t oldest = first == nullptr ? SerialTxn::kNever : first->first_time;
  while (committed_.first != nullptr && CommitTime(*committed_.first) <= oldest) {
    SerialTxn* ended = committed_.first;
    committed_.Remove(ended);
    Forget(ended, &forgotten);
  }
  return forgotten;
}

SerialTxn* ConflictGraph::FirstThatMayCommit() const {
  SerialTxn* txn = open_.first;
  while (txn != nullptr && (IsDoomed(*txn) || IsSafe(*txn))) txn = txn->next;
  return txn;
}

void ConflictGraph::DoomOldest() {
  const MutexLock lock(&mutex_);
  SerialTxn* oldest = FirstThatMayCommit();
  if (oldest != nullptr && !IsPrepared(*oldest)) {
    oldest->doomed.store(true, std::memory_order_release);
  }
}

std::vector<SerialTxn*> ConflictGraph::TakeAll() {
  std::vector<SerialTxn*> all;
  const MutexLock lock(&mutex_);
  for (List* list : {&open_, &committed_}) {
    for (SerialTxn* txn = list->first; txn != nullptr; txn = txn->next) all.push_back(txn);
    *list = {};
  }
  return all;
}

size_t ConflictGraph::size() const {
  const MutexLock lock(&mutex_);
  return open_.size + committed_.size;
}

}  // namespace rowan
