// SPDX-License-Identifier: GPL-2.0-only
// One log with its control file on any file system, started and crashed again and again. Groups
// carry a number, so that what a reader finds can be compared with what was appended.
// Not thread-safe but for the log itself and Append.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "wal/control_file.h"
#include "wal/group.h"
#include "wal/log.h"
#include "wal/log_reader.h"

namespace rowan {

/// A group as a test sees it.
struct NumberedGroup {
  uint64_t number = 0;
  Lsn start;
  Lsn end;
};

/// Makes a group of about `body_bytes` that carries `number`; its filler depends on the number.
inline void FillGroup(GroupBuilder* group, uint64_t number, size_t body_bytes = 100) {
  group->Clear();
  const size_t size = body_bytes + sizeof(number);
  std::byte* body = group->Add(RecordType::kPageBytes, {SpaceId(16), PageNumber(7)}, size);
  StoreLe<uint64_t>(body, number);
  std::memset(body + sizeof(number), static_cast<int>(number * 31 % 251), body_bytes);
}

inline uint64_t NumberOfGroup(Bytes bytes) {
  GroupParser parser(bytes);
  RecordView record;
  Status status;
  if (!parser.Next(&record, &status) || record.body.size() < sizeof(uint64_t)) {
    ADD_FAILURE() << "a group without its number: " << status.message();
    return 0;
  }
  return LoadLe<uint64_t>(record.body.data());
}

class LogFixture {
 public:
  LogFixture(FileSystem* file_system, std::string folder)
      : file_system_(file_system), folder_(std::move(folder)) {
    options.capacity_bytes = uint64_t{1} << 20;
    options.buffer_bytes = uint64_t{64} << 10;
    options.sync_method = LogSyncMethod::kFdatasync;
  }

  /// Reads the log (into `found`), then opens it at its end.
  Status Start() {
    found.clear();
    Status status = OpenControl();
    if (status.ok()) status = Read();
    if (!status.ok()) return status;
    Result<std::unique_ptr<Log>> opened = Log::Open(file_system_, options, control.get(), end);
    if (!opened.ok()) return opened.status();
    log = std::move(opened).value();
    return status;
  }

  Status OpenControl() {
    Vanish();  // the file is locked for as long as it is open
    Result<std::unique_ptr<ControlFile>> opened = ControlFile::Open(file_system_, folder_);
    if (opened.status().Is(Code::kNotFound)) {
      opened = ControlFile::Create(file_system_, folder_, {});
    }
    if (opened.ok()) control = std::move(opened).value();
    return opened.status();
  }

  Status Read() {
    const ControlData data = control->data();
    Result<std::unique_ptr<LogReader>> reader =
        LogReader::Open(file_system_, folder_, data, data.checkpoint_lsn);
    if (!reader.ok()) return reader.status();
    for (;;) {
      LogReader::Group group;
      const Status status = reader.value()->Next(&group);
      end = reader.value()->end();
      if (status.Is(Code::kEndOfRange)) return Status::Ok();
      if (!status.ok()) return status;
      found.push_back({NumberOfGroup(group.bytes), group.start, group.end});
    }
  }

  /// As if the process vanished: nothing is flushed.
  void Vanish() {
    log.reset();
    control.reset();
  }

  /// Reserves, appends, releases. kNoLsn when the log stopped.
  Lsn Append(uint64_t number, size_t body_bytes = 100) {
    GroupBuilder group;
    FillGroup(&group, number, body_bytes);
    const auto size_bytes = static_cast<uint32_t>(group.size_bytes());
    if (!log->ReserveOrWait(size_bytes).ok()) return kNoLsn;
    const Lsn group_end = log->Append(&group);
    log->Release(size_bytes);
    return group_end;
  }

  /// Everything below is no longer needed; durably so.
  Status Checkpoint(Lsn lsn) {
    const Status status = control->Update([lsn](ControlData& data) { data.checkpoint_lsn = lsn; });
    if (status.ok()) log->SetCheckpoint(lsn);
    return status;
  }

  [[nodiscard]] std::string LogPath(uint64_t number) const {
    char name[32];
    std::snprintf(name, sizeof(name), "/redo_%010llu", static_cast<unsigned long long>(number));
    return folder_ + name;
  }
  /// Where the byte of an LSN lies in its file.
  [[nodiscard]] uint64_t OffsetOf(Lsn lsn) const {
    return 4096 + lsn.value() % control->data().log_file_bytes;
  }
  [[nodiscard]] std::string PathOf(Lsn lsn) const {
    return LogPath(lsn.value() / control->data().log_file_bytes);
  }
  [[nodiscard]] const std::string& folder() const { return folder_; }

  LogOptions options;
  std::unique_ptr<ControlFile> control;
  std::unique_ptr<Log> log;
  std::vector<NumberedGroup> found;
  Lsn end;

 private:
  FileSystem* const file_system_;
  const std::string folder_;
};

}  // namespace rowan
