// SPDX-License-Identifier: GPL-2.0-only
// Opening a log: files, sync method, the last block of the stream, a new epoch.
#include <algorithm>
#include <bit>
#include <utility>

#include "base/logging.h"
#include "io/aligned_buffer.h"
#include "wal/log.h"
#include "wal/log_impl.h"
#include "wal/sync_probe.h"
#include "wal/sync_strategy.h"

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

/// The method asked for if it works here, else fdatasync, which works everywhere.
std::unique_ptr<SyncStrategy> ChooseStrategy(LogFileSet* files, LogSyncMethod method, Lsn end) {
  if (method == LogSyncMethod::kAuto) {
    method = ProbeSyncMethod(files->file_system(), files->folder());
  }
  std::string reason;
  FileSystem* const file_system = files->file_system();
  Result<std::unique_ptr<SyncStrategy>> strategy = MakeSyncStrategy(file_system, method, &reason);
  if (strategy.ok()) {
    const Result<std::shared_ptr<File>> file =
        files->Open(files->PlaceOf(end.value()).number, strategy.value()->open_options());
    if (file.ok()) return std::move(strategy).value();
    reason = file.status().message();
  }
  LogWarning("Log sync method {} refused: {}; fdatasync is used instead", LogSyncMethodName(method),
             reason);
  return MakeSyncStrategy(file_system, LogSyncMethod::kFdatasync, &reason).value();
}

/// The block that the next append rewrites must be in the ring with its old content.
Status RestoreLastBlock(LogFileSet* files, LogBuffer* buffer, Lsn end) {
  const uint64_t start = LogBlockStart(end.value());
  if (start == end.value()) return Status::Ok();
  const LogFilePlace place = files->PlaceOf(start);
  Result<std::shared_ptr<File>> file = files->Open(place.number, {});
  if (!file.ok()) return file.status();
  AlignedBuffer block(kLogBlockBytes);
  const Status status = file.value()->Read(kLogFileHeaderBytes + start - place.start, block.span());
  if (!status.ok()) return status;
  buffer->Restore(start, block.span().first(end.value() - start));
  return Status::Ok();
}

}  // namespace

Result<std::unique_ptr<Log>> Log::Open(FileSystem* file_system, const LogOptions& options,
                                       ControlFile* control, Lsn end,
                                       std::function<void()> on_stop) {
  Status status = CheckOptions(options);
  if (!status.ok()) return status;
  const ControlData before = control->data();
  Impl::Setup setup;
  setup.capacity_bytes = options.capacity_bytes;
  setup.buffer_bytes = options.buffer_bytes;
  setup.end = std::max(end, kFirstLsn);
  setup.checkpoint = std::clamp(before.checkpoint_lsn, kFirstLsn, setup.end);
  setup.files = {file_system, control->folder(), before.instance_id, options.capacity_bytes};
  auto files = std::make_unique<LogFileSet>(setup.files);
  status = before.log_file_bytes == 0 ? files->Create(setup.end)
                                      : files->Recover(setup.checkpoint, setup.end);
  if (!status.ok()) return status;
  setup.strategy = ChooseStrategy(files.get(), options.sync_method, setup.end);
  const uint64_t first_file_bytes = before.log_file_bytes != 0
                                        ? before.log_file_bytes
                                        : files->PlaceOf(setup.end.value()).bytes();
  // Durable before the first group of the new epoch can be.
  status = control->UpdateBothSlots([&](ControlData& data) {
    data.epoch += 1;
    data.run_start_lsn = setup.end;
    data.run_epoch = data.epoch;
    data.log_durable_lsn = setup.end;
    data.log_file_bytes = first_file_bytes;
    data.log_buffer_bytes = std::max(data.log_buffer_bytes, options.buffer_bytes);
  });
  if (!status.ok()) return status;
  setup.epoch = control->data().epoch;
  const Lsn restored_end = setup.end;
  auto impl = std::make_unique<Impl>(std::move(files), std::move(setup), std::move(on_stop));
  status = RestoreLastBlock(impl->files.get(), &impl->buffer, restored_end);
  if (!status.ok()) return status;
  impl->Start();
  return std::unique_ptr<Log>(new Log(std::move(impl)));
}

}  // namespace rowan
