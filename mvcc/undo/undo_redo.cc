// SPDX-License-Identifier: GPL-2.0-only
// Log records of the undo space, and how redo applies them.
//   kUndoPageInit   kind u8 | u32 | u32 | rest. Kind 2, undo page: stream, previous page, summary;
//                   kind 1, directory page: next directory page, first slot number;
//                   kind 0, undo page of version 1: stream, previous page
//   kUndoAppend     offset u16 | records; the free offset moves past them
//   kUndoTruncate   offset u16: the new free offset
//   kUndoSetState   offset u16 | bytes that replace those there (header state, "purged" mark)
//   kUndoLinks      previous u32 | next u32
//   kUndoDirectory  slot u16 (within the page) | the slot's bytes that are in use: 15, or 10 from
//                   versions of Rowan that knew no tail
#include "mvcc/undo/undo_redo.h"

#include <algorithm>

#include "mvcc/undo/undo_page.h"
#include "wal/redo.h"

namespace rowan {
namespace {

Status BadBody() { return Status(Code::kCorrupt, "a log record of the undo space is malformed"); }

Status RedoInit(PageId id, MutableBytes page, Bytes body) {
  if (body.size() < kUndoInitBytes) return BadBody();
  const bool summary = body.size() == kUndoInitBytes + kUndoSummaryBytes;
  if (!summary && body.size() != kUndoInitBytes) return BadBody();
  const auto first = LoadLe<uint32_t>(body.data() + 1);
  const auto second = LoadLe<uint32_t>(body.data() + 5);
  const auto kind = static_cast<UndoInitKind>(body[0]);
  if (summary != (kind == UndoInitKind::kStream)) return BadBody();
  switch (kind) {
    case UndoInitKind::kStream:
      InitUndoPage(page, id, {first, PageNumber(second)});
      std::copy_n(body.begin() + kUndoInitBytes, kUndoSummaryBytes,
                  page.data() + kUndoSummaryOffset);
      return Status::Ok();
    case UndoInitKind::kBareStream:
      InitBareUndoPage(page, id, {first, PageNumber(second)});
      return Status::Ok();
    case UndoInitKind::kDirectory:
      InitUndoDirectoryPage(page, id, PageNumber(first), second);
      return Status::Ok();
  }
  return BadBody();
}

Status RedoAppend(PageId, MutableBytes page, Bytes body) {
  if (body.size() < 2 || !IsUndoPage(page)) return BadBody();
  const size_t offset = LoadLe<uint16_t>(body.data());
  const Bytes records = body.subspan(2);
  if (offset != UndoFreeOf(page.data())) return BadBody();
  if (offset + records.size() > UndoRecordsEnd(page.size())) return BadBody();
  std::copy(records.begin(), records.end(), page.begin() + static_cast<ptrdiff_t>(offset));
  SetUndoFree(page.data(), static_cast<uint16_t>(offset + records.size()));
  return Status::Ok();
}

Status RedoTruncate(PageId, MutableBytes page, Bytes body) {
  if (body.size() != 2 || !IsUndoPage(page)) return BadBody();
  const auto offset = LoadLe<uint16_t>(body.data());
  if (offset < UndoRecordsBegin(page.data()) || offset > UndoFreeOf(page.data())) return BadBody();
  SetUndoFree(page.data(), offset);
  return Status::Ok();
}

Status RedoSetState(PageId, MutableBytes page, Bytes body) {
  if (body.size() < 3 || !IsUndoPage(page)) return BadBody();
  const size_t offset = LoadLe<uint16_t>(body.data());
  const Bytes bytes = body.subspan(2);
  if (offset < UndoRecordsBegin(page.data()) || offset + bytes.size() > UndoFreeOf(page.data())) {
    return BadBody();
  }
  std::copy(bytes.begin(), bytes.end(), page.begin() + static_cast<ptrdiff_t>(offset));
  return Status::Ok();
}

Status RedoLinks(PageId, MutableBytes page, Bytes body) {
  if (body.size() != 8 || !IsUndoPage(page)) return BadBody();
  SetUndoLinks(page.data(), PageNumber(LoadLe<uint32_t>(body.data())),
               PageNumber(LoadLe<uint32_t>(body.data() + 4)));
  return Status::Ok();
}

Status RedoDirectory(PageId, MutableBytes page, Bytes body) {
  if (body.size() < 2 || !IsUndoDirectoryPage(page.data())) return BadBody();
  const size_t place = LoadLe<uint16_t>(body.data());
  const bool put = PutDirectorySlot(page, static_cast<uint32_t>(place), body.subspan(2));
  return put ? Status::Ok() : BadBody();
}

}  // namespace

void RegisterUndoRedo() {
  RegisterRedo(RecordType::kUndoPageInit, {.apply = RedoInit, .initialises_page = true});
  RegisterRedo(RecordType::kUndoAppend, {.apply = RedoAppend});
  RegisterRedo(RecordType::kUndoTruncate, {.apply = RedoTruncate});
  RegisterRedo(RecordType::kUndoSetState, {.apply = RedoSetState});
  RegisterRedo(RecordType::kUndoLinks, {.apply = RedoLinks});
  RegisterRedo(RecordType::kUndoDirectory, {.apply = RedoDirectory});
}

}  // namespace rowan
