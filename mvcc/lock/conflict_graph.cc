// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/lock/conflict_graph.h"

#include <algorithm>
#include <new>

#include "base/assertions.h"

namespace rowan {
namespace {

bool IsPrepared(const SerialTxn& txn) { return txn.prepare_time != SerialTxn::kNever; }
uint64_t CommitTime(const SerialTxn& txn) {
  return txn.commit_time.load(std::memory_order_relaxed);
}
bool IsOpen(const SerialTxn& txn) { return CommitTime(txn) == SerialTxn::kNever; }
bool IsDoomed(const SerialTxn& txn) { return txn.doomed.load(std::memory_order_relaxed); }
/// It writes nothing, so it could only be T1, which its snapshot rules out: none of its edges
/// matters.
bool IsSafe(const SerialTxn& txn) { return txn.safe.load(std::memory_order_relaxed); }

ConflictSummary::Writer AsWriter(const SerialTxn& txn) {
  return {txn.prepare_time, txn.earliest_out, CommitTime(txn)};
}

}  // namespace

void SerialTxnList::Append(SerialTxn* txn) {
  ROWAN_DCHECK(txn->list == nullptr);
  txn->list = this;
  txn->previous = last;
  txn->next = nullptr;
  (last == nullptr ? first : last->next) = txn;
  last = txn;
}

void SerialTxnList::Remove(SerialTxn* txn) {
  ROWAN_DCHECK(txn->list == this);
  (txn->previous == nullptr ? first : txn->previous->next) = txn->next;
  (txn->next == nullptr ? last : txn->next->previous) = txn->previous;
  txn->previous = txn->next = nullptr;
  txn->list = nullptr;
}

void ConflictGraph::Move(SerialTxn* txn, SerialTxnList* list) {
  ROWAN_DCHECK(txn->list != nullptr && txn->list != list);
  txn->list->Remove(txn);
  list->Append(txn);
}

SerialTxn* ConflictGraph::New(SerialTxnList* list) {
  auto* txn = new SerialTxn;
  txn->number = ++numbers_;
  txn->first_time = time_;
  list->Append(txn);
  size_.fetch_add(1, std::memory_order_relaxed);
  return txn;
}

SerialTxn* ConflictGraph::Begin() {
  const MutexLock lock(&mutex_);
  return New(&writers_);
}

SerialTxn* ConflictGraph::BeginReadOnly(FunctionRef<void()> take) {
  const MutexLock lock(&mutex_);
  take();
  if (writers_.first == nullptr && adopted_.first == nullptr) return nullptr;
  SerialTxn* txn = New(&readers_);
  txn->declared_read_only = true;
  txn->snapshot_time = time_;
  try {
    WatchAll(txn);
  } catch (const std::bad_alloc&) {
    for (const SerialTxnList* list : {&writers_, &adopted_}) {
      for (SerialTxn* other = list->first; other != nullptr; other = other->next) {
        other->watchers.erase(txn);
      }
    }
    txn->list->Remove(txn);
    size_.fetch_sub(1, std::memory_order_relaxed);
    Delete(txn);
    throw;
  }
  return txn;
}

void ConflictGraph::WatchAll(SerialTxn* txn) {
  for (const SerialTxnList* list : {&writers_, &adopted_}) {
    for (SerialTxn* other = list->first; other != nullptr; other = other->next) {
      ++steps_;
      other->watchers.insert(txn);
      txn->watched.insert(other);
    }
  }
}

SerialTxn* ConflictGraph::Adopt(TxnId id) {
  const MutexLock lock(&mutex_);
  SerialTxn* txn = New(&adopted_);
  size_.fetch_sub(1, std::memory_order_relaxed);
  txn->first_time = 0;
  txn->prepare_time = time_;
  txn->earliest_out = 0;
  txn->id = id;
  by_id_[id.value()] = txn;
  return txn;
}

void ConflictGraph::NoteSnapshot(SerialTxn* txn) {
  const MutexLock lock(&mutex_);
  ROWAN_DCHECK(IsOpen(*txn));
  // After the snapshot: all that it shows is prepared by now.
  txn->snapshot_time = time_;
}

void ConflictGraph::SetId(SerialTxn* txn, TxnId id) {
  const MutexLock lock(&mutex_);
  ROWAN_DCHECK(id != kNoTxn && txn->id == kNoTxn);
  by_id_[id.value()] = txn;
  txn->id = id;
}

void ConflictGraph::ForgetId(SerialTxn* txn) {
  const MutexLock lock(&mutex_);
  if (txn->id != kNoTxn) by_id_.erase(txn->id.value());
  txn->id = kNoTxn;
}

// --- edges ---

bool ConflictGraph::WriterIsPivot(const SerialTxn& reader, const ConflictSummary::Writer& writer) {
  const uint64_t third = writer.earliest_out;
  if (third == SerialTxn::kNever) return false;
  if (third > writer.commit_time || third > CommitTime(reader)) return false;
  return !reader.declared_read_only || third <= reader.snapshot_time;
}

bool ConflictGraph::ReaderIsPivot(const SerialTxn& reader, const ConflictSummary::Writer& writer) {
  if (writer.prepare_time == SerialTxn::kNever || reader.declared_read_only) return false;
  return reader.open_in != 0 || reader.latest_in >= writer.prepare_time;
}

bool ConflictGraph::AddLocked(SerialTxn* reader, SerialTxn* writer, const SerialTxn* own) {
  ROWAN_DCHECK(own == reader || own == writer);
  if (reader == writer || reader->gone || writer->gone || IsSafe(*reader)) return true;
  if (IsDoomed(*own)) return false;
  if (IsDoomed(*reader) || IsDoomed(*writer)) return true;
  if (CommitTime(*reader) <= writer->first_time || CommitTime(*writer) <= reader->first_time) {
    return true;  // not concurrent
  }
  ++steps_;
  if (reader->declared_read_only || !IsOpen(*reader)) {
    const uint64_t until = reader->declared_read_only ? reader->snapshot_time : CommitTime(*reader);
    writer->latest_in = std::max(writer->latest_in, until);
  }
  if (IsOpen(*reader) && IsOpen(*writer)) {
    const auto [edge, is_new] = writer->readers.insert(reader);
    if (!is_new) return true;
    try {
      reader->writers.insert(writer);
    } catch (const std::bad_alloc&) {
      writer->readers.erase(edge);
      throw;
    }
    if (!reader->declared_read_only) ++writer->open_in;
  }
  reader->earliest_out = std::min(reader->earliest_out, writer->prepare_time);
  const ConflictSummary::Writer facts = AsWriter(*writer);
  const bool writer_is_pivot = WriterIsPivot(*reader, facts);
  if (!writer_is_pivot && !ReaderIsPivot(*reader, facts)) return true;
  if (writer_is_pivot && writer != own && !IsPrepared(*writer)) {
    Doom(writer);
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
  if (found != by_id_.end()) return AddLocked(reader, found->second, reader);
  const ConflictSummary::Writer* summarised = summary_.Find(writer);
  if (summarised == nullptr || IsSafe(*reader)) return true;
  if (IsDoomed(*reader)) return false;
  if (summarised->commit_time <= reader->first_time) return true;  // not concurrent
  reader->earliest_out = std::min(reader->earliest_out, summarised->prepare_time);
  return !WriterIsPivot(*reader, *summarised) && !ReaderIsPivot(*reader, *summarised);
}

// --- ends ---

bool ConflictGraph::Prepare(SerialTxn* txn) {
  const MutexLock lock(&mutex_);
  if (IsPrepared(*txn)) return true;
  if (IsDoomed(*txn)) return false;
  ROWAN_DCHECK(IsOpen(*txn) && !txn->gone);
  std::vector<SerialTxn*> pivots;
  for (SerialTxn* second : txn->readers) {
    ++steps_;
    if (second->open_in == 0) continue;
    if (IsPrepared(*second)) return false;
    pivots.push_back(second);
  }
  for (SerialTxn* second : pivots) Doom(second);
  txn->prepare_time = ++time_;
  for (SerialTxn* reader : txn->readers) {
    reader->earliest_out = std::min(reader->earliest_out, txn->prepare_time);
  }
  return true;
}

void ConflictGraph::Doom(SerialTxn* txn) {
  ROWAN_DCHECK(!IsDoomed(*txn) && !IsPrepared(*txn));
  ROWAN_DCHECK(IsOpen(*txn));
  txn->doomed.store(true, std::memory_order_release);
  DropEdges(txn);
  TellWatchers(txn, false);
  Move(txn, &harmless_);
}

/// REQUIRES: it has ended, or will not commit.
void ConflictGraph::DropEdges(SerialTxn* txn) {
  const bool committed = !IsOpen(*txn);
  for (SerialTxn* reader : txn->readers) reader->writers.erase(txn);
  for (SerialTxn* writer : txn->writers) {
    writer->readers.erase(txn);
    if (txn->declared_read_only) continue;
    ROWAN_DCHECK(writer->open_in != 0);
    --writer->open_in;
    if (committed) writer->latest_in = std::max(writer->latest_in, CommitTime(*txn));
  }
  steps_ += txn->readers.size() + txn->writers.size();
  txn->readers.clear();
  txn->writers.clear();
}

void ConflictGraph::TellWatchers(SerialTxn* txn, bool committed) {
  steps_ += txn->watchers.size();
  for (SerialTxn* watcher : txn->watchers) {
    watcher->watched.erase(txn);
    // With such an edge this one is between the watcher and a third one that its snapshot shows.
    if (committed && txn->earliest_out <= watcher->snapshot_time) watcher->never_safe = true;
    if (!watcher->watched.empty() || watcher->never_safe || IsDoomed(*watcher)) continue;
    watcher->safe.store(true, std::memory_order_release);
    DropEdges(watcher);
    Move(watcher, &harmless_);
  }
  txn->watchers.clear();
}

void ConflictGraph::Forget(SerialTxn* txn, SerialTxn** forgotten) {
  ROWAN_DCHECK(!txn->gone && txn->list == nullptr);
  ROWAN_DCHECK(txn->readers.empty() && txn->writers.empty());
  txn->gone = true;
  if (txn->id != kNoTxn) by_id_.erase(txn->id.value());
  txn->next = *forgotten;
  *forgotten = txn;
  size_.fetch_sub(1, std::memory_order_relaxed);
}

SerialTxn* ConflictGraph::End(SerialTxn* txn, bool committed) {
  SerialTxn* forgotten = nullptr;
  const MutexLock lock(&mutex_);
  if (txn->list == &adopted_) size_.fetch_add(1, std::memory_order_relaxed);
  ROWAN_DCHECK(IsOpen(*txn) && !txn->gone);
  ROWAN_DCHECK(!committed || IsPrepared(*txn));
  ROWAN_DCHECK(!committed || !IsDoomed(*txn));
  const bool stays = committed && !IsSafe(*txn);
  if (stays) txn->commit_time.store(++time_, std::memory_order_release);
  DropEdges(txn);
  TellWatchers(txn, committed);
  for (SerialTxn* other : txn->watched) other->watchers.erase(txn);
  txn->watched.clear();
  if (stays) {
    ROWAN_DCHECK(committed_.last == nullptr || CommitTime(*committed_.last) < CommitTime(*txn));
    Move(txn, &committed_);
  } else {
    txn->list->Remove(txn);
    Forget(txn, &forgotten);
  }
  const uint64_t oldest = OldestTime();
  while (committed_.first != nullptr && CommitTime(*committed_.first) <= oldest) {
    SerialTxn* ended = committed_.first;
    committed_.Remove(ended);
    Forget(ended, &forgotten);
  }
  return forgotten;
}

SerialTxn* ConflictGraph::FirstThatMayCommit() const {
  SerialTxn* writer = writers_.first;
  SerialTxn* reader = readers_.first;
  if (writer == nullptr || reader == nullptr) return writer == nullptr ? reader : writer;
  return writer->number < reader->number ? writer : reader;
}

uint64_t ConflictGraph::OldestTime() const {
  const SerialTxn* const first = FirstThatMayCommit();
  return first == nullptr ? SerialTxn::kNever : first->first_time;
}

std::vector<SerialTxn*> ConflictGraph::TakeAll() {
  std::vector<SerialTxn*> all;
  const MutexLock lock(&mutex_);
  for (SerialTxnList* list : {&writers_, &readers_, &adopted_, &harmless_, &committed_}) {
    for (SerialTxn* txn = list->first; txn != nullptr; txn = txn->next) all.push_back(txn);
    *list = {};
  }
  return all;
}

// --- when memory is short ---

SerialTxn* ConflictGraph::Summarise(SerialTxn* summary) {
  const MutexLock lock(&mutex_);
  SerialTxn* txn = committed_.first;
  if (txn == nullptr) return nullptr;
  committed_.Remove(txn);
  size_.fetch_sub(1, std::memory_order_relaxed);
  ROWAN_DCHECK(CommitTime(*summary) <= CommitTime(*txn));
  summary->commit_time.store(CommitTime(*txn), std::memory_order_release);  // the last one so far
  if (txn->id == kNoTxn) return txn;
  by_id_.erase(txn->id.value());
  ConflictSummary::Writer facts = AsWriter(*txn);
  // A third one prepared after this commit does not matter.
  if (facts.earliest_out > facts.commit_time) facts.earliest_out = SerialTxn::kNever;
  summary_.Add(txn->id, facts);
  summary_bytes_.store(summary_.memory_bytes(), std::memory_order_relaxed);
  return txn;
}

bool ConflictGraph::ForgetSummary(const SerialTxn& summary) {
  const MutexLock lock(&mutex_);
  if (CommitTime(summary) > OldestTime()) return false;
  summary_.Clear();
  summary_bytes_.store(0, std::memory_order_relaxed);
  return true;
}

bool ConflictGraph::FoldSummary() {
  const MutexLock lock(&mutex_);
  if (summary_.memory_bytes() == 0) return false;
  summary_.Fold();
  summary_bytes_.store(summary_.memory_bytes(), std::memory_order_relaxed);
  return true;
}

void ConflictGraph::DoomOldest() {
  const MutexLock lock(&mutex_);
  SerialTxn* oldest = FirstThatMayCommit();
  if (oldest != nullptr && !IsPrepared(*oldest)) Doom(oldest);
}

uint64_t ConflictGraph::steps() const {
  const MutexLock lock(&mutex_);
  return steps_;
}

}  // namespace rowan
