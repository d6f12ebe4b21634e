// SPDX-License-Identifier: GPL-2.0-only
// Operations on backups without an instance: verifying one, and applying an incremental one to its
// full backup. See storage/backup_verify.h and storage/backup_apply.h, whose folders are those of
// Rowan's part. Thread safety: functions on distinct folders.
#pragma once

#include <string>

#include "base/status.h"
#include "io/file.h"
#include "storage/backup_verify.h"

namespace rowan {

/// True if nothing is wrong with the backup; with a `base`, if it also fits that one.
bool VerifyBackup(const std::string& folder, const std::string& base,
                  BackupVerify::Listener listener, FileSystem* file_system = PosixFileSystem());

/// Checks that the incremental backup fits the full one; failures are logged as sentences.
Status CheckIncrement(const std::string& full, const std::string& increment,
                      FileSystem* file_system = PosixFileSystem());
/// The same, and applies it.
Status ApplyIncrement(const std::string& full, const std::string& increment,
                      FileSystem* file_system = PosixFileSystem());

}  // namespace rowan
