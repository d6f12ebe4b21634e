// SPDX-License-Identifier: GPL-2.0-only
// Log records of the undo space, and what redo does with them.
//   kUndoPageInit   kind u8 (0 undo page, 1 directory page) | u32 | u32: stream and previous page,
//   or
//                   next directory page and first slot number
//   kUndoAppend     offset u16 | records; the free offset moves behind them
//   kUndoTruncate   offset u16: the new free offset
//   kUndoSetState   offset u16 | bytes that replace those there (header state, "purged" mark)
//   kUndoLinks      previous u32 | next u32
//   kUndoDirectory  slot u16 (within the page) | head u32 | start page u32 | start offset u16
#include <algorithm>

#include "mvcc/undo_page.h"
#include "wal/redo.h"

namespace rowan {
namespace {

Status BadBody() { return Status(Code::kCorrupt, "a log record of the undo space is malformed"); }

Status RedoInit(PageId id, MutableBytes page, Bytes body) {
  if (body.size() != 9) return BadBody();
  const auto first = LoadLe<uint32_t>(body.data() + 1);
  const auto second = LoadLe<uint32_t>(body.data() + 5);
  switch (static_cast<uint8_t>(body[0])) {
    case 0:
      InitUndoPage(page, id, first, PageNumber(second));
      return Status::Ok();
    case 1:
      InitUndoDirectoryPage(page, id, PageNumber(first), second);
      return Status::Ok();
    default:
      return BadBody();
  }
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
  if (offset < kUndoRecordsOffset || offset > UndoFreeOf(page.data())) return BadBody();
  SetUndoFree(page.data(), offset);
  return Status::Ok();
}

Status RedoSetState(PageId, MutableBytes page, Bytes body) {
  if (body.size() < 3 || !IsUndoPage(page)) return BadBody();
  const size_t offset = LoadLe<uint16_t>(body.data());
  const Bytes bytes = body.subspan(2);
  if (offset < kUndoRecordsOffset || offset + bytes.size() > UndoFreeOf(page.data())) {
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
  if (body.size() != 2 + kDirectorySlotUsedBytes || !IsUndoDirectoryPage(page.data())) {
    return BadBody();
  }
  const size_t slot = LoadLe<uint16_t>(body.data());
  if (slot >= DirectorySlotsPerPage(page.size())) return BadBody();
  const size_t offset = kDirectorySlotsOffset + slot * kDirectorySlotBytes;
  StoreDirectorySlot(page.data() + offset, LoadDirectorySlot(body.data() + 2));
  return Status::Ok();
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
