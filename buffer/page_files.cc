// SPDX-License-Identifier: GPL-2.0-only
#include "buffer/page_files.h"

#include <vector>

#include "base/assertions.h"
#include "base/counters.h"
#include "base/format.h"
#include "base/logging.h"
#include "buffer/page/doublewrite.h"
#include "buffer/page/page_header.h"
#include "buffer/redo_backlog.h"

namespace rowan {

PageFiles::PageFiles(const BufferOptions& options, SpaceFiles* spaces, FileSystem* file_system,
                     Log* log, ControlFile* control)
    : options_(options),
      spaces_(spaces),
      file_system_(file_system),
      log_(log),
      control_(control),
      syncs_(spaces, options.data_sync_method),
      page_lsns_(file_system, spaces),
      doublewrite_mode_(options.doublewrite) {}

std::string PageFiles::Look(Bytes page, PageId id, bool count) const {
  const PageVerdict verdict = VerifyPage(page, id);
  if (verdict != PageVerdict::kGood) return PageVerdictText(verdict);
  if (PageTypeOf(page.data()) == PageType::kPacked) {
    return "it is compressed or encrypted by a newer version of Rowan";
  }
  // A page is written when the log is durable up to its LSN. If the log ends before, it lost its
  // end, or the page is another instance's.
  const Lsn lsn = PageLsnOf(page.data());
  if (log_ != nullptr && lsn > LogTail()) return "it is newer than the end of the redo log";
  if (!page_lsns_.IsStale(id, lsn)) return {};
  if (count) AddCounter(Counter::kStalePages);
  return Format("it is older than its last write (LSN {}, expected at least {})", lsn.value(),
                page_lsns_.Expected(id).value());
}

Status PageFiles::StopEngine(const char* reason, Status cause) {
  if (!Stopped()) {
    LogError(
        "Rowan stops: {} ({}, error {}). The data on disk is intact up to the last sync; "
        "restart after the cause is removed.",
        reason, cause.message(), cause.detail());
  }
  if (log_ != nullptr) log_->Stop(reason);
  return Status(Code::kStopped, reason);
}

Status PageFiles::CheckAtomicWrites() const {
  // Later files are represented by an existing one on the same file system.
  std::vector<std::string> paths{spaces_->folder() + "/" + kDoublewriteFileName};
  Result<std::vector<SpaceId>> spaces = spaces_->ListFiles();
  if (!spaces.ok()) return spaces.status();
  for (const SpaceId space : spaces.value()) paths.push_back(spaces_->PathOf(space));
  for (const std::string& path : paths) {
    const Result<uint32_t> most = file_system_->AtomicWriteUnitMax(path);
    if (most.status().Is(Code::kNotFound)) continue;  // dropped meanwhile
    if (!most.ok()) return most.status();
    if (most.value() >= spaces_->page_size_bytes()) continue;
    LogError(
        "rowan_doublewrite = atomic is refused: '{}' promises untorn writes of at most {} "
        "bytes, a page has {}. Use rowan_doublewrite = on.",
        path, most.value(), spaces_->page_size_bytes());
    return Status(Code::kUnsupported, "the files do not promise untorn writes of a page");
  }
  return Status::Ok();
}

void PageFiles::SetDoublewriteMode(DoublewriteMode mode) {
  ROWAN_DCHECK(write_gate()->closed());
  spaces_->SetAtomic(mode == DoublewriteMode::kAtomic);
  doublewrite_mode_.store(mode, std::memory_order_release);
}

void PageFiles::EndRedo() {
  // Waits for its users: a checkpoint would discard the log that they read.
  const ExclusiveLock guard(&backlog_mutex_);
  RedoBacklog* const backlog = this->backlog();
  if (backlog != nullptr && !backlog->EndLog()) {
    backlog_.store(nullptr, std::memory_order_seq_cst);
  }
  redoing_.store(false, std::memory_order_release);
}

}  // namespace rowan
