// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log_source.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace rowan {
namespace {

constexpr size_t kWindowBytesMin = size_t{1} << 20;
/// The end of a file of which nothing is known.
constexpr Lsn kEndUnknown{uint64_t{1} << 62};

const Status kMissing(Code::kNotFound, "it is missing");

}  // namespace

LogSource::LogSource(FileSystem* file_system, std::string folder, const InstanceId& instance_id)
    : file_system_(file_system),
      folder_(std::move(folder)),
      instance_id_(instance_id),
      window_(kWindowBytesMin) {}

Status LogSource::FindFiles() {
  const Result<std::vector<ListedLogFile>> files =
      ListLogFiles(file_system_, folder_, instance_id_);
  if (!files.ok()) return files.status();
  std::vector<ListedLogFile> damaged;  // since the last good one
  for (const ListedLogFile& file : files.value()) {
    if (file.status.ok() && AddGood(file, damaged)) {
      damaged.clear();
    } else {
      damaged.push_back(file);
      if (file.status.ok()) damaged.back().status = Status(Code::kCorrupt, "log file out of place");
    }
  }
  AddDamagedEnd(damaged);
  return Status::Ok();
}

bool LogSource::AddGood(const ListedLogFile& file,
                        const std::vector<ListedLogFile>& damaged_before) {
  const Lsn next = parts_.empty() ? kNoLsn : parts_.back().place.end;
  const LogFileHeader& header = file.header;
  const bool neighbours = !parts_.empty() && parts_.back().place.number + 1 == header.number;
  if (header.start < next || (neighbours && header.start != next)) return false;
  if (header.start > next) {
    // What lies between is in files that are missing or cannot be read: one represents all.
    const uint64_t number = parts_.empty() ? header.number - 1 : parts_.back().place.number + 1;
    Status status = kMissing;
    for (const ListedLogFile& damaged : damaged_before) {
      if (damaged.number == number) status = damaged.status;
    }
    parts_.push_back({{number, next, header.start}, status});
  }
  parts_.push_back({{header.number, header.start, header.end()}, Status::Ok()});
  return true;
}

void LogSource::AddDamagedEnd(const std::vector<ListedLogFile>& damaged) {
  for (const ListedLogFile& file : damaged) {
    if (parts_.empty()) {
      parts_.push_back({{file.number, kNoLsn, kEndUnknown}, file.status});
      return;
    }
    // As long as the one before, for lack of a better guess.
    const auto add = [this](uint64_t number, const Status& status) {
      const LogFilePlace last = parts_.back().place;
      parts_.push_back({{number, last.end, last.end + last.bytes()}, status});
    };
    const uint64_t next = parts_.back().place.number + 1;
    if (next < file.number) add(next, kMissing);
    add(file.number, file.status);
  }
}

LogSource::Part LogSource::PartOf(Lsn position) const {
  if (parts_.empty()) return {{0, kNoLsn, kEndUnknown}, kMissing};
  const auto found =
      std::upper_bound(parts_.begin(), parts_.end(), position,
                       [](Lsn wanted, const Part& part) { return wanted < part.place.end; });
  if (found != parts_.end()) return *found;
  const LogFilePlace last = parts_.back().place;
  const uint64_t skipped = (position - last.end) / last.bytes();
  const Lsn start = last.end + skipped * last.bytes();
  return {{last.number + 1 + skipped, start, start + last.bytes()}, kMissing};
}

std::string LogSource::PathOf(Lsn position) const {
  return folder_ + "/" + LogFileName(PlaceOf(position).number);
}

Status LogSource::CheckFileOf(Lsn position) { return OpenFileOf(position); }

Status LogSource::FindGap(Lsn position, std::string* missing) const {
  for (const Part& part : parts_) {
    if (part.place.end <= position || !part.status.Is(Code::kNotFound)) continue;
    *missing = folder_ + "/" + LogFileName(part.place.number);
    return Status(Code::kCorrupt, "a log file is missing");
  }
  return Status::Ok();
}

Status LogSource::OpenFileOf(Lsn position) {
  const Part part = PartOf(position);
  if (!part.status.ok()) return part.status;
  if (file_ != nullptr && file_number_ == part.place.number) return Status::Ok();
  file_.reset();
  Result<std::unique_ptr<File>> file = file_system_->Open(PathOf(position), {.read_only = true});
  if (!file.ok()) return file.status();
  file_ = std::move(file).value();
  file_number_ = part.place.number;
  return Status::Ok();
}

Status LogSource::View(Lsn position, size_t* size_bytes, Bytes* view) {
  const bool before = position < window_start_ || position > window_start_ + window_bytes_;
  if (before || window_start_ + window_bytes_ - position < *size_bytes) {
    const Status status = Fill(position, *size_bytes);
    if (!status.ok()) return status;
  }
  const size_t skip = position - window_start_;
  *view = Bytes(window_.data() + skip, window_bytes_ - skip);
  *size_bytes = std::min(*size_bytes, view->size());
  return Status::Ok();
}

Status LogSource::Fill(Lsn position, size_t size_bytes) {
  // Keeps what is valid already from `position` on.
  const bool inside = position >= window_start_ && position <= window_start_ + window_bytes_;
  const size_t kept = inside ? window_start_ + window_bytes_ - position : 0;
  if (kept > 0) std::memmove(window_.data(), window_.data() + (position - window_start_), kept);
  window_start_ = position;
  window_bytes_ = kept;
  if (size_bytes > window_.size()) Grow(size_bytes);
  while (window_bytes_ < window_.size()) {
    const Lsn next = window_start_ + window_bytes_;
    const Status opened = OpenFileOf(next);
    if (opened.Is(Code::kNotFound) || opened.Is(Code::kCorrupt)) break;
    if (!opened.ok()) return opened;
    const Lsn file_end = PlaceOf(next).end;
    const size_t chunk = std::min<uint64_t>(window_.size() - window_bytes_, file_end - next);
    const Status status =
        file_->Read(OffsetOf(next), MutableBytes(window_.data() + window_bytes_, chunk));
    if (!status.ok()) return status;
    window_bytes_ += chunk;
  }
  return Status::Ok();
}

void LogSource::Grow(size_t size_bytes) {
  AlignedBuffer larger(std::bit_ceil(size_bytes));
  std::memcpy(larger.data(), window_.data(), window_bytes_);
  window_ = std::move(larger);
}

}  // namespace rowan
