// SPDX-License-Identifier: GPL-2.0-only
// Where a group is bad, the log ends there or is damaged there. The difference: had the log been
// durable beyond that place, every group appended afterwards says so in its durable mark. What was
// appended and not yet durable never exceeds the log buffer, so the next group after the bad one
// became durable starts within a buffer's length behind it: that stretch is searched, byte by byte.
#include "wal/log_reader.h"

#include <algorithm>
#include <utility>

#include "base/logging.h"
#include "wal/group.h"
#include "wal/log.h"
#include "wal/log_source.h"

namespace rowan {
namespace {

/// Bytes looked at in one go while searching.
constexpr size_t kSearchChunkBytes = size_t{512} << 10;

}  // namespace

struct LogReader::Impl {
  Impl(FileSystem* file_system, const std::string& folder, const ControlData& control_in, Lsn start)
      : control(control_in),
        source(file_system, folder, control_in.instance_id),
        end(start.value()) {}

  /// No good group at the end read so far has a smaller epoch. Behind the place where the last run
  /// began to append lies what earlier runs left of their torn tails, whole groups among it, and
  /// nothing but the epoch tells them from what that run appended.
  [[nodiscard]] uint32_t EpochMin() const {
    return end >= control.run_start_lsn.value() ? std::max(epoch_last, control.run_epoch)
                                                : epoch_last;
  }
  Status ReadGroup(Group* group);
  GroupCheck Check(uint64_t position, uint32_t epoch_min, Bytes* group, Status* status);
  Status JudgeEnd();
  /// Once no later group proves damage: kEndOfRange, or kCorrupt when the log was longer once.
  Status CheckNothingIsMissing();
  Status SearchMark(uint64_t from, uint64_t to, uint64_t* found);
  [[nodiscard]] bool MayProveDamage(uint64_t position, Bytes bytes) const;

