// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log_opening.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "base/logging.h"
#include "io/aligned_buffer.h"
#include "wal/log.h"
#include "wal/sync_probe.h"

namespace rowan {
namespace {

Status CheckOptions(const LogOptions& options) {
  const uint64_t buffer = options.buffer_bytes;
  if (!std::has_single_bit(buffer) || !kLogBufferLimits.Allow(buffer)) {
    return Status(Code::kInvalidArgument,
                  "log buffer must be a power of two between 64 KiB and 64 MiB");
  }
  if (!kLogCapacityLimits.Allow(options.capacity_bytes)) {
    return Status(Code::kInvalidArgument, "redo log capacity must be from 1 MiB to 1 TiB");
  }
  return Status::Ok();
}

/// The requested method if it works here, else fdatasync, which works everywhere.
std::unique_ptr<SyncStrategy> ChooseStrategy(LogFileSet* files, LogSyncMethod method, Lsn end) {
  if (method == LogSyncMethod::kAuto) {
    method = ProbeSyncMethod(files->file_system(), files->folder());
  }
  std::string reason;
  FileSystem* const file_system = files->file_system();
  Result<std::unique_ptr<SyncStrategy>> strategy = MakeSyncStrategy(file_system, method, &reason);
  if (strategy.ok()) {
    const Result<std::shared_ptr<File>> file =
        files->Open(files->PlaceOf(end).number, strategy.value()->open_options());
    if (file.ok()) return std::move(strategy).value();
    reason = file.status().message();
  }
  LogWarning("Log sync method {} refused: {}; fdatasync is used instead", LogSyncMethodName(method),
             reason);
  return MakeSyncStrategy(file_system, LogSyncMethod::kFdatasync, &reason).value();
}

}  // namespace

Result<LogOpening> OpenLogFiles(FileSystem* file_system, const LogOptions& options,
                                ControlFile* control, Lsn end) {
  Status status = CheckOptions(options);
  if (!status.ok()) return status;
  const ControlData before = control->data();
  LogOpening opening;
  opening.capacity_bytes = options.capacity_bytes;
  opening.buffer_bytes = options.buffer_bytes;
  opening.end = std::max(end, Log::kFirstLsn);
  opening.checkpoint = std::clamp(before.checkpoint_lsn, Log::kFirstLsn, opening.end);
  opening.files = std::make_unique<LogFileSet>(LogFileSet::Options{
      file_system, control->folder(), before.instance_id, options.capacity_bytes});
  status = before.log_file_bytes == 0 ? opening.files->Create(opening.end)
                                      : opening.files->Recover(opening.checkpoint, opening.end);
  if (!status.ok()) return status;
  opening.strategy = ChooseStrategy(opening.files.get(), options.sync_method, opening.end);
  const uint64_t first_file_bytes = before.log_file_bytes != 0
                                        ? before.log_file_bytes
                                        : opening.files->PlaceOf(opening.end).bytes();
  // Durable before the first group of the new epoch can be.
  status = control->UpdateBothSlots([&](ControlData& data) {
    data.epoch += 1;
    data.run_start_lsn = opening.end;
    data.run_epoch = data.epoch;
    data.log_durable_lsn = opening.end;
    data.log_file_bytes = first_file_bytes;
    AddRun(&data.history, opening.end);
    data.log_buffer_bytes = std::max(data.log_buffer_bytes, options.buffer_bytes);
  });
  if (!status.ok()) return status;
  opening.epoch = control->data().epoch;
  return opening;
}

Status RestoreLastBlock(LogFileSet* files, LogBuffer* buffer, Lsn end) {
  const Lsn start = LogBlockStart(end);
  if (start == end) return Status::Ok();
  const LogFilePlace place = files->PlaceOf(start);
  Result<std::shared_ptr<File>> file = files->Open(place.number, {});
  if (!file.ok()) return file.status();
  AlignedBuffer block(kLogBlockBytes);
  const Status status = file.value()->Read(place.OffsetOf(start), block.span());
  if (!status.ok()) return status;
  buffer->Restore(start, block.span().first(end - start));
  return Status::Ok();
}

}  // namespace rowan
