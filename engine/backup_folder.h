// SPDX-License-Identifier: GPL-2.0-only
// What can be done with backups without an instance: to read one through, and to put an incremental
// one onto the full one before it. See storage/backup_verify.h and storage/backup_apply.h, whose
// folders are those of Rowan's part. Thread safety: functions on distinct folders.
#pragma once

#include <string>

#include "base/status.h"
#include "io/file.h"
#include "storage/backup_verify.h"

namespace rowan {

/// True if nothing is wrong with the backup. With a `base`, that it goes onto that one, too.
bool VerifyBackup(const std::string& folder, const std::string& base,
                  BackupVerify::Listener listener, FileSystem* file_system = PosixFileSystem());

/// Whether the incremental backup can be put onto the full one; failures are logged as sentences.
Status CheckIncrement(const std::string& full, const std::string& increment,
                      FileSystem* file_system = PosixFileSystem());
/// The same, and does it.
Status ApplyIncrement(const std::string& full, const std::string& increment,
                      FileSystem* file_system = PosixFileSystem());

}  // namespace rowan
