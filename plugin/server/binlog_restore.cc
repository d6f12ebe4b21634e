// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/binlog_restore.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "mysql/plugin.h"
#include "sql/mysqld.h"

#include "base/logging.h"
#include "engine/engine.h"
#include "plugin/server/binlog_files.h"
#include "plugin/server/coordinator.h"
#include "plugin/server/system_variables.h"

namespace rowan {
namespace {

Status GiveUp(CarriedFile* file, const char* why) {
  LogWarning("Of binary log file '{}' the redo log holds the end, which is given up: {}.",
             file->tail()->name(), why);
  return file->Settle();
}

Status RestoreInPlace(CarriedFile* file, const std::string& path) {
  Result<CarriedTail::Restored> restored = file->tail()->RestoreTo(path);
  if (!restored.ok()) {
    LogError(
        "The end of binary log file '{}' cannot be restored from the redo log: {}. Nothing is lost "
        "yet; Rowan starts once the file is whole or no longer in the index.",
        path, restored.status().message());
    return restored.status();
  }
  LogInfo(
      "Binary log file '{}' ends at byte {} according to the redo log: {} bytes restored, {} "
      "that no transaction was committed by cut off.",
      path, file->tail()->end_bytes(), restored->bytes_written, restored->bytes_cut);
  return file->Settle();
}

/// The server ran without Rowan, cut the file where it took it to end, and went on with another.
Status RestoreBeside(CarriedFile* file, const std::string& path) {
  std::error_code error;
  const uint64_t size_bytes = std::filesystem::file_size(path, error);
  if (!error && size_bytes >= file->tail()->end_bytes()) return file->Settle();
  const std::string copy = RestoredBinlogPath(path);
  std::filesystem::copy_file(path, copy, std::filesystem::copy_options::overwrite_existing, error);
  Result<CarriedTail::Restored> restored =
      error ? Result<CarriedTail::Restored>(Status(Code::kIoError, "it cannot be copied"))
            : file->tail()->RestoreTo(copy);
  if (!restored.ok()) {
    LogError("The end of binary log file '{}' cannot be saved as '{}': {}.", path, copy,
             restored.status().message());
    return restored.status();
  }
  LogWarning(
      "The server ran without Rowan after a crash and cut binary log file '{}', of which the redo "
      "log holds {} bytes more. The whole file is '{}': replicas and point-in-time recovery must "
      "use its end.",
      path, restored->bytes_written, copy);
  return file->Settle();
}

/// `why`: said with the advice.
Status Refuse(const CarriedFile& file, const char* why) {
  LogError(
      "The redo log holds the end of binary log file '{}', and {}. Start once with --log-bin as "
      "before, or with rowan_binlog_in_redo=OFF to give it up.",
      file.tail()->name(), why);
  return Status(Code::kInvalidArgument, "a binary log file is missing");
}

Status RefuseOrGiveUp(CarriedFile* file, const char* why) {
  return BinlogInRedoMode() == BinlogInRedo::kOff ? GiveUp(file, why) : Refuse(*file, why);
}

/// The index goes on after the file, which therefore was purged: it is not that of another log.
bool IsPurged(const std::string& name, const std::vector<BinlogFile>& files) {
  return !files.empty() && files.back().number > NumberOfBinlog(name) &&
         std::filesystem::path(files.back().path).stem() == std::filesystem::path(name).stem();
}

}  // namespace

Status RestoreBinlogTail(CarriedFile* file) {
  if (!opt_bin_log) return RefuseOrGiveUp(file, "the binary log is switched off");
  const std::string& name = file->tail()->name();
  const Result<std::vector<BinlogFile>> listed = ListBinlogFiles();
  if (!listed.ok()) return listed.status();
  const std::vector<BinlogFile>& files = listed.value();
  const auto found = std::find_if(files.begin(), files.end(), [&](const BinlogFile& other) {
    return std::filesystem::path(other.path).filename() == name;
  });
  if (found == files.end()) {
    return IsPurged(name, files) ? GiveUp(file, "it was purged")
                                 : RefuseOrGiveUp(file, "it is not in the index of the log");
  }
  const Result<uint32_t> mark = MarkOfBinlog(found->path);
  if (!mark.ok()) return RefuseOrGiveUp(file, "it cannot be read");
  if (mark.value() != file->tail()->mark()) return GiveUp(file, "it is another file now");
  const bool newest = std::next(found) == files.end();
  // This server writes to it, and has never lost its end.
  if (newest && InstalledAtRunTime()) return file->Settle();
  if (newest) return RestoreInPlace(file, found->path);
  const Result<BinlogState> next = StateOfBinlog(*std::next(found));
  if (!next.ok()) return next.status();
  // A file is synced before another one follows it.
  return next.value().starts_run ? RestoreBeside(file, found->path) : file->Settle();
}

}  // namespace rowan
