// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/lock/serial_txns.h"

#include <utility>
#include <vector>

#include "base/assertions.h"
#include "base/counters.h"
#include "base/out_of_memory.h"

namespace rowan {

SerialTxns::SerialTxns(uint64_t memory_bytes_max) : memory_bytes_max_(memory_bytes_max) {
  summary_.commit_time.store(0, std::memory_order_relaxed);
}

SerialTxns::~SerialTxns() {
  reads_.Release(&summary_);
  for (SerialTxn* txn : graph_.TakeAll()) Forget(txn);
}

void SerialTxns::Forget(SerialTxn* txn) {
  reads_.Release(txn);
  ConflictGraph::Delete(txn);
}

Status SerialTxns::Refuse(Txn* txn) {
  if (txn->rollback.required == Code::kOk) AddCounter(Counter::kSerializationFailures);
  txn->rollback.required = Code::kDeadlock;
  return Status(Code::kDeadlock, "reads and writes of concurrent transactions could form a circle");
}

Result<bool> SerialTxns::MustNote(Txn* txn) {
  ROWAN_DCHECK(txn->serial != nullptr);
  if (txn->serial->doomed.load(std::memory_order_acquire)) return Refuse(txn);
  if (!txn->serial->safe.load(std::memory_order_acquire)) return true;
  End(txn, false);  // as if it had never existed
  return false;
}

Status SerialTxns::NoteRead(Txn* txn, IndexId index, const ReadPiece& piece) {
  Result<bool> must = MustNote(txn);
  if (!must.ok() || !*must) return must.status();
  reads_.Add(txn->serial, index, piece);
  if (MemoryIsShort()) reads_.MergeNearest(txn->serial);
  return Status::Ok();
}

Status SerialTxns::NoteKey(Txn* txn, IndexId index, Bytes key) {
  std::vector<std::byte> behind(key.begin(), key.end());
  behind.push_back(std::byte{0});
  return NoteRead(txn, index, {.low = key, .high = Bytes(behind)});
}

Status SerialTxns::Open(Txn* txn, IndexId index, const ReadPiece& piece, OpenRead* read) {
  Result<bool> must = MustNote(txn);
  if (!must.ok() || !*must) return must.status();
  if (read->range != nullptr) {
    reads_.Resize(*read, piece);
  } else {
    *read = reads_.Open(txn->serial, index, piece);
  }
  if (MemoryIsShort()) reads_.MergeNearest(txn->serial);
  return Status::Ok();
}

Status SerialTxns::NoteWriter(Txn* txn, TxnId writer) {
  ROWAN_DCHECK(txn->serial != nullptr && writer != kNoTxn);
  return graph_.AddWriter(txn->serial, writer) ? Status::Ok() : Refuse(txn);
}

Status SerialTxns::CheckWrite(Txn* txn, IndexId index, Bytes key) {
  SerialTxn* own = txn->serial;
  ROWAN_DCHECK(own != nullptr && !own->declared_read_only);
  if (own->doomed.load(std::memory_order_acquire)) return Refuse(txn);
  if (!reads_.AnyOfOthers(*own, index)) return Status::Ok();
  bool allowed = true;
  reads_.ForEachReader(index, key, [&](SerialTxn* reader) {
    if (reader == own || own->known_readers.contains(reader->number)) return;
    if (reader->commit_time.load(std::memory_order_acquire) <= own->first_time) return;
    // The set that the summary stands for changes.
    allowed = graph_.Add(reader, own, own) && allowed;
    if (reader != &summary_) own->known_readers.insert(reader->number);
  });
  return allowed ? Status::Ok() : Refuse(txn);
}

Status SerialTxns::Prepare(Txn* txn) {
  ROWAN_DCHECK(txn->serial != nullptr);
  return graph_.Prepare(txn->serial) ? Status::Ok() : Refuse(txn);
}

void SerialTxns::End(Txn* txn, bool committed) {
  SerialTxn* serial = txn->serial;
  ROWAN_DCHECK(serial != nullptr && serial != &summary_);
  txn->serial = nullptr;
  for (SerialTxn* forgotten = graph_.End(serial, committed); forgotten != nullptr;) {
    Forget(std::exchange(forgotten, forgotten->next));
  }
  if (has_summary_.load(std::memory_order_relaxed) || MemoryIsShort()) TendSummary();
}

void SerialTxns::TendSummary() {
  if (tended_.exchange(true, std::memory_order_acquire)) return;  // another thread does it
  OrOutOfMemory([this] {
    Tend();
    return Status::Ok();
  }).Ignore();  // the next end tries again
  tended_.store(false, std::memory_order_release);
}

void SerialTxns::Tend() {
  if (has_summary_.load(std::memory_order_relaxed) && graph_.ForgetSummary(summary_)) {
    reads_.Release(&summary_);
    has_summary_.store(false, std::memory_order_relaxed);
  }
  if (MemoryIsShort()) Summarise();
  // What remains belongs to open ones.
  if (MemoryIsShort()) graph_.DoomOldest();
}

void SerialTxns::Summarise() {
  while (MemoryIsShort()) {
    SerialTxn* committed = graph_.Summarise(&summary_);
    if (committed == nullptr) break;
    reads_.MoveTo(&summary_, committed);
    ConflictGraph::Delete(committed);
    has_summary_.store(true, std::memory_order_relaxed);
  }
  while (MemoryIsShort() && reads_.MergeNearest(&summary_)) {
  }
  while (MemoryIsShort() && graph_.FoldSummary()) {
  }
}

}  // namespace rowan
