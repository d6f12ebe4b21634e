// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/binlog_carrier.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "my_dir.h"
#include "my_sys.h"
#include "mysql/plugin.h"
#include "sql/binlog.h"
#include "sql/handler.h"
#include "sql/mysqld.h"
#include "sql/replication.h"
#include "sql/sql_class.h"
#include "sql/sql_plugin_ref.h"

#include "base/crc32c.h"
#include "base/logging.h"
#include "base/mutex.h"
#include "engine/engine.h"
#include "plugin/server/binlog_files.h"
#include "plugin/server/instance.h"
#include "plugin/server/system_variables.h"

namespace rowan {
namespace {

/// A file as the kernel knows it: one that RESET BINARY LOGS makes may have the name of another.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

struct Carrier {
  Mutex mutex{LatchRank::kBinlogCarrier};
  bool observes ROWAN_GUARDED_BY(mutex) = false;
  bool refused ROWAN_GUARDED_BY(mutex) = false;  ///< it was logged why nothing is carried
  std::string path ROWAN_GUARDED_BY(mutex);      ///< of the file that is carried
  FileIdentity identity ROWAN_GUARDED_BY(mutex);
  std::atomic<Lsn> end{kNoLsn};  ///< of what was logged; raised under the mutex
};
Carrier g_carrier;

bool Identify(const char* path, FileIdentity* identity) {
  MY_STAT status{};
  if (my_stat(path, &status, MYF(0)) == nullptr) return false;
  *identity = {static_cast<uint64_t>(status.st_dev), static_cast<uint64_t>(status.st_ino)};
  return true;
}

/// The beginning of a file tells it from another of its name: the time of its creation, or, where
/// it is encrypted, the password drawn for it.
uint32_t MarkOf(const std::string& path) {
  constexpr size_t kFirstEventBytes = 100;  // at least
  constexpr size_t kEncryptionHeaderBytes = 512;
  constexpr std::byte kEncrypted{0xfd};
  constexpr size_t kFlags = 21;  // "in use" and others, which a closed file lacks
  std::array<std::byte, kEncryptionHeaderBytes> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(head.data()), static_cast<std::streamsize>(head.size()));
  if (head[0] == kEncrypted) return Crc32c(head);
  head[kFlags] = head[kFlags + 1] = std::byte{0};
  return Crc32c(Bytes(head).first(kFirstEventBytes));
}

int Outcome(const Status& status) {
  if (status.ok()) return 0;
  LogError("The binary log could not be made durable with the redo log: {}.", status.message());
  return 1;
}

Status MakeDurable(Lsn end) {
  return end > g_engine->durable_lsn() ? g_engine->WaitDurable(end) : Status::Ok();
}

int AfterFlush(Binlog_storage_param*, const char*, my_off_t) {
  const MutexLock lock(&g_carrier.mutex);
  CarriedFile* file = g_engine->carried_file();
  if (!file->carrying()) return 0;
  Result<Lsn> end = file->LogAppended();
  if (!end.ok()) return Outcome(end.status());
  g_carrier.end.store(*end, std::memory_order_release);
  return BinlogInRedoMode() == BinlogInRedo::kEarlySend ? 0 : Outcome(MakeDurable(*end));
}

/// Of this group at least, before the engines commit it.
int AfterSync(Binlog_storage_param*, const char*, my_off_t) {
  return Outcome(MakeDurable(g_carrier.end.load(std::memory_order_acquire)));
}

Binlog_storage_observer g_observer = {sizeof(Binlog_storage_observer), AfterFlush, AfterSync};

bool Observe() ROWAN_REQUIRES(g_carrier.mutex) {
  if (!g_carrier.observes) {
    g_carrier.observes =
        register_binlog_storage_observer(&g_observer, hton2plugin(g_hton->slot)) == 0;
  }
  return g_carrier.observes;
}

/// The calling thread leads a group of the binary log, so it holds LOCK_log and the hook follows:
/// not one that rotates the log, nor one of a replica that only keeps the order of commits.
bool LeadsGroup(THD* thd) {
  if (thd == nullptr || !thd->tx_commit_pending) return false;
  for (const Ha_trx_info& part : thd->get_transaction()->ha_trx_info(Transaction_ctx::SESSION)) {
    if (part.ht()->db_type == DB_TYPE_BINLOG) return true;
  }
  for (const Ha_trx_info& part : thd->get_transaction()->ha_trx_info(Transaction_ctx::STMT)) {
    if (part.ht()->db_type == DB_TYPE_BINLOG) return true;
  }
  return false;
}

bool IsWanted() {
  return BinlogInRedoMode() != BinlogInRedo::kOff && sync_binlog_period == 0 &&
         mysql_bin_log.is_open();
}

/// True: the newest file is carried.
bool CarryNewest(CarriedFile* file) ROWAN_REQUIRES(g_carrier.mutex) {
  const char* path = mysql_bin_log.get_log_fname();
  FileIdentity identity;
  if (!Identify(path, &identity)) return false;
  if (file->carrying() && identity == g_carrier.identity && g_carrier.path == path) return true;
  const Status status =
      Observe() ? file->Begin(path, MarkOf(path)) : Status(Code::kUnsupported, "no hook");
  if (!status.ok()) {
    if (!g_carrier.refused) {
      LogWarning(
          "The binary log is not durable with the redo log, in spite of "
          "rowan_binlog_in_redo: {}.",
          status.message());
    }
    g_carrier.refused = true;
    return false;
  }
  g_carrier.refused = false;
  g_carrier.path = path;
  g_carrier.identity = identity;
  return true;
}

}  // namespace

