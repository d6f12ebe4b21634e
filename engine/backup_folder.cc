// SPDX-License-Identifier: GPL-2.0-only
#include "engine/backup_folder.h"

#include <utility>

#include "btree/tree.h"
#include "buffer/buffer_redo.h"
#include "mvcc/undo/undo_redo.h"
#include "space/page_allocator.h"
#include "storage/backup_apply.h"

namespace rowan {

bool VerifyBackup(const std::string& folder, const std::string& base,
                  BackupVerify::Listener listener, FileSystem* file_system) {
  // The types of log records.
  RegisterBufferRedo();
  RegisterSpaceRedo();
  RegisterTreeRedo();
  RegisterUndoRedo();
  BackupVerify verify(file_system, folder, std::move(listener));
  return base.empty() ? verify.Run() : verify.RunOnto(base);
}

Status CheckIncrement(const std::string& full, const std::string& increment,
                      FileSystem* file_system) {
  return BackupApply(file_system, full, increment).Check();
}

Status ApplyIncrement(const std::string& full, const std::string& increment,
                      FileSystem* file_system) {
  BackupApply apply(file_system, full, increment);
  const Status status = apply.Check();
  if (!status.ok()) return status;
  return apply.Run();
}

}  // namespace rowan
