// SPDX-License-Identifier: GPL-2.0-only
#include "storage/backup_log_scan.h"

#include <algorithm>
#include <memory>

#include "base/logging.h"
#include "wal/group.h"
#include "wal/log_read_ahead.h"
#include "wal/log_reader.h"
#include "wal/redo.h"

namespace rowan {

Status BackupLogScan::Run(FileSystem* file_system, const std::string& folder,
                          const ControlData& control, Lsn end, FunctionRef<bool()> interrupted) {
  std::sort(expected_.begin(), expected_.end(),
            [](const Expected& left, const Expected& right) { return left.page < right.page; });
  Result<std::unique_ptr<LogReader>> reader =
      LogReader::Open(file_system, folder, control, control.checkpoint_lsn);
  if (!reader.ok()) return reader.status();
  LogReadAhead ahead(reader->get());
  LogReader::Group group;
  Status status;
  while ((status = ahead.Next(&group)).ok()) {
    if (interrupted && interrupted()) {
      return Status(Code::kInterrupted, "the backup was interrupted");
    }
    GroupParser parser(group.bytes);
    RecordView record;
    while (parser.Next(&record, &status)) {
      const RedoEntry* entry = FindRedo(record.type, record.version);
      if (entry == nullptr) {
        LogError("The redo log in '{}' has a record of an unknown type at LSN {}.", folder,
                 group.start.value());
        return Status(Code::kCorrupt, "the backup's redo log has a record of an unknown type");
      }
      if (record.type == RecordType::kSpaceDropped) dropped_.insert(record.page.space);
      Note(record.page, entry->initialises_page);
    }
    if (!status.ok()) return status;
  }
  if (!status.Is(Code::kEndOfRange)) return status;
  if ((*reader)->end() == end) return Status::Ok();
  LogError("The redo log in '{}' ends at LSN {} and not at {}.", folder, (*reader)->end().value(),
           end.value());
  return Status(Code::kCorrupt, "the backup's redo log does not end where it should");
}

void BackupLogScan::Note(PageId page, bool begins_page) {
  changed_.insert(page.space);
  if (expected_.empty()) return;
  const auto found =
      std::lower_bound(expected_.begin(), expected_.end(), page.Packed(),
                       [](const Expected& one, uint64_t wanted) { return one.page < wanted; });
  if (found == expected_.end() || found->page != page.Packed()) return;
  found->begun = found->begun || begins_page;
  found->right = found->begun;
}

std::vector<SpaceId> BackupLogScan::Changed() const {
  std::vector<SpaceId> spaces;
  for (const SpaceId space : changed_) {
    if (!dropped_.contains(space)) spaces.push_back(space);
  }
  return spaces;
}

std::vector<PageId> BackupLogScan::NeverBegun() const {
  std::vector<PageId> pages;
  for (const Expected& one : expected_) {
    const PageId page = PageId::Unpack(one.page);
    if (!one.right && !dropped_.contains(page.space)) pages.push_back(page);
  }
  return pages;
}

}  // namespace rowan