bool DefersToBinlog(THD* thd) {
  CarriedFile* file = g_engine->carried_file();
  if (file == nullptr || !LeadsGroup(thd)) return false;
  const MutexLock lock(&g_carrier.mutex);
  if (!IsWanted()) {
    if (!file->End().ok()) LogError("The binary log file could not be synced.");
    return false;
  }
  // A replica that logs nothing has transactions whose commit ends with this call.
  return CarryNewest(file) && opt_log_replica_updates;
}

void ForgetBinlog() {
  CarriedFile* file = g_engine->carried_file();
  if (file == nullptr) return;
  const MutexLock lock(&g_carrier.mutex);
  if (!file->Forget().ok()) LogError("The end of the binary log stays in the redo log.");
}

void StopCarryingBinlog() {
  const MutexLock lock(&g_carrier.mutex);
  if (!g_carrier.observes) return;
  unregister_binlog_storage_observer(&g_observer, hton2plugin(g_hton->slot));
  g_carrier.observes = false;
}

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

}  // namespace

Status RestoreBinlogTail(Engine* engine) {
  CarriedFile* file = engine->carried_file();
  if (file == nullptr || file->tail() == nullptr) return Status::Ok();
  if (engine->restored()) return file->Settle();  // it belongs to the server the backup is of
  if (!opt_bin_log) {
    if (BinlogInRedoMode() == BinlogInRedo::kOff)
      return GiveUp(file, "the binary log is switched off");
    LogError(
        "The redo log holds the end of binary log file '{}', and the binary log is switched off. "
        "Start once with --log-bin as before, or with rowan_binlog_in_redo=OFF to give it up.",
        file->tail()->name());
    return Status(Code::kInvalidArgument, "the binary log is switched off");
  }
  Result<std::vector<BinlogFile>> files = ListBinlogFiles();
  if (!files.ok()) return files.status();
  const auto has_name = [&](const BinlogFile& other) {
    return std::filesystem::path(other.path).filename() == file->tail()->name();
  };
  const auto found = std::ranges::find_if(*files, has_name);
  if (found == files->end()) return GiveUp(file, "it is not in the index any more");
  if (MarkOf(found->path) != file->tail()->mark()) return GiveUp(file, "it is another file now");
  if (std::next(found) == files->end()) return RestoreInPlace(file, found->path);
  const Result<BinlogState> next = StateOfBinlog(*std::next(found));
  if (!next.ok()) return next.status();
  // A file is synced before another one follows it.
  return next.value().starts_run ? RestoreBeside(file, found->path) : file->Settle();
}

}  // namespace rowan
