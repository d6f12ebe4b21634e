// SPDX-License-Identifier: GPL-2.0-only
// At a bad group the log either ends or is damaged. The difference: had the log been durable beyond
// that place, every group appended afterwards would say so in its durable mark. What is appended
// and not yet durable never exceeds the log buffer, so the first group appended after the bad one
// became durable starts within a buffer's length of it: that stretch is searched byte by byte.
#include "wal/log_reader.h"

#include <algorithm>
#include <utility>

#include "base/logging.h"
#include "wal/group.h"
#include "wal/log.h"
#include "wal/log_source.h"

namespace rowan {
namespace {

/// Bytes examined at a time while searching.
constexpr size_t kSearchChunkBytes = size_t{512} << 10;

}  // namespace

LogReader::LogReader(FileSystem* file_system, const std::string& folder, const ControlData& control,
                     Lsn start)
    : control_(control), source_(file_system, folder, control.instance_id), end_(start) {}

Result<std::unique_ptr<LogReader>> LogReader::Open(FileSystem* file_system,
                                                   const std::string& folder,
                                                   const ControlData& control, Lsn start) {
  start = std::max(start, Log::kFirstLsn);
  std::unique_ptr<LogReader> reader(new LogReader(file_system, folder, control, start));
  if (control.log_file_bytes == 0) {
    // The instance was created, but its log never was.
    reader->finished_ = true;
    reader->verdict_ = Status(Code::kEndOfRange);
    return reader;
  }
  LogSource* const source = &reader->source_;
  Status status = source->FindFiles();
  if (!status.ok()) return status;
  // On the edge of two files either one does: the one before may be recycled by now, or not have
  // been copied, and the next one is missing when nothing was appended.
  if (source->CheckFileOf(start).ok()) return reader;
  const Lsn last = start - 1;
  status = source->CheckFileOf(last);
  if (!status.ok()) {
    LogError("Redo log file '{}' is needed for recovery from LSN {}: {}", source->PathOf(last),
             start.value(), status.message());
    return status.Is(Code::kNotFound) ? Status(Code::kCorrupt, "a log file is missing") : status;
  }
  return reader;
}

uint32_t LogReader::EpochMin() const {
  return end_ >= control_.run_start_lsn ? std::max(epoch_last_, control_.run_epoch) : epoch_last_;
}

Status LogReader::Next(Group* group) {
  while (!finished_) {
    const Status status = ReadGroup(group);
    if (!status.ok()) return status;
    // A group without records is a durable mark and nothing to redo.
    if (!finished_ && LoadGroupHeader(group->bytes).record_count > 0) return status;
  }
  return verdict_;
}

Status LogReader::ReadGroup(Group* group) {
  Bytes bytes;
  Status status;
  if (Check(end_, &bytes, &status) == GroupCheck::kGood) {
    epoch_last_ = LoadGroupHeader(bytes).epoch;
    *group = {end_, end_ + bytes.size(), bytes};
    end_ += bytes.size();
    return status;
  }
  if (!status.ok()) return status;
  verdict_ = CheckEnd();
  finished_ = true;
  return Status::Ok();
}

GroupCheck LogReader::Check(Lsn position, Bytes* group, Status* status) {
  size_t wanted = kGroupHeaderBytes;
  for (;;) {
    size_t available = wanted;
    Bytes view;
    *status = source_.View(position, &available, &view);
    if (!status->ok() || available < wanted) return GroupCheck::kBad;
    uint32_t length = 0;
    const GroupCheck check = CheckGroup(view, position, EpochMin(), &length);
    if (check == GroupCheck::kGood) {
      *group = view.first(length);
      if (LoadGroupHeader(view).epoch <= control_.epoch) return check;
      if (newer_run_ == kNoLsn) newer_run_ = position;
      return GroupCheck::kBad;
    }
    // No group is larger than the log buffer that it went through.
    if (check == GroupCheck::kBad || length > control_.log_buffer_bytes) return GroupCheck::kBad;
    wanted = length;
  }
}

Status LogReader::CheckEnd() {
  // One file more, in case a whole file cannot be read.
  const Lsn stop = end_ + control_.log_buffer_bytes + source_.PlaceOf(end_).bytes();
  Lsn found;
  Lsn from = end_;
  while (from < stop && found == kNoLsn) {
    const Lsn part_end = std::min(stop, source_.PlaceOf(from).end);
    const Status readable = source_.CheckFileOf(from);
    if (readable.ok()) {
      const Status status = SearchMark(std::max(from, end_ + 1), part_end, &found);
      if (!status.ok()) return status;
    } else if (readable.Is(Code::kCorrupt)) {
      // A file gets its name when its header is durable, so a crash does not explain this, and what
      // it held is unknown.
      LogError("Redo log file '{}' is damaged: {}", source_.PathOf(from), readable.message());
      return readable;
    } else if (!readable.Is(Code::kNotFound)) {
      return readable;
    }
    from = part_end;
  }
  if (found == kNoLsn) return CheckNothingIsMissing();
  LogError(
      "The redo log is damaged at LSN {} (file '{}', offset {}): a later group, at LSN {}, "
      "proves that the log was durable beyond it",
      end_.value(), source_.PathOf(end_), source_.OffsetOf(end_), found.value());
  return Status(Code::kCorrupt, "the redo log is damaged");
}

Status LogReader::CheckNothingIsMissing() {
  if (newer_run_ != kNoLsn) {
    // The epoch is raised in the control file, durably, before the first group of a run.
    LogError(
        "The control file is older than the redo log: file '{}' has at LSN {} a group of a "
        "later run than any it knows. Its newest slot was lost, or it was restored from an "
        "older copy. Nothing was changed.",
        source_.PathOf(newer_run_), newer_run_.value());
    return Status(Code::kCorrupt, "the control file is older than the redo log");
  }
  if (end_ < control_.log_durable_lsn) {
    LogError(
        "The redo log ends at LSN {} (file '{}', offset {}), but it was durable at least up "
        "to LSN {}: its end is missing. Nothing was changed.",
        end_.value(), source_.PathOf(end_), source_.OffsetOf(end_),
        control_.log_durable_lsn.value());
    return Status(Code::kCorrupt, "the redo log lost its end");
  }
  std::string missing;
  const Status status = source_.FindGap(end_ - 1, &missing);
  if (status.ok()) return Status(Code::kEndOfRange);
  if (!status.Is(Code::kCorrupt)) return status;
  // Names are made durable one after the other, so a crash leaves no gap.
  LogError("Redo log file '{}' is missing, although later ones are there. Nothing was changed.",
           missing);
  return status;
}

Status LogReader::SearchMark(Lsn from, Lsn to, Lsn* found) {
  // Headers may reach beyond the chunk.
  constexpr size_t kOverlap = kGroupHeaderBytes - 1;
  for (Lsn position = from; position < to;) {
    const size_t starts = std::min<uint64_t>(kSearchChunkBytes, to - position);
    size_t available = starts + kOverlap;
    Bytes view;
    Status status = source_.View(position, &available, &view);
    if (!status.ok()) return status;
    size_t at = 0;
    while (at < starts && at + kGroupHeaderBytes <= available &&
           !MayProveDamage(position + at, view.subspan(at))) {
      ++at;
    }
    if (at == starts) {
      position += starts;
      continue;
    }
    if (at + kGroupHeaderBytes > available) break;  // the files end here
    position += at + 1;
    Bytes group;
    if (Check(position - 1, &group, &status) == GroupCheck::kGood) {
      *found = position - 1;
      return status;
    }
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

bool LogReader::MayProveDamage(Lsn position, Bytes bytes) const {
  // The epoch excludes what an earlier run left after its own torn tail.
  const GroupHeader header = LoadGroupHeader(bytes);
  return header.epoch >= EpochMin() && header.durable_mark > end_ &&
         header.durable_mark <= position && header.length >= kGroupHeaderBytes &&
         header.length <= control_.log_buffer_bytes;
}

}  // namespace rowan
