// SPDX-License-Identifier: GPL-2.0-only
// The mini-transaction: holding pages, collecting one log group, committing it. See mini_txn.h and
// docs/contracts/mini_transaction.md.
#include "buffer/mini_txn.h"

#include <array>
#include <exception>
#include <memory>
#include <vector>

#include "base/assertions.h"
#include "base/out_of_memory.h"
#include "buffer/page/page_header.h"
#include "wal/log.h"

namespace rowan {
namespace {

/// Group builders of this thread that are not in use. Mini-transactions rarely nest, so one or two.
struct IdleGroups {
  static constexpr uint32_t kMost = 4;
  uint32_t count;
  std::array<GroupBuilder*, kMost> groups;
};
// initial-exec, as in counters.cc.
thread_local constinit IdleGroups idle_groups __attribute__((tls_model("initial-exec"))) = {};

/// Frees them when its thread ends.
struct IdleGroupsOwner {
  ~IdleGroupsOwner() {
    while (idle_groups.count != 0) delete idle_groups.groups[--idle_groups.count];
  }
};

/// Has room for `bytes`, so nothing between the first record and the end of the group allocates.
GroupBuilder* TakeGroup(size_t bytes) {
  if (idle_groups.count == 0) {
    static thread_local const IdleGroupsOwner owner;
    static_cast<void>(owner);
    auto group = std::make_unique<GroupBuilder>();
    group->Reserve(bytes);
    return group.release();
  }
  GroupBuilder* const group = idle_groups.groups[idle_groups.count - 1];
  group->Reserve(bytes);
  --idle_groups.count;
  return group;
}

void GiveGroup(GroupBuilder* group) {
  // A group that once held page images would keep its memory in every thread.
  constexpr size_t kKeepBytes = size_t{1} << 20;
  if (group->size_bytes() > kKeepBytes || idle_groups.count == IdleGroups::kMost) {
    delete group;
    return;
  }
  group->Clear();
  idle_groups.groups[idle_groups.count++] = group;
}

}  // namespace

MiniTxn::MiniTxn(BufferPool* pool) : pool_(pool) {}

MiniTxn::~MiniTxn() { Abandon(); }

Status MiniTxn::Start(uint32_t log_bytes_max) {
  ROWAN_CHECK(!started());
  ROWAN_CHECK(held_count_ == 0);
  const auto bytes = static_cast<uint32_t>(log_bytes_max + kGroupHeaderBytes);
  GroupBuilder* group = nullptr;
  Status status = OrOutOfMemory([&] {
    group = TakeGroup(bytes);
    return Status::Ok();
  });
  if (!status.ok()) return status;
  pool_->EnterMiniTxn();
  status = pool_->log()->ReserveOrWait(bytes);
  if (!status.ok()) {
    pool_->LeaveMiniTxn();
    GiveGroup(group);
    return status;
  }
  reserved_bytes_ = bytes;
  group_ = group;
  return status;
}

MiniTxn::Held& MiniTxn::At(uint32_t position) {
  ROWAN_DCHECK(position < held_count_);
  return position < kInlinePages ? inline_held_[position] : more_held_[position - kInlinePages];
}

const MiniTxn::Held& MiniTxn::At(uint32_t position) const {
  return const_cast<MiniTxn*>(this)->At(position);
}

MutablePage MiniTxn::Hold(PageGuard guard, bool fresh) {
  ROWAN_CHECK(guard.mode() == LatchMode::kExclusive);
  const MutablePage page{guard.mutable_page(), guard.id(), held_count_};
  if (held_count_ < kInlinePages) {
    std::construct_at(&inline_held_[held_count_], Held{.guard = std::move(guard), .fresh = fresh});
  } else {
    more_held_.push_back({.guard = std::move(guard), .fresh = fresh});
  }
  ++held_count_;
  return page;
}

Result<MutablePage> MiniTxn::Fix(PageId id) {
  Result<PageGuard> guard = pool_->Fix(id, LatchMode::kExclusive);
  if (!guard.ok()) return guard.status();
  return Hold(std::move(guard).value(), false);
}

Result<MutablePage> MiniTxn::FixNew(PageId id) {
  Result<PageGuard> guard = pool_->FixNew(id);
  if (!guard.ok()) return guard.status();
  return Hold(std::move(guard).value(), true);
}

MutablePage MiniTxn::Adopt(PageGuard guard) { return Hold(std::move(guard), false); }

MutablePage MiniTxn::FindHeld(PageId id) const {
  for (uint32_t i = 0; i < held_count_; ++i) {
    const Held& held = At(i);
    if (held.guard.held() && held.guard.id() == id) return {held.guard.mutable_page(), id, i};
  }
  return {};
}

OptimisticPage MiniTxn::OnceReleased(const MutablePage& page) const {
  Frame* frame = At(page.position).guard.frame();
  return {frame, page.bytes, frame->latch.VersionOnceUnlocked()};
}

void MiniTxn::DiscardAtCommit(const MutablePage& page) {
  Held& held = At(page.position);
  ROWAN_DCHECK(held.guard.held() && held.guard.id() == page.id);
  held.discard = true;
}

std::byte* MiniTxn::Log(RecordType type, const MutablePage& page, size_t body_size) {
  ROWAN_CHECK(started());
  Held& held = At(page.position);
  ROWAN_DCHECK(held.guard.held() && held.guard.id() == page.id);
  ROWAN_DCHECK(held.guard.mutable_page() == page.bytes);
  held.modified = true;
  return RecordFor(type, page.id, body_size);
}

std::byte* MiniTxn::LogPageless(RecordType type, SpaceId space, size_t body_size) {
  ROWAN_CHECK(started());
  return RecordFor(type, {space, kNoPage}, body_size);
}

std::byte* MiniTxn::RecordFor(RecordType type, PageId id, size_t body_size) {
  if (!IsTemporary(id.space)) [[likely]]
    return group_->Add(type, id, body_size);
  thread_local std::vector<std::byte> unread;
  if (unread.size() < body_size) unread.resize(body_size);
  changed_temporary_ = true;
  return unread.data();
}

Lsn MiniTxn::Commit() {
  ROWAN_CHECK(started());
  rowan::Log* log = pool_->log();
  if (!has_changes()) {
    const Lsn tail = log->tail();
    Abandon();
    return tail;
  }
  ROWAN_CHECK(group_->size_bytes() <= reserved_bytes_);
  ROWAN_CHECK(!changed_temporary_ || group_->empty());
  ROWAN_DCHECK(ModifiedPagesAreWhole());
  // The dirty marks come before the append: a thread that reads a log tail beyond this group sees
  // them.
  const Lsn lower_bound = log->tail();
  for (uint32_t i = 0; i < held_count_; ++i) {
    if (At(i).modified) pool_->MarkDirty(At(i).guard, lower_bound);
  }
  Lsn end = lower_bound;
  if (!changed_temporary_) [[likely]] {
    end = log->Append(group_);
    ROWAN_DCHECK(end > lower_bound);
    for (uint32_t i = 0; i < held_count_; ++i) {
      if (At(i).modified) SetPageLsn(At(i).guard.mutable_page(), end);
    }
  }
  ReleaseAll();
  return end;
}

bool MiniTxn::ModifiedPagesAreWhole() const {
  const Lsn tail = pool_->log()->tail();
  for (uint32_t i = 0; i < held_count_; ++i) {
    const Held& held = At(i);
    if (!held.modified) continue;
    const std::byte* page = held.guard.page();
    if (held.guard.mode() != LatchMode::kExclusive) return false;
    if (PageIdOf(page) != held.guard.id() || PageTypeOf(page) > PageType::kPacked) return false;
    if (PageLsnOf(page) > tail) return false;
  }
  return true;
}

void MiniTxn::Abandon() {
  if (!started() && held_count_ == 0) return;
  // Changed bytes could not be restored.
  ROWAN_CHECK(!has_changes() || std::uncaught_exceptions() != 0);
  if (has_changes()) pool_->log()->Stop("memory ran out within a change of pages");
  for (uint32_t i = 0; i < held_count_; ++i) At(i).discard = false;
  ReleaseAll();
}

void MiniTxn::Release(Held* held) {
  if (!held->guard.held()) return;
  // A new page that was not initialised holds zeros, which no thread may see.
  const bool untouched = held->fresh && !held->modified;
  if (held->discard || untouched) {
    pool_->Discard(std::move(held->guard));
  } else {
    held->guard.Release();
  }
}

void MiniTxn::ReleaseAll() {
  for (uint32_t i = 0; i < held_count_; ++i) Release(&At(i));
  held_count_ = 0;
  changed_temporary_ = false;
  more_held_.clear();
  if (!started()) return;
  GiveGroup(group_);
  group_ = nullptr;
  pool_->log()->Release(reserved_bytes_);
  reserved_bytes_ = 0;
  pool_->LeaveMiniTxn();
}

}  // namespace rowan
