// SPDX-License-Identifier: GPL-2.0-only
// PageFiles: the path of pages to disk and back, shared by all parts of the pool: the files, the
// log that precedes them, unsynced writes, and what pages lack of the log during redo. Knows no
// frames. Internal to buffer/.
// Thread safety: all members from any thread unless said otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "buffer/buffer_options.h"
#include "buffer/page/page_lsns.h"
#include "buffer/page/sync_tracker.h"
#include "buffer/write_gate.h"
#include "io/file.h"
#include "io/space_files.h"
#include "wal/control_file.h"
#include "wal/log.h"

namespace rowan {

class RedoBacklog;

class PageFiles {
 public:
  /// `log` and `control` may be null; all outlive it.
  PageFiles(const BufferOptions& options, SpaceFiles* spaces, FileSystem* file_system, Log* log,
            ControlFile* control);

  [[nodiscard]] const BufferOptions& options() const { return options_; }
  [[nodiscard]] SpaceFiles* spaces() const { return spaces_; }
  [[nodiscard]] FileSystem* file_system() const { return file_system_; }
  [[nodiscard]] Log* log() const { return log_; }
  [[nodiscard]] ControlFile* control() const { return control_; }
  [[nodiscard]] SyncTracker* syncs() { return &syncs_; }
  [[nodiscard]] PageLsns* page_lsns() { return &page_lsns_; }
  [[nodiscard]] const PageLsns& page_lsns() const { return page_lsns_; }

  [[nodiscard]] bool Stopped() const { return log_ != nullptr && log_->stopped(); }
  /// Without a log: 1.
  [[nodiscard]] Lsn LogTail() const { return log_ == nullptr ? Lsn(1) : log_->tail(); }
  /// A write or sync of `what` failed: stops the engine for good. Returns the status to pass on.
  Status StopEngine(const char* reason, Status cause);

  /// Fails early for a new page that could not be written to its file later.
  [[nodiscard]] Status CheckUsable(PageId id) const {
    return spaces_->Locate(id, SpaceFiles::Use::kRead).status();
  }
  /// Checks an image read from disk; empty: it is good, else what is wrong with it.
  [[nodiscard]] std::string Check(Bytes page, PageId id) const { return Look(page, id, true); }
  /// The same for one that may be being written: failures are not counted.
  [[nodiscard]] std::string WrongWith(Bytes page, PageId id) const { return Look(page, id, false); }

  [[nodiscard]] DoublewriteMode doublewrite_mode() const {
    return doublewrite_mode_.load(std::memory_order_acquire);
  }
  /// REQUIRES: the write gate is closed.
  void SetDoublewriteMode(DoublewriteMode mode);
  /// Shared while a batch is written, exclusive while the doublewrite mode changes.
  [[nodiscard]] WriteGate* write_gate() { return &write_gate_; }
  /// Every file must promise untorn page writes before the doublewrite file may be disabled.
  /// kUnsupported; the error log names the file that does not.
  [[nodiscard]] Status CheckAtomicWrites() const;

  /// What pages lack of the redo log until redo is done, else null; read where a page is loaded,
  /// never where one is found. Used through buffer/redo_use.h.
  [[nodiscard]] RedoBacklog* backlog() const { return backlog_.load(std::memory_order_acquire); }
  void SetBacklog(RedoBacklog* backlog) {
    redoing_.store(true, std::memory_order_release);
    backlog_.store(backlog, std::memory_order_release);
  }
  /// Pages no longer lack anything of the log, or it is kept; on return no thread reads the log for
  /// it. The backlog goes if nothing is pending.
  void EndRedo();
  /// From SetBacklog to EndRedo.
  [[nodiscard]] bool redoing() const { return redoing_.load(std::memory_order_acquire); }
  /// Shared while the backlog is used, also while a page is read; exclusive to end it.
  [[nodiscard]] SharedMutex* backlog_mutex() { return &backlog_mutex_; }

 private:
  [[nodiscard]] std::string Look(Bytes page, PageId id, bool count) const;

  // Constant after construction.
  const BufferOptions options_;
  SpaceFiles* const spaces_;
  FileSystem* const file_system_;
  Log* const log_;
  ControlFile* const control_;

  SyncTracker syncs_;
  PageLsns page_lsns_;
  std::atomic<DoublewriteMode> doublewrite_mode_;  // changed with the write gate closed
  WriteGate write_gate_;
  std::atomic<RedoBacklog*> backlog_{nullptr};
  std::atomic<bool> redoing_{false};
  SharedMutex backlog_mutex_{LatchRank::kRedoBacklog};
};

}  // namespace rowan
