// SPDX-License-Identifier: GPL-2.0-only
// What tests do with folders of backups on the fault double. Thread safety: none.
#pragma once

#include <string>
#include <vector>

#include "storage/backup_clone.h"
#include "tests/support/folder_copy.h"

namespace rowan {

/// What is wrong with the backup, a line each; empty: nothing.
std::string WrongWithBackup(FaultFileSystem* files, const std::string& folder,
                            const std::string& base = {});

/// A clone of a file as a file system may make it that lets others write there meanwhile: it has
/// some of the sectors of their writes.
CloneFunction CloneInPieces(FileSystem* files);

/// Copies the first of a chain of backups to `folder` and puts the others onto it, each verified
/// before and the result after each step; failures are test failures.
void RestoreChain(FaultFileSystem* files, const std::vector<std::string>& chain,
                  const std::string& folder);

}  // namespace rowan