  const ControlData control;
  LogSource source;
  uint64_t end;             // behind the last good group
  uint32_t epoch_last = 0;  // of the last good group
  uint64_t newer_run = 0;   // where a group has an epoch that the control file never heard of
  bool finished = false;
  Status verdict;  // once finished
};

LogReader::LogReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LogReader::~LogReader() = default;

Result<std::unique_ptr<LogReader>> LogReader::Open(FileSystem* file_system,
                                                   const std::string& folder,
                                                   const ControlData& control, Lsn start) {
  start = std::max(start, Log::kFirstLsn);
  auto impl = std::make_unique<Impl>(file_system, folder, control, start);
  if (control.log_file_bytes == 0) {
    // The instance was created, its log never was.
    impl->finished = true;
    impl->verdict = Status(Code::kEndOfRange);
    return std::unique_ptr<LogReader>(new LogReader(std::move(impl)));
  }
  Status status = impl->source.FindFiles();
  if (!status.ok()) return status;
  // The file behind the last byte that must be there may be missing: then nothing was appended.
  status = impl->source.CheckFileOf(start.value() - 1);
  if (!status.ok()) {
    LogError("Redo log file '{}' is needed for recovery from LSN {}: {}",
             impl->source.PathOf(start.value() - 1), start.value(), status.message());
    return status.Is(Code::kNotFound) ? Status(Code::kCorrupt, "a log file is missing") : status;
  }
  return std::unique_ptr<LogReader>(new LogReader(std::move(impl)));
}

Lsn LogReader::end() const { return Lsn(impl_->end); }

Status LogReader::Next(Group* group) {
  while (!impl_->finished) {
    const Status status = impl_->ReadGroup(group);
    if (!status.ok()) return status;
    // A group without records is a durable mark and nothing to redo.
    if (!impl_->finished && LoadGroupHeader(group->bytes).record_count > 0) return status;
  }
  return impl_->verdict;
}

Status LogReader::Impl::ReadGroup(Group* group) {
  Bytes bytes;
  Status status;
  if (Check(end, EpochMin(), &bytes, &status) == GroupCheck::kGood) {
    epoch_last = LoadGroupHeader(bytes).epoch;
    *group = {Lsn(end), Lsn(end + bytes.size()), bytes};
    end += bytes.size();
    return status;
  }
  if (!status.ok()) return status;
  verdict = JudgeEnd();
  finished = true;
  return Status::Ok();
}

GroupCheck LogReader::Impl::Check(uint64_t position, uint32_t least_epoch, Bytes* group,
                                  Status* status) {
  size_t wanted = kGroupHeaderBytes;
  for (;;) {
    size_t available = wanted;
    Bytes view;
    *status = source.View(position, &available, &view);
    if (!status->ok() || available < wanted) return GroupCheck::kBad;
    uint32_t length = 0;
    const GroupCheck check = CheckGroup(view, Lsn(position), least_epoch, &length);
    if (check == GroupCheck::kGood) {
      *group = view.first(length);
      if (LoadGroupHeader(view).epoch <= control.epoch) return check;
      if (newer_run == 0) newer_run = position;
      return GroupCheck::kBad;
    }
    // No group is larger than the log buffer that it went through.
    if (check == GroupCheck::kBad || length > control.log_buffer_bytes) return GroupCheck::kBad;
    wanted = length;
  }
}

Status LogReader::Impl::JudgeEnd() {
  // One file more, in case that it is a file as a whole that cannot be read.
  const uint64_t stop = end + control.log_buffer_bytes + source.PlaceOf(end).bytes();
  uint64_t found = 0;
  uint64_t from = end;
  while (from < stop && found == 0) {
    const uint64_t part_end = std::min(stop, source.PlaceOf(from).end);
    const Status readable = source.CheckFileOf(from);
    if (readable.ok()) {
      const Status status = SearchMark(std::max(from, end + 1), part_end, &found);
      if (!status.ok()) return status;
    } else if (readable.Is(Code::kCorrupt)) {
      // A file gets its name when its header is durable, so this is no trace of a crash, and what
      // was in it cannot be told.
      LogError("Redo log file '{}' is damaged: {}", source.PathOf(from), readable.message());
      return readable;
    } else if (!readable.Is(Code::kNotFound)) {
      return readable;
    }
    from = part_end;
  }
  if (found == 0) return CheckNothingIsMissing();
  LogError(
      "The redo log is damaged at LSN {} (file '{}', offset {}): a later group, at LSN {}, "
      "proves that the log was durable beyond it",
      end, source.PathOf(end), source.OffsetOf(end), found);
  return Status(Code::kCorrupt, "the redo log is damaged");
}

Status LogReader::Impl::CheckNothingIsMissing() {
  if (newer_run != 0) {
    // The epoch is raised in the control file, durably, before the first group of a run.
    LogError(
        "The control file is older than the redo log: file '{}' has at LSN {} a group of a "
        "later run than any it knows. Its newest slot was lost, or it was restored from an "
        "older copy. Nothing was changed.",
        source.PathOf(newer_run), newer_run);
    return Status(Code::kCorrupt, "the control file is older than the redo log");
  }
  if (end < control.log_durable_lsn.value()) {
    LogError(
        "The redo log ends at LSN {} (file '{}', offset {}), but it was durable at least up "
        "to LSN {}: its end is missing. Nothing was changed.",
        end, source.PathOf(end), source.OffsetOf(end), control.log_durable_lsn.value());
    return Status(Code::kCorrupt, "the redo log lost its end");
  }
  std::string missing;
  const Status status = source.FindGap(end - 1, &missing);
  if (status.ok()) return Status(Code::kEndOfRange);
  if (!status.Is(Code::kCorrupt)) return status;
  // Names are made durable one after the other, so a crash leaves no gap.
  LogError("Redo log file '{}' is missing, although later ones are there. Nothing was changed.",
           missing);
  return status;
}

Status LogReader::Impl::SearchMark(uint64_t from, uint64_t to, uint64_t* found) {
  // Headers may reach beyond the chunk.
  constexpr size_t kOverlap = kGroupHeaderBytes - 1;
  for (uint64_t position = from; position < to;) {
    const size_t starts = std::min<uint64_t>(kSearchChunkBytes, to - position);
    size_t available = starts + kOverlap;
    Bytes view;
    Status status = source.View(position, &available, &view);
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
    if (Check(position - 1, EpochMin(), &group, &status) == GroupCheck::kGood) {
      *found = position - 1;
      return status;
    }
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

bool LogReader::Impl::MayProveDamage(uint64_t position, Bytes bytes) const {
  // The epoch keeps out what an earlier run left behind its own torn tail.
  const GroupHeader header = LoadGroupHeader(bytes);
  return header.epoch >= EpochMin() && header.durable_mark.value() > end &&
         header.durable_mark.value() <= position && header.length >= kGroupHeaderBytes &&
         header.length <= control.log_buffer_bytes;
}

}  // namespace rowan
