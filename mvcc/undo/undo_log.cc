// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/undo/undo_log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "base/assertions.h"
#include "base/counters.h"

namespace rowan {
namespace {

/// Written by the transaction's thread only, read by others for statistics.
void SetUndoRecords(Txn* txn, uint64_t records) {
  std::atomic_ref(txn->undo.records).store(records, std::memory_order_relaxed);
}

}  // namespace

size_t UndoLog::MaxPayloadBytes(uint32_t page_size_bytes) {
  // Header record and record must fit one empty page together.
  return UndoRecordsEnd(page_size_bytes) - kUndoRecordsOffset - kTxnHeaderBytes - kUndoFixedBytes -
         kVarintBytesMax;
}

uint32_t UndoLog::LogBytesMax(size_t payload_bytes) {
  constexpr size_t kRecordFrame = 20;  // type, space, page and length of the log record; offset
  return static_cast<uint32_t>(payload_bytes + kTxnHeaderBytes + kUndoFixedBytes + kVarintBytesMax +
                               kRecordFrame);
}

Status UndoLog::EnsureRoom(Txn* txn, size_t payload_bytes) {
  ROWAN_DCHECK(txn->is_writer() && !txn->rollback.shared);
  const size_t page_size = space_->page_size();
  if (payload_bytes > MaxPayloadBytes(static_cast<uint32_t>(page_size))) {
    return Status(Code::kTooBig, "the undo record is too large for the page size");
  }
  if (txn->undo.stream == nullptr) {
    const Status status = streams_->Acquire(txn);
    if (!status.ok()) return status;
  }
  size_t bytes = payload_bytes + kUndoFixedBytes + kVarintBytesMax;
  if (txn->undo.empty()) bytes += kTxnHeaderBytes;
  ROWAN_DCHECK(txn->undo.stream->free >= txn->undo.stream->begin);
  if (txn->undo.stream->free + bytes <= UndoRecordsEnd(page_size)) return Status::Ok();
  return streams_->AddPage(txn);
}

Status UndoLog::Read(UndoPointer pointer, UndoRecordCopy* record) {
  Result<PageGuard> guard = space_->FixShared(pointer.page);
  if (!guard.ok()) return guard.status();
  UndoRecordInPage found;
  if (pointer.offset < UndoRecordsBegin(guard->page()) ||
      !ParseUndoRecord(guard->page(), pointer.offset, UndoFreeOf(guard->page()), &found)) {
    return space_->Damage(pointer.page, "a pointer leads to no undo record");
  }
  record->Assign(found, guard->id());
  return Status::Ok();
}

UndoPointer UndoLog::AppendAtTail(MiniTxn* mini_txn, const MutablePage& page, Txn* txn,
                                  UndoType type, IndexId index,
                                  std::initializer_list<Bytes> payload_parts) {
  UndoStream* stream = txn->undo.stream;
  const bool first = txn->undo.empty();
  size_t bytes = first ? kTxnHeaderBytes : 0;
  size_t payload_bytes = 0;
  for (const Bytes part : payload_parts) payload_bytes += part.size();
  bytes += UndoRecordBytes(index, payload_bytes);
  const uint16_t offset = stream->free;
  ROWAN_CHECK(offset == UndoFreeOf(page.bytes));
  ROWAN_DCHECK(page.id.page == stream->tail && offset >= stream->begin);
  ROWAN_DCHECK(!first || txn->undo.records == 0);
  ROWAN_DCHECK(UndoStreamOf(page.bytes) == stream->number);
  ROWAN_CHECK(offset + bytes <=
              UndoRecordsEnd(space_->page_size()));  // EnsureRoom was asked for less

  std::byte* record = page.bytes + offset;
  if (first) {
    std::array<std::byte, kTxnHeaderPayloadBytes> header;
    StoreTxnHeader(header.data(), {.txn = txn->txn_id(), .csn = Csn(0), .xid = {}});
    record = WriteUndoRecord(record, UndoType::kTxnHeader, IndexId(0), {Bytes(header)});
    txn->undo.header = {stream->tail, offset};
    ++stream->begun;
  }
  const UndoPointer pointer{stream->tail, static_cast<uint16_t>(record - page.bytes)};
  const std::byte* end = WriteUndoRecord(record, type, index, payload_parts);
  ROWAN_DCHECK(static_cast<size_t>(end - page.bytes) == offset + bytes);
  stream->free = static_cast<uint16_t>(offset + bytes);
  SetUndoFree(page.bytes, stream->free);
  std::byte* body = mini_txn->Log(RecordType::kUndoAppend, page, 2 + bytes);
  StoreLe<uint16_t>(body, offset);
  std::memcpy(body + 2, page.bytes + offset, bytes);
  return pointer;
}

Result<UndoPointer> UndoLog::Append(MiniTxn* mini_txn, Txn* txn, UndoType type, IndexId index,
                                    std::initializer_list<Bytes> payload_parts) {
  ROWAN_DCHECK(txn->undo.stream != nullptr && txn->is_writer());
  ROWAN_DCHECK(!txn->rollback.shared);
  ROWAN_DCHECK(type != UndoType::kInvalid && type != UndoType::kTxnHeader &&
               type != UndoType::kXid);
  UndoStream* stream = txn->undo.stream;
  Result<MutablePage> page = space_->Fix(mini_txn, stream->tail, stream->left);
  if (!page.ok()) return streams_->CannotAppend(txn, page.status());
  txn->undo.indexes.Note(index);  // first: it may run out of memory
  const UndoPointer pointer = AppendAtTail(mini_txn, page.value(), txn, type, index, payload_parts);
  stream->left = mini_txn->OnceReleased(page.value());
  SetUndoRecords(txn, txn->undo.records + 1);
  ROWAN_DCHECK(stream->free > pointer.offset);
  txn->undo.bytes += stream->free - pointer.offset;
  AddCounter(Counter::kUndoRecords);
  return pointer;
}

Status UndoLog::ReadLast(Txn* txn, const UndoPosition& down_to, UndoRecordCopy* record,
                         UndoPointer* pointer) {
  if (txn->undo.records <= down_to.records) return Status(Code::kEndOfRange);
  ROWAN_DCHECK(!txn->rollback.shared && !txn->undo.empty());
  ROWAN_DCHECK(txn->undo.stream != nullptr);
  UndoStream* stream = txn->undo.stream;
  while (stream->free == stream->begin) {
    const Status status = streams_->DropEmptyTail(stream);
    if (!status.ok()) return status;
  }
  const PageNumber page = stream->tail;
  Result<PageGuard> guard = space_->FixShared(page);
  if (!guard.ok()) return guard.status();
  const size_t end = UndoFreeOf(guard->page());
  const size_t offset = UndoRecordBefore(guard->page(), end);
  UndoRecordInPage found;
  if (end != stream->free || offset == 0 || !ParseUndoRecord(guard->page(), offset, end, &found)) {
    return space_->Damage(page, "the newest undo record is damaged");
  }
  record->Assign(found, guard->id());
  *pointer = {page, static_cast<uint16_t>(offset)};
  return Status::Ok();
}

void UndoLog::Truncate(MiniTxn* mini_txn, const MutablePage& page, UndoStream* stream,
                       uint16_t offset) {
  ROWAN_DCHECK(page.id.page == stream->tail);
  ROWAN_DCHECK(offset >= stream->begin && offset <= stream->free);
  SetUndoFree(page.bytes, offset);
  StoreLe<uint16_t>(mini_txn->Log(RecordType::kUndoTruncate, page, 2), offset);
  stream->free = offset;
}

Status UndoLog::TruncateTail(UndoStream* stream, uint16_t offset) {
  MiniTxn mini_txn(space_->pool());
  const Status status = mini_txn.Start(kUndoStateGroupBytes);
  if (!status.ok()) return status;
  Result<MutablePage> page = space_->Fix(&mini_txn, stream->tail);
  if (!page.ok()) return page.status();
  Truncate(&mini_txn, page.value(), stream, offset);
  mini_txn.Commit();
  return Status::Ok();
}

Status UndoLog::MarkRolledBack(MiniTxn* mini_txn, UndoPointer pointer) {
  Result<MutablePage> page = space_->Fix(mini_txn, pointer.page);
  if (!page.ok()) return page.status();
  const auto offset = static_cast<uint16_t>(pointer.offset + kUndoTypeOffset);
  const std::array mark{page->bytes[offset] | static_cast<std::byte>(kUndoRolledBackBit)};
  UndoSpace::SetBytes(mini_txn, page.value(), offset, mark);
  return Status::Ok();
}

Status UndoLog::DropUndone(MiniTxn* mini_txn, Txn* txn, UndoPointer pointer) {
  if (txn->rollback.shared) return MarkRolledBack(mini_txn, pointer);
  UndoStream* stream = txn->undo.stream;
  ROWAN_CHECK(pointer.page == stream->tail && pointer.offset < stream->free);
  Result<MutablePage> page = space_->Fix(mini_txn, stream->tail);
  if (!page.ok()) return page.status();
  ROWAN_DCHECK(txn->undo.records != 0 && !txn->undo.empty());
  // Bytes of a recovered transaction on earlier pages were not counted.
  txn->undo.bytes -= std::min<uint64_t>(txn->undo.bytes, stream->free - pointer.offset);
  Truncate(mini_txn, page.value(), stream, pointer.offset);
  SetUndoRecords(txn, txn->undo.records - 1);
  return Status::Ok();
}

Status UndoLog::DropLast(Txn* txn, UndoPointer pointer) {
  MiniTxn mini_txn(space_->pool());
  Status status = mini_txn.Start(kUndoStateGroupBytes);
  if (!status.ok()) return status;
  status = DropUndone(&mini_txn, txn, pointer);
  if (!status.ok()) return status;
  mini_txn.Commit();
  return status;
}

Result<uint64_t> UndoLog::CountTail(const Txn& txn, uint16_t offset) const {
  const UndoStream* stream = txn.undo.stream;
  Result<PageGuard> guard = space_->FixShared(stream->tail);
  if (!guard.ok()) return guard.status();
  uint64_t records = 0;
  UndoRecordInPage record;
  for (size_t at = offset; at < stream->free; at += record.length) {
    if (!ParseUndoRecord(guard->page(), at, stream->free, &record)) {
      return space_->Damage(stream->tail, "an undo record is damaged");
    }
    ++records;
  }
  if (records > txn.undo.records) {
    return space_->Damage(stream->tail, "there are more undo records than the transaction has");
  }
  return records;
}

void UndoLog::Forget(Txn* txn, uint64_t records, uint64_t bytes) {
  ROWAN_DCHECK(records <= txn->undo.records);
  SetUndoRecords(txn, txn->undo.records - records);
  txn->undo.bytes -= std::min(txn->undo.bytes, bytes);
}

Status UndoLog::DropBehind(Txn* txn, UndoPointer end) {
  UndoStream* stream = txn->undo.stream;
  while (stream->tail != end.page) {
    const uint64_t bytes = stream->free - stream->begin;
    const Result<uint64_t> records = CountTail(*txn, stream->begin);
    if (!records.ok()) return records.status();
    const Status status = streams_->DropEmptyTail(stream);
    if (!status.ok()) return status;
    Forget(txn, records.value(), bytes);
  }
  ROWAN_DCHECK(end.offset >= stream->begin && end.offset <= stream->free);
  const uint64_t bytes = stream->free - end.offset;
  const Result<uint64_t> records = CountTail(*txn, end.offset);
  if (!records.ok()) return records.status();
  const Status status = TruncateTail(stream, end.offset);
  if (!status.ok()) return status;
  Forget(txn, records.value(), bytes);
  return Status::Ok();
}

Status UndoLog::FinishRollback(Txn* txn) {
  ROWAN_CHECK(txn->undo.records == 0);
  UndoStream* stream = txn->undo.stream;
  // Anything still following the header would stay in the tables for good.
  constexpr const char* kLeft = "undo records are left of a transaction that has none any more";
  while (stream->tail != txn->undo.header.page) {
    if (stream->free != stream->begin) return space_->Damage(stream->tail, kLeft);
    const Status status = streams_->DropEmptyTail(stream);
    if (!status.ok()) return status;
  }
  if (stream->free != txn->undo.header.offset + kTxnHeaderBytes) {
    return space_->Damage(stream->tail, kLeft);
  }
  const Status status = TruncateTail(stream, txn->undo.header.offset);
  if (!status.ok()) return status;
  ROWAN_DCHECK(stream->begun != 0);
  --stream->begun;
  streams_->Release(txn);
  return Status::Ok();
}

Status UndoLog::LoadHeader(const MutablePage& page, const Txn* txn, TxnHeader* header) const {
  UndoRecordInPage record;
  const bool good =
      ParseUndoRecord(page.bytes, txn->undo.header.offset, UndoFreeOf(page.bytes), &record) &&
      ParseTxnHeader(record, header) && header->txn == txn->txn_id();
  return good ? Status::Ok()
              : space_->Damage(page.id.page, "the header of a transaction is damaged");
}

void UndoLog::StoreHeader(MiniTxn* mini_txn, const MutablePage& page, const Txn* txn,
                          const TxnHeader& header) {
  ROWAN_DCHECK(header.txn == txn->txn_id() && page.id.page == txn->undo.header.page);
  std::array<std::byte, kTxnStateBytes> state;
  StoreTxnState(state.data(), header);
  const auto offset = static_cast<uint16_t>(txn->undo.header.offset + kTxnStateOffset);
  UndoSpace::SetBytes(mini_txn, page, offset, state);
}

Status UndoLog::BeginStateChange(MiniTxn* mini_txn, size_t bytes, const Txn* txn,
                                 StatePages* pages) {
  ROWAN_DCHECK(!txn->undo.empty() && txn->undo.stream != nullptr);
  const Status status = mini_txn->Start(kUndoStateGroupBytes + static_cast<uint32_t>(bytes));
  if (!status.ok()) return status;
  Result<MutablePage> header_page = space_->Fix(mini_txn, txn->undo.header.page);
  if (!header_page.ok()) return header_page.status();
  Result<MutablePage> tail = space_->Fix(mini_txn, txn->undo.stream->tail);
  if (!tail.ok()) return tail.status();
  pages->header_page = *header_page;
  pages->tail = *tail;
  return LoadHeader(pages->header_page, txn, &pages->header);
}

std::vector<std::byte> UndoLog::IndexesForStart(Txn* txn, size_t xid_bytes) const {
  if (txn->undo.header.page == txn->undo.stream->tail) return {};
  std::vector<std::byte> indexes = txn->undo.indexes.Encode();
  const size_t together = xid_bytes + UndoRecordBytes(kXidIndexes, indexes.size());
  if (together > MaxPayloadBytes(static_cast<uint32_t>(space_->page_size()))) return {};
  return indexes;
}

Result<Lsn> UndoLog::MarkPrepared(Txn* txn, Bytes xid) {
  const std::vector<std::byte> indexes = IndexesForStart(txn, xid.size());
  const size_t bytes = xid.size() + UndoRecordBytes(kXidIndexes, indexes.size());
  Status status = EnsureRoom(txn, bytes);
  if (!status.ok()) return status;
  MiniTxn mini_txn(space_->pool());
  StatePages pages;
  status = BeginStateChange(&mini_txn, 2 * LogBytesMax(0) + bytes, txn, &pages);
  if (!status.ok()) return status;
  ROWAN_DCHECK(pages.header.state == UndoTxnState::kActive && pages.header.xid.IsNone());
  pages.header.state = UndoTxnState::kPrepared;
  pages.header.xid = AppendAtTail(&mini_txn, pages.tail, txn, UndoType::kXid, IndexId(0), {xid});
  if (!indexes.empty()) {
    AppendAtTail(&mini_txn, pages.tail, txn, UndoType::kXid, kXidIndexes, {Bytes(indexes)});
  }
  StoreHeader(&mini_txn, pages.header_page, txn, pages.header);
  return mini_txn.Commit();
}

Result<Lsn> UndoLog::ReplaceXid(Txn* txn, Bytes xid) {
  MiniTxn mini_txn(space_->pool());
  StatePages pages;
  const Status status = BeginStateChange(&mini_txn, LogBytesMax(xid.size()), txn, &pages);
  if (!status.ok()) return status;
  ROWAN_DCHECK(pages.header.state == UndoTxnState::kPrepared);
  const UndoPointer place = pages.header.xid;
  UndoRecordInPage record;
  if (place.page != txn->undo.stream->tail ||
      !ParseUndoRecord(pages.tail.bytes, place.offset, UndoFreeOf(pages.tail.bytes), &record) ||
      record.type != UndoType::kXid || record.payload.size() != xid.size()) {
    return space_->Damage(txn->undo.stream->tail,
                          "a prepared transaction's XID is not where it was");
  }
  const auto offset = static_cast<uint16_t>(record.payload.data() - pages.tail.bytes);
  UndoSpace::SetBytes(&mini_txn, pages.tail, offset, xid);
  return mini_txn.Commit();
}

Status UndoLog::CancelPrepare(Txn* txn) {
  if (txn->undo.empty()) return Status::Ok();
  MiniTxn mini_txn(space_->pool());
  StatePages pages;
  const Status status = BeginStateChange(&mini_txn, 0, txn, &pages);
  if (!status.ok()) return status;
  ROWAN_DCHECK(pages.header.state == UndoTxnState::kPrepared);
  const UndoPointer xid = pages.header.xid;
  if (xid.page != txn->undo.stream->tail || xid.offset >= txn->undo.stream->free) {
    return space_->Damage(txn->undo.header.page,
                          "a prepared transaction's XID is not its last "
                          "record");
  }
  pages.header.state = UndoTxnState::kActive;
  pages.header.xid = {};
  StoreHeader(&mini_txn, pages.header_page, txn, pages.header);
  Truncate(&mini_txn, pages.tail, txn->undo.stream, xid.offset);
  mini_txn.Commit();
  return Status::Ok();
}

Result<Lsn> UndoLog::MarkCommitted(Txn* txn, TakeCsn take_csn) {
  MiniTxn mini_txn(space_->pool());
  Status status = mini_txn.Start(kUndoStateGroupBytes);
  if (!status.ok()) return status;
  UndoStream* stream = txn->undo.stream;
  Result<MutablePage> page = space_->Fix(&mini_txn, txn->undo.header.page, stream->left);
  if (!page.ok()) return page.status();
  TxnHeader header;
  status = LoadHeader(page.value(), txn, &header);
  if (!status.ok()) return status;
  ROWAN_DCHECK(header.state != UndoTxnState::kCommitted);
  header.state = UndoTxnState::kCommitted;
  header.csn = take_csn();
  ROWAN_DCHECK(header.csn != Csn(0));
  StoreHeader(&mini_txn, page.value(), txn, header);
  stream->left = mini_txn.OnceReleased(page.value());
  const Lsn end = mini_txn.Commit();
  streams_->AddHistory(1);
  stream->records.fetch_add(txn->undo.records, std::memory_order_relaxed);
  stream->history.fetch_add(1, std::memory_order_release);
  return end;
}

}  // namespace rowan
