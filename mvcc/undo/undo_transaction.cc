// SPDX-License-Identifier: GPL-2.0-only
// What one transaction does with its stream: append, roll back record by record, change the state
// in its header.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "base/assertions.h"
#include "base/counters.h"
#include "mvcc/undo/undo_impl.h"

namespace rowan {
namespace {

/// Log bytes of a group that changes a few bytes of two undo pages.
constexpr uint32_t kStateGroupBytes = 512;

/// Written by the transaction's thread only, read by others for statistics.
void SetUndoRecords(Txn* txn, uint64_t records) {
  std::atomic_ref(txn->undo_records).store(records, std::memory_order_relaxed);
}

}  // namespace

void UndoStreams::Impl::SetBytes(MiniTxn* mini_txn, const MutablePage& page, uint16_t offset,
                                 Bytes bytes) {
  std::copy(bytes.begin(), bytes.end(), page.bytes + offset);
  std::byte* body = mini_txn->Log(RecordType::kUndoSetState, page, 2 + bytes.size());
  StoreLe<uint16_t>(body, offset);
  std::copy(bytes.begin(), bytes.end(), body + 2);
}

UndoPointer UndoStreams::Impl::AppendAtTail(MiniTxn* mini_txn, const MutablePage& page, Txn* txn,
                                            UndoType type, IndexId index,
                                            std::initializer_list<Bytes> payload_parts) {
  UndoStream* stream = txn->stream;
  const bool first = txn->undo_start.page == kNoPage;
  size_t bytes = first ? kTxnHeaderBytes : 0;
  size_t payload_bytes = 0;
  for (const Bytes part : payload_parts) payload_bytes += part.size();
  bytes += UndoRecordBytes(index, payload_bytes);
  const uint16_t offset = stream->free;
  ROWAN_CHECK(offset == UndoFreeOf(page.bytes));
  ROWAN_CHECK(offset + bytes <= UndoRecordsEnd(page_size()));  // EnsureRoom was asked for less

  std::byte* record = page.bytes + offset;
  if (first) {
    std::array<std::byte, kTxnHeaderPayloadBytes> header;
    StoreTxnHeader(header.data(), {.txn = txn->txn_id(), .csn = Csn(0), .xid = {}});
    record = WriteUndoRecord(record, UndoType::kTxnHeader, IndexId(0), {Bytes(header)});
    txn->undo_start = {stream->tail, offset, 0};
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

Result<UndoPointer> UndoStreams::Append(MiniTxn* mini_txn, Txn* txn, UndoType type, IndexId index,
                                        std::initializer_list<Bytes> payload_parts) {
  ROWAN_DCHECK(txn->stream != nullptr && txn->is_writer());
  Result<MutablePage> page = impl_->Hold(mini_txn, txn->stream->tail);
  if (!page.ok()) return page.status();
  const UndoPointer pointer =
      impl_->AppendAtTail(mini_txn, page.value(), txn, type, index, payload_parts);
  const UndoStream* stream = txn->stream;
  SetUndoRecords(txn, txn->undo_records + 1);
  txn->undo_bytes += stream->free - pointer.offset;
  txn->undo_end = {stream->tail, stream->free, txn->undo_records};
  AddCounter(Counter::kUndoRecords);
  return pointer;
}

Status UndoStreams::Impl::DropEmptyTail(UndoStream* stream) {
  Result<PageGuard> guard = Look(stream->tail);
  if (!guard.ok()) return guard.status();
  const PageNumber previous = UndoPreviousOf(guard->page());
  guard->Release();
  if (previous == kNoPage) return Damage(stream->tail, "an undo page has lost its predecessor");
  MiniTxn mini_txn(pool);
  Status status = mini_txn.Start(kStateGroupBytes);
  if (!status.ok()) return status;
  Result<MutablePage> before = Hold(&mini_txn, previous);
  if (!before.ok()) return before.status();
  Result<MutablePage> tail = Hold(&mini_txn, stream->tail);
  if (!tail.ok()) return tail.status();
  Result<MutablePage> directory_page = HoldDirectory(&mini_txn, stream->number);
  if (!directory_page.ok()) return directory_page.status();
  status = allocator->Free(&mini_txn, tail->id);
  if (!status.ok()) return status;
  const PageNumber before_previous = UndoPreviousOf(before->bytes);
  SetUndoLinks(before->bytes, before_previous, kNoPage);
  std::byte* body = mini_txn.Log(RecordType::kUndoLinks, before.value(), 8);
  StoreLe<uint32_t>(body, before_previous.value());
  StoreLe<uint32_t>(body + 4, 0);
  SetTail(&mini_txn, directory_page.value(), stream->number, previous);
  const uint16_t free = UndoFreeOf(before->bytes);
  const uint16_t begin = UndoRecordsBegin(before->bytes);
  mini_txn.DiscardAtCommit(tail.value());
  mini_txn.Commit();
  stream->tail = previous;
  stream->free = free;
  stream->begin = begin;
  return Status::Ok();
}

Status UndoStreams::ReadLast(Txn* txn, const UndoPosition& down_to, UndoRecordCopy* record,
                             UndoPointer* pointer) {
  if (txn->undo_records <= down_to.records) return Status(Code::kEndOfRange);
  UndoStream* stream = txn->stream;
  while (stream->free == stream->begin) {
    const Status status = impl_->DropEmptyTail(stream);
    if (!status.ok()) return status;
  }
  const PageNumber page = stream->tail;
  Result<PageGuard> guard = impl_->Look(page);
  if (!guard.ok()) return guard.status();
  const size_t end = UndoFreeOf(guard->page());
  const size_t offset = UndoRecordBefore(guard->page(), end);
  UndoRecordInPage found;
  if (end != stream->free || offset == 0 ||
      !ParseUndoRecord(guard->page(), offset, end, &found)) {
    return impl_->Damage(page, "the newest undo record is damaged");
  }
  record->type = found.type;
  record->index = found.index;
  record->payload.assign(found.payload.begin(), found.payload.end());
  *pointer = {page, static_cast<uint16_t>(offset)};
  return Status::Ok();
}

void UndoStreams::Impl::Truncate(MiniTxn* mini_txn, const MutablePage& page, UndoStream* stream,
                                 uint16_t offset) {
  SetUndoFree(page.bytes, offset);
  StoreLe<uint16_t>(mini_txn->Log(RecordType::kUndoTruncate, page, 2), offset);
  stream->free = offset;
}

Status UndoStreams::DropLast(MiniTxn* mini_txn, Txn* txn, UndoPointer pointer) {
  UndoStream* stream = txn->stream;
  ROWAN_CHECK(pointer.page == stream->tail && pointer.offset < stream->free);
  Result<MutablePage> page = impl_->Hold(mini_txn, stream->tail);
  if (!page.ok()) return page.status();
  // A recovered transaction's bytes on earlier pages were not counted.
  txn->undo_bytes -= std::min<uint64_t>(txn->undo_bytes, stream->free - pointer.offset);
  impl_->Truncate(mini_txn, page.value(), stream, pointer.offset);
  SetUndoRecords(txn, txn->undo_records - 1);
  txn->undo_end = {stream->tail, stream->free, txn->undo_records};
  return Status::Ok();
}

Status UndoStreams::FinishRollback(Txn* txn) {
  ROWAN_CHECK(txn->undo_records == 0);
  UndoStream* stream = txn->stream;
  while (stream->tail != txn->undo_start.page) {
    ROWAN_CHECK(stream->free == stream->begin);
    const Status status = impl_->DropEmptyTail(stream);
    if (!status.ok()) return status;
  }
  MiniTxn mini_txn(impl_->pool);
  const Status status = mini_txn.Start(kStateGroupBytes);
  if (!status.ok()) return status;
  Result<MutablePage> page = impl_->Hold(&mini_txn, stream->tail);
  if (!page.ok()) return page.status();
  impl_->Truncate(&mini_txn, page.value(), stream, txn->undo_start.offset);
  mini_txn.Commit();
  --stream->begun;
  ReturnStream(txn);
  return Status::Ok();
}

Status UndoStreams::Impl::LoadHeader(const MutablePage& page, const Txn* txn,
                                     TxnHeader* header) const {
  UndoRecordInPage record;
  const bool good = ParseUndoRecord(page.bytes, txn->undo_start.offset, UndoFreeOf(page.bytes),
                                    &record) &&
                    ParseTxnHeader(record, header) && header->txn == txn->txn_id();
  return good ? Status::Ok() : Damage(page.id.page, "the header of a transaction is damaged");
}

Result<Lsn> UndoStreams::MarkPrepared(Txn* txn, Bytes xid) {
  Status status = EnsureRoom(txn, xid.size());
  if (!status.ok()) return status;
  MiniTxn mini_txn(impl_->pool);
  status = mini_txn.Start(kStateGroupBytes + LogBytesMax(xid.size()));
  if (!status.ok()) return status;
  Result<MutablePage> header_page = impl_->Hold(&mini_txn, txn->undo_start.page);
  if (!header_page.ok()) return header_page.status();
  Result<MutablePage> tail = impl_->Hold(&mini_txn, txn->stream->tail);
  if (!tail.ok()) return tail.status();
  TxnHeader header;
  status = impl_->LoadHeader(header_page.value(), txn, &header);
  if (!status.ok()) return status;
  header.state = UndoTxnState::kPrepared;
  header.xid =
      impl_->AppendAtTail(&mini_txn, tail.value(), txn, UndoType::kXid, IndexId(0), {xid});
  std::array<std::byte, kTxnStateBytes> state;
  StoreTxnState(state.data(), header);
  const auto offset = static_cast<uint16_t>(txn->undo_start.offset + kTxnStateOffset);
  Impl::SetBytes(&mini_txn, header_page.value(), offset, state);
  return mini_txn.Commit();
}

Status UndoStreams::CancelPrepare(Txn* txn) {
  if (txn->undo_start.page == kNoPage) return Status::Ok();
  MiniTxn mini_txn(impl_->pool);
  Status status = mini_txn.Start(kStateGroupBytes);
  if (!status.ok()) return status;
  Result<MutablePage> header_page = impl_->Hold(&mini_txn, txn->undo_start.page);
  if (!header_page.ok()) return header_page.status();
  Result<MutablePage> tail = impl_->Hold(&mini_txn, txn->stream->tail);
  if (!tail.ok()) return tail.status();
  TxnHeader header;
  status = impl_->LoadHeader(header_page.value(), txn, &header);
  if (!status.ok()) return status;
  if (header.xid.page != txn->stream->tail || header.xid.offset >= txn->stream->free) {
    return impl_->Damage(txn->undo_start.page, "a prepared transaction's XID is not its last "
                                               "record");
  }
  const uint16_t xid_offset = header.xid.offset;
  header.state = UndoTxnState::kActive;
  header.xid = {};
  std::array<std::byte, kTxnStateBytes> state;
  StoreTxnState(state.data(), header);
  const auto offset = static_cast<uint16_t>(txn->undo_start.offset + kTxnStateOffset);
  Impl::SetBytes(&mini_txn, header_page.value(), offset, state);
  impl_->Truncate(&mini_txn, tail.value(), txn->stream, xid_offset);
  mini_txn.Commit();
  return Status::Ok();
}

Result<Lsn> UndoStreams::MarkCommitted(Txn* txn, const TakeCsn& take_csn) {
  MiniTxn mini_txn(impl_->pool);
  Status status = mini_txn.Start(kStateGroupBytes);
  if (!status.ok()) return status;
  Result<MutablePage> page = impl_->Hold(&mini_txn, txn->undo_start.page);
  if (!page.ok()) return page.status();
  TxnHeader header;
  status = impl_->LoadHeader(page.value(), txn, &header);
  if (!status.ok()) return status;
  header.state = UndoTxnState::kCommitted;
  header.csn = take_csn();
  std::array<std::byte, kTxnStateBytes> state;
  StoreTxnState(state.data(), header);
  const auto offset = static_cast<uint16_t>(txn->undo_start.offset + kTxnStateOffset);
  Impl::SetBytes(&mini_txn, page.value(), offset, state);
  const Lsn end = mini_txn.Commit();
  impl_->history.fetch_add(1, std::memory_order_relaxed);
  txn->stream->history.fetch_add(1, std::memory_order_release);
  return end;
}

}  // namespace rowan
