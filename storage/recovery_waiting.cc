// SPDX-License-Identifier: GPL-2.0-only
// Pages that wait: keeping what the log has for them, and retrying. See recovery.h.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/format.h"
#include "base/logging.h"
#include "storage/recovery.h"

namespace rowan {

Status Recovery::LoadKept() {
  Status status = kept_.Load();
  if (!status.ok()) return status;
  for (const SpaceId space : kept_.Spaces()) damaged_->SetWaits(space, true);
  return status;
}

Status Recovery::NoteFeature(bool kept) {
  if (control_file_->data().features.Has(kKeptRedoFeature) == kept) return Status::Ok();
  return control_file_->UpdateBothSlots(
      [=](ControlData& data) { data.features.Set(kKeptRedoFeature, kept); });
}

void Recovery::AddKept() {
  std::vector<uint64_t> pages = kept_.Pages();
  // What is kept of a marked space is for reading what is left of it.
  std::erase_if(pages, [this](uint64_t page) {
    return !options_.force && damaged_->Contains(PageId::Unpack(page).space);
  });
  backlog_.AddKept(&kept_, pages);
}

void Recovery::EndRedo() {
  pool_->EndRedo();
  if (backlog_.PendingPages().empty()) backlog_.Clear();
}

Status Recovery::RetryKept(PageAllocator* allocator) {
  Status status = RedoPages(PagesToTry());
  ++tries_;
  if (!status.ok()) return status;
  status = CheckSuspended(allocator, true);
  if (!status.ok()) return status;
  if (Applied().empty()) return Status::Ok();
  status = pool_->FlushAndCheckpoint(FlushReason::kStart);
  if (!status.ok()) return status;
  return RemoveApplied();
}

std::vector<SpaceId> Recovery::Applied() const {
  std::set<SpaceId> pending;
  for (const uint64_t page : backlog_.PendingPages()) pending.insert(PageId::Unpack(page).space);
  std::vector<SpaceId> applied = kept_.Spaces();
  std::erase_if(applied, [&](SpaceId space) {
    // One that no longer waits was dropped.
    return damaged_->Contains(space) || (damaged_->Waits(space) && pending.contains(space));
  });
  return applied;
}

Status Recovery::RemoveApplied() {
  for (const SpaceId space : Applied()) {
    // The checkpoint may not have moved for its pages. After a failed sync all later ones fail, and
    // the next checkpoint stops the engine.
    const Status synced = files_->Sync(space, SyncMethod::kFsync);
    if (!synced.ok()) return synced;
    const Status removed = kept_.Remove(space);
    if (!removed.ok()) return removed;
    if (damaged_->Waits(space)) {
      LogInfo("All changes that '{}' lacked are redone.", files_->PathOf(space));
    }
    damaged_->SetWaits(space, false);
  }
  EndRedo();
  return kept_.empty() ? NoteFeature(false) : Status::Ok();
}

std::vector<uint64_t> Recovery::PagesToTry() {
  std::vector<uint64_t> pages = backlog_.PendingPages();
  for (size_t i = 0; i < pages.size(); ++i) {
    const SpaceId space = PageId::Unpack(pages[i]).space;
    const bool next = i == 0 || PageId::Unpack(pages[i - 1]).space != space;
    if (next && damaged_->Waits(space) && !files_->IsLive(space)) files_->Open(space).Ignore();
  }
  if (tries_ == 0) return pages;
  // One of those that failed represents the others of its space, a different one each time.
  std::map<SpaceId, std::vector<uint64_t>> failed;
  for (const auto& [page, failure] : suspended_) {
    failed[PageId::Unpack(page).space].push_back(page);
  }
  std::set<SpaceId> still;
  for (const auto& [space, some] : failed) {
    const std::vector<uint64_t> one{some[tries_ % some.size()]};
    if (!RedoPages(one).ok() || suspended_.contains(one.front())) still.insert(space);
  }
  std::erase_if(pages, [&](uint64_t page) { return still.contains(PageId::Unpack(page).space); });
  return pages;
}

std::vector<uint64_t> Recovery::PendingOf(SpaceId space) const {
  std::vector<uint64_t> pages = backlog_.PendingPages();
  std::erase_if(pages, [=](uint64_t page) { return PageId::Unpack(page).space != space; });
  return pages;
}

Status Recovery::KeepAside(const std::vector<uint64_t>& pages) {
  constexpr size_t kPortionPages = 256;
  std::vector<uint64_t> sorted;
  for (const uint64_t page : pages) {
    const RedoBacklog::Page* listed = backlog_.Find(page);
    if (listed != nullptr && !listed->kept_only()) sorted.push_back(page);
  }
  if (sorted.empty()) return Status::Ok();
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); i += kPortionPages) {
    const size_t count = std::min(kPortionPages, sorted.size() - i);
    const Status status =
        KeepPortion(std::span(sorted).subspan(i, count), options_.memory_bytes_max / 4);
    if (!status.ok()) return status;
  }
  const Status sealed = kept_.Seal();
  if (!sealed.ok()) return sealed;
  return NoteFeature(true);
}

Status Recovery::KeepPortion(std::span<const uint64_t> pages, uint64_t bytes_max) {
  Result<std::unique_ptr<RedoPortion>> portion = backlog_.Gather(pages, bytes_max);
  if (!portion.ok()) return portion.status();
  for (const uint64_t page : pages) {
    const RedoPortion::Record* first = nullptr;
    Status status;
    if ((*portion)->Find(page, &first)) {
      status = kept_.AddRecords(PageId::Unpack(page), first);
    } else if (bytes_max != UINT64_MAX) {  // its records did not fit with the others
      status = KeepPortion({&page, 1}, UINT64_MAX);
    }
    if (!status.ok()) return status;
    damaged_->SetWaits(PageId::Unpack(page).space, true);
  }
  return Status::Ok();
}

}  // namespace rowan
