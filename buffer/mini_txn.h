// SPDX-License-Identifier: GPL-2.0-only
// MiniTxn: one atomic change of a few pages = one log group.
//
// Life: Start(log bytes) reserves log space before any latch -> Fix/Adopt pages exclusively ->
// change bytes and Log what was changed -> Commit. Commit marks the modified frames dirty with the
// log tail read before the append (a safe lower bound), appends the group, stamps page LSNs,
// releases the latches, returns the group's end LSN. Abandon releases everything when nothing was
// logged. docs/contracts/mini_transaction.md says what may be done in between.
//
// Changes of temporary spaces are logged in the same way, but their records go nowhere and their
// pages keep LSN 0. A mini-transaction changes pages of temporary spaces or others, not both: a
// crash would separate them.
//
// Latch order: tree pages top-down and left to right -> undo pages -> undo directory -> space
// header and bitmap pages -> log append. Nothing may wait for a row lock or read another tree page
// from disk while an exclusive leaf latch is held. Pages to be allocated are reserved first
// (space/page_allocator.h).
// Thread safety: one thread. Does not allocate when warm.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "buffer/buffer_pool.h"
#include "buffer/page_guard.h"
#include "wal/group.h"

namespace rowan {

/// A page held exclusively by a mini-transaction. Valid until it commits or releases the page.
struct MutablePage {
  std::byte* bytes = nullptr;
  PageId id;
  uint32_t position = 0;  ///< in the mini-transaction's list of guards

  [[nodiscard]] bool valid() const { return bytes != nullptr; }
};

class MiniTxn {
 public:
  explicit MiniTxn(BufferPool* pool);
  /// Abandons if still open; then nothing may have been logged.
  ~MiniTxn();
  MiniTxn(const MiniTxn&) = delete;
  MiniTxn& operator=(const MiniTxn&) = delete;

  /// Reserves log space; waits for the checkpoint if the log is full. No latch may be held by the
  /// calling thread. `log_bytes_max` is an upper bound of the group.
  Status Start(uint32_t log_bytes_max);
  [[nodiscard]] bool started() const { return reserved_bytes_ != 0; }

  Result<MutablePage> Fix(PageId id);
  /// A page that this mini-transaction initialises (its log record type initialises pages).
  Result<MutablePage> FixNew(PageId id);
  /// Takes over an exclusive guard.
  MutablePage Adopt(PageGuard guard);
  /// The page if this mini-transaction already holds it, else an invalid page.
  [[nodiscard]] MutablePage FindHeld(PageId id) const;
  /// The page with the version that it has once this mini-transaction is over, and as long as it
  /// stays unchanged.
  [[nodiscard]] OptimisticPage OnceReleased(const MutablePage& page) const;
  /// After Commit the page is discarded (freed page) instead of left dirty.
  void DiscardAtCommit(const MutablePage& page);

  /// Logs a change of `page` and returns the body to fill in now (valid until the next Log).
  std::byte* Log(RecordType type, const MutablePage& page, size_t body_size);
  /// A record without a page; `id.page` is 0.
  std::byte* LogPageless(RecordType type, SpaceId space, size_t body_size);

  [[nodiscard]] bool has_changes() const {
    return changed_temporary_ || (group_ != nullptr && !group_->empty());
  }

  /// REQUIRES: started. Returns the end LSN of the group, or the current tail when nothing changed.
  Lsn Commit();
  /// REQUIRES: nothing logged.
  void Abandon();

  [[nodiscard]] BufferPool* pool() const { return pool_; }

 private:
  struct Held {
    PageGuard guard;
    bool modified = false;
    bool discard = false;
    bool fresh = false;  ///< from FixNew
  };
  static constexpr size_t kInlinePages = 12;

  Held& At(uint32_t position);
  [[nodiscard]] const Held& At(uint32_t position) const;
  MutablePage Hold(PageGuard guard, bool fresh);
  std::byte* RecordFor(RecordType type, PageId id, size_t body_size);
  /// Each modified page has its own identity and is not newer than the log; for assertions.
  [[nodiscard]] bool ModifiedPagesAreWhole() const;
  void Release(Held* held);
  void ReleaseAll();

  BufferPool* const pool_;
  GroupBuilder* group_ = nullptr;  ///< from a per-thread cache, returned at the end
  uint32_t reserved_bytes_ = 0;
  uint32_t held_count_ = 0;
  bool changed_temporary_ = false;
  /// Of these the first `held_count_` exist: each change would otherwise make and destroy them all.
  /// A guard that holds nothing needs no destruction.
  union {
    std::array<Held, kInlinePages> inline_held_;
  };
  std::vector<Held> more_held_;
};

}  // namespace rowan
