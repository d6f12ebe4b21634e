// SPDX-License-Identifier: GPL-2.0-only
#include "engine/recovery.h"

#include <utility>

#include "base/logging.h"
#include "wal/group.h"
#include "wal/log.h"
#include "wal/redo.h"

namespace rowan {

Status Recovery::Scan() {
  Result<std::unique_ptr<LogReader>> reader =
      LogReader::Open(file_system_, folder_, control_, control_.checkpoint_lsn);
  if (!reader.ok()) return reader.status();
  LogReader::Group group;
  Status status;
  while ((status = (*reader)->Next(&group)).ok()) {
    GroupParser parser(group.bytes);
    RecordView record;
    Status parsed;
    while (parser.Next(&record, &parsed)) {
      if (record.type == RecordType::kSpaceDropped) dropped_.insert(record.page.space);
    }
    if (!parsed.ok()) return parsed;
  }
  if (!status.Is(Code::kEndOfRange)) return status;
  end_ = (*reader)->end();
  return Status::Ok();
}

Status Recovery::Redo(BufferPool* pool, SpaceFiles* files) {
  for (const SpaceId space : dropped_) {
    // The crash came between the log record and the rename of the file.
    const Status status = files->Drop(space);
    if (!status.ok() && !status.Is(Code::kNotFound)) return status;
    pool->ForgetSpace(space);
  }
  Result<std::unique_ptr<LogReader>> reader =
      LogReader::Open(file_system_, folder_, control_, control_.checkpoint_lsn);
  if (!reader.ok()) return reader.status();
  LogReader::Group group;
  Status status;
  while ((status = (*reader)->Next(&group)).ok() && group.end <= end_) {
    const Status redone = RedoGroup(pool, files, group);
    if (!redone.ok()) return redone;
    ++statistics_.groups;
  }
  if (!status.Is(Code::kEndOfRange) && !status.ok()) return status;
  pool->EndRedo();
  return Status::Ok();
}

Status Recovery::RedoGroup(BufferPool* pool, SpaceFiles* files, const LogReader::Group& group) {
  GroupParser parser(group.bytes);
  RecordView record;
  Status parsed;
  Status status;
  while (status.ok() && parser.Next(&record, &parsed)) {
    ++statistics_.records;
    if (dropped_.contains(record.page.space)) continue;
    const RedoEntry* entry = FindRedo(record.type);
    if (entry == nullptr) {
      LogError("The redo log holds a record of unknown type {} at LSN {}: it was written by "
               "another "
               "version of Rowan.",
               static_cast<unsigned>(record.type), group.start.value());
      status = Status(Code::kNewerFormat, "unknown redo record type");
    } else if (!entry->pageless) {
      if (files->IsLive(record.page.space)) {
        status = RedoRecord(pool, group, record);
      } else {
        missing_.insert(record.page.space);
      }
    }
  }
  for (HeldPage& held : held_) {
    if (held.changed) {
      pool->MarkRedone(held.guard, group.start, group.end);
    } else if (held.guard.held()) {
      pool->MarkDirty(held.guard, group.start);
    }
  }
  held_.clear();
  return status.ok() ? parsed : status;
}

Status Recovery::RedoRecord(BufferPool* pool, const LogReader::Group& group,
                            const RecordView& record) {
  const RedoEntry* entry = FindRedo(record.type);
  Result<HeldPage*> held = Hold(pool, group, record.page, entry->initialises_page);
  if (!held.ok()) return held.status();
  HeldPage* page = *held;
  if (!page->apply) return Status::Ok();
  const MutableBytes bytes(page->guard.mutable_page(), pool->page_size_bytes());
  const Status status = entry->apply(record.page, bytes, record.body);
  if (status.Is(Code::kCorrupt) && !entry->initialises_page) {
    // What was applied so far must not reach the disk: under this group's LSN it would look whole
    // to the next start.
    suspended_.insert(page->packed);
    page->apply = page->changed = false;
    pool->Discard(std::move(page->guard));
    return Status::Ok();
  }
  page->changed = page->changed || status.ok();
  ++statistics_.records_applied;
  return status;
}

Result<Recovery::HeldPage*> Recovery::Hold(BufferPool* pool, const LogReader::Group& group,
                                           PageId id, bool fresh) {
  const uint64_t packed = id.Packed();
  for (HeldPage& held : held_) {
    if (held.packed != packed) continue;
    if (fresh && !held.apply) {
      suspended_.erase(packed);
      if (!held.guard.held()) {
        Result<PageGuard> guard = pool->FixNew(id);
        if (!guard.ok()) return guard.status();
        held.guard = std::move(*guard);
      }
      held.apply = true;
    }
    return &held;
  }
  HeldPage page;
  page.packed = packed;
  if (fresh) {
    suspended_.erase(packed);
    Result<PageGuard> guard = pool->FixNew(id);
    if (!guard.ok()) return guard.status();
    page.guard = std::move(*guard);
    page.apply = true;
  } else if (!suspended_.contains(packed)) {
    Result<PageGuard> guard = pool->Fix(id, LatchMode::kExclusive, FixHint::kSpeculative);
    if (guard.ok()) {
      page.guard = std::move(*guard);
      page.apply = PageLsnOf(page.guard.page()) < group.end;
    } else {
      // A page that was never written may lie behind the end of the file: the same as a damaged
      // one.
      const Status status = guard.status();
      const bool absent = status.Is(Code::kIoError) && status.detail() == 0;
      if (!absent && !status.Is(Code::kCorrupt)) return status;
      suspended_.insert(packed);
    }
  }
  held_.push_back(std::move(page));
  return &held_.back();
}

Status Recovery::ResolveSuspended(PageAllocator* allocator, SpaceFiles* files) {
  for (const uint64_t packed : suspended_) {
    const PageId id = PageId::Unpack(packed);
    if (!files->IsLive(id.space)) continue;
    const Result<bool> allocated = allocator->IsAllocated(id);
    if (!allocated.ok()) return allocated.status();
    if (!allocated.value()) continue;
    // Read once more for its sentence, if it is the page itself that is wrong.
    (void)allocator->pool()->Fix(id, LatchMode::kShared);
    LogError("Page {} of {} is damaged: the redo log could not be applied to it. The instance is "
             "not "
             "opened, so that nothing is lost; restore it from a backup.",
             id.page.value(), files->PathOf(id.space));
    return Status(Code::kCorrupt, "redo does not fit a page", id.page.value());
  }
  return Status::Ok();
}

}  // namespace rowan
