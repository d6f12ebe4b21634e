// SPDX-License-Identifier: GPL-2.0-only
// Redo of space records. Bodies:
//   kSpaceInit        instance id (16)
//   kSpaceBitmapInit  group u32
//   kSpaceSetBits     first bit u32, count u32
//   kSpaceClearBits   first bit u32, count u32
//   kSpaceHeader      offset u16, bytes
//   kBlobPage         see space/blob_page.h
//   kSpaceDropped     no body, no page: recovery drops the file
#include <algorithm>
#include <cstring>

#include "space/blob_page.h"
#include "space/page_allocator.h"
#include "space/space_pages.h"
#include "wal/redo.h"

namespace rowan {
namespace {

Status Malformed() { return Status(Code::kCorrupt, "space redo record does not fit its page"); }

Status RedoSpaceInit(PageId id, MutableBytes page, Bytes body) {
  InstanceId instance;
  if (body.size() != instance.size()) return Malformed();
  std::memcpy(instance.data(), body.data(), instance.size());
  InitSpaceHeader(page, id, instance);
  return Status::Ok();
}

Status RedoBitmapInit(PageId id, MutableBytes page, Bytes body) {
  if (body.size() != 4) return Malformed();
  InitBitmap(page, id, LoadLe<uint32_t>(body.data()));
  return Status::Ok();
}

Status RedoBits(MutableBytes page, Bytes body, bool value) {
  if (body.size() != 8 || PageTypeOf(page.data()) != PageType::kSpaceBitmap) return Malformed();
  const uint32_t first = LoadLe<uint32_t>(body.data());
  const uint32_t count = LoadLe<uint32_t>(body.data() + 4);
  const uint32_t limit = GroupPages(page.size());
  if (first >= limit || count > limit - first) return Malformed();
  for (uint32_t bit = first; bit < first + count; ++bit) BitmapSet(page, bit, value);
  return Status::Ok();
}

Status RedoSetBits(PageId, MutableBytes page, Bytes body) { return RedoBits(page, body, true); }
Status RedoClearBits(PageId, MutableBytes page, Bytes body) { return RedoBits(page, body, false); }

Status RedoHeader(PageId, MutableBytes page, Bytes body) {
  if (body.size() < 2 || PageTypeOf(page.data()) != PageType::kSpaceHeader) return Malformed();
  const size_t offset = LoadLe<uint16_t>(body.data());
  const Bytes bytes = body.subspan(2);
  if (offset < kPageHeaderBytes || offset + bytes.size() > page.size()) return Malformed();
  std::copy(bytes.begin(), bytes.end(), page.begin() + static_cast<ptrdiff_t>(offset));
  return Status::Ok();
}

Status RedoBlobPage(PageId id, MutableBytes page, Bytes body) {
  return LoadBlobPageRecord(page, id, body) ? Status::Ok() : Malformed();
}

}  // namespace

void RegisterSpaceRedo() {
  RegisterRedo(RecordType::kSpaceInit, {.apply = RedoSpaceInit, .initialises_page = true});
  RegisterRedo(RecordType::kSpaceBitmapInit, {.apply = RedoBitmapInit, .initialises_page = true});
  RegisterRedo(RecordType::kSpaceSetBits, {.apply = RedoSetBits});
  RegisterRedo(RecordType::kSpaceClearBits, {.apply = RedoClearBits});
  RegisterRedo(RecordType::kSpaceHeader, {.apply = RedoHeader});
  RegisterRedo(RecordType::kSpaceDropped, {.pageless = true});
  RegisterRedo(RecordType::kBlobPage, {.apply = RedoBlobPage, .initialises_page = true});
}

}  // namespace rowan
