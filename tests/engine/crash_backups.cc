// SPDX-License-Identifier: GPL-2.0-only
#include "tests/engine/crash_backups.h"

#include <thread>

namespace rowan {

void CrashBackups::Work(CrashContext* context, const std::atomic<bool>& working) {
  for (uint32_t i = 0; i < backups_max_; ++i) {
    const Status status = Make(context);
    // Busy: a table came between the end that was chosen and the last look at the files.
    EXPECT_TRUE(status.ok() || status.Is(Code::kBusy) || context->MayFail())
        << "backup: " << CodeName(status.code()) << ": " << status.message();
    if (!status.ok() || !working.load()) return;
    std::this_thread::yield();
  }
}

Status CrashBackups::Make(CrashContext* context) {
  BackupOptions options{.folder = "/backups/" + std::to_string(++next_folder_)};
  std::vector<std::string> chain;
  if (!chain_.empty() && !random_.OneIn(3)) {
    chain = chain_;
    // Onto the last one, or onto the full one again.
    if (random_.OneIn(4)) chain.resize(1);
    options.base = chain.back();
  } else if (random_.OneIn(3)) {
    options.clone = CloneInPieces(context->engine()->impl()->storage->file_system());
  }
  Result<std::unique_ptr<Backup>> begun = context->engine()->BeginBackup(options);
  if (begun.status().Is(Code::kBusy)) return Status::Ok();  // the last run is still being redone
  if (!begun.ok()) return begun.status();
  Backup* const backup = begun.value().get();
  Status status;
  if (!random_.OneIn(4)) status = backup->CopyPages([] { return false; });
  if (status.ok()) status = backup->Finish(kNoLsn);
  // A file that could not be read once is asked for again later.
  const bool waits = !context->engine()->impl()->storage->damaged()->Waiting().empty();
  if (status.Is(Code::kBusy) && waits) return Status::Ok();
  if (!status.ok()) return status;
  chain.push_back(options.folder);
  if (!backup->manifest().IsBranch()) chain_ = chain;
  finished_.push_back({std::move(chain), backup->end()});
  return status;
}

}  // namespace rowan
