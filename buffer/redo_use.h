// SPDX-License-Identifier: GPL-2.0-only
// RedoUse: access to the pool's redo backlog, which cannot end meanwhile.
// Internal to buffer/. Thread safety: a use belongs to one thread, which has only one.
#pragma once

#include <cstring>
#include <memory>
#include <span>

#include "base/mutex.h"
#include "buffer/frame_table.h"
#include "buffer/page_files.h"
#include "buffer/redo_backlog.h"

namespace rowan {

class RedoUse {
 public:
  RedoUse(FrameTable* frames, PageFiles* files)
      : frames_(frames), files_(files), lock_(files->backlog_mutex()) {
    backlog_ = files->backlog();
  }

  /// nullptr: the page lacks nothing of the log.
  [[nodiscard]] RedoBacklog::Page* Find(uint64_t key) const {
    return backlog_ == nullptr ? nullptr : backlog_->Find(key);
  }

  /// True if the list recreates the page, so it is not read. False if the page at home is known to
  /// be newer than the whole list and a later stretch of the log builds on it: recreated, it would
  /// be written in an older state, and stay so if freed before that stretch is applied.
  [[nodiscard]] bool MakesAnew(const RedoBacklog::Page& page) const {
    return page.fresh &&
           files_->page_lsns()->Expected(PageId::Unpack(page.key)) <= RedoBacklog::EndOf(page);
  }

  /// Brings the page in an exclusively latched frame up to date, from what was read or, if `anew`,
  /// from nothing. After a failure its bytes are useless, and its records stay. kStopped: the log
  /// could not be read, which stops the engine: this says neither that the page is damaged nor that
  /// it is up to date, and no checkpoint discards the log. `How::kUnread`: nothing valid was read,
  /// which suffices only if an image is kept.
  enum class How { kRead, kUnread, kAnew };
  Status Apply(RedoBacklog::Page* page, Frame* frame, How how,
               const RedoPortion* portion = nullptr) const {
    const MutableBytes bytes = frames_->PageOf(frame);
    if (how == How::kAnew) {
      std::memset(bytes.data(), 0, bytes.size());
    } else if (HasKept(*page)) {
      const Status mended =
          backlog_->ApplyKept(PageId::Unpack(page->key), bytes, how == How::kRead);
      if (!mended.ok()) return mended;
    }
    const bool kept_only = page->kept_only();
    const Status status = backlog_->Apply(*page, bytes, portion);
    if (!status.ok()) return StoppedIfLogFailed(status);
    // Kept redo is older than what checkpoints have passed, and outlives the page's next write.
    // Below the tail, so that a sweep beginning now writes the page.
    frames_->MarkDirty(frame, kept_only ? files_->LogTail() - 1 : page->start);
    backlog_->Remove(page);
    return Status::Ok();
  }

  [[nodiscard]] bool HasKept(const RedoBacklog::Page& page) const {
    return backlog_->HasKept(PageId::Unpack(page.key));
  }

  void Remove(RedoBacklog::Page* page) const { backlog_->Remove(page); }

  /// See RedoBacklog::Gather; null if there is no longer a backlog. kStopped as Apply.
  Result<std::unique_ptr<RedoPortion>> Gather(std::span<const uint64_t> keys,
                                              uint64_t bytes_max) const {
    if (backlog_ == nullptr) return std::unique_ptr<RedoPortion>();
    Result<std::unique_ptr<RedoPortion>> portion = backlog_->Gather(keys, bytes_max);
    if (!portion.ok()) return StoppedIfLogFailed(portion.status());
    return portion;
  }

 private:
  [[nodiscard]] Status StoppedIfLogFailed(const Status& status) const {
    return status.Is(Code::kStopped) ? files_->StopEngine("redo needs the log", status) : status;
  }

  FrameTable* const frames_;
  PageFiles* const files_;
  SharedLock lock_;
  RedoBacklog* backlog_ = nullptr;
};

}  // namespace rowan
