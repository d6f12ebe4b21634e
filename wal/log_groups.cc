// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log_groups.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assertions.h"
#include "base/logging.h"
#include "wal/group.h"
#include "wal/log_source.h"

namespace rowan {
namespace {

/// Read size when nothing nearby is wanted: most groups are smaller.
constexpr size_t kReadBytesMin = 512;
/// Unwanted bytes between groups that are read all the same: a separate call costs as much.
constexpr size_t kGapBytesMax = 2048;
constexpr size_t kReadBytesMax = size_t{256} << 10;

}  // namespace

/// The bytes read last.
class LogGroups::Window {
 public:
  /// From `position` on; empty if it lies outside.
  [[nodiscard]] Bytes View(Lsn position) const {
    if (position < start_ || position >= start_ + used_) return {};
    const size_t skip = position - start_;
    return {bytes_.get() + skip, used_ - skip};
  }
  void Reset(Lsn position, size_t size_bytes) {
    if (size_bytes > size_) {
      size_ = std::max(size_bytes, 2 * size_);
      bytes_ = std::make_unique_for_overwrite<std::byte[]>(size_);
    }
    start_ = position;
    used_ = 0;
  }
  MutableBytes Extend(size_t size_bytes) {
    used_ += size_bytes;
    return {bytes_.get() + used_ - size_bytes, size_bytes};
  }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  size_t size_ = 0;
  Lsn start_;
  size_t used_ = 0;
};

Result<std::unique_ptr<LogGroups>> LogGroups::Open(FileSystem* file_system,
                                                   const std::string& folder,
                                                   const ControlData& control, LogRange range) {
  std::unique_ptr<LogGroups> groups(new LogGroups(control, range));
  LogSource source(file_system, folder, control.instance_id);
  const Status status = source.FindFiles();
  if (!status.ok()) return status;
  for (Lsn position = range.begin; position < range.end;) {
    const Status readable = source.CheckFileOf(position);
    if (!readable.ok()) return readable;
    Result<std::unique_ptr<File>> file =
        file_system->Open(source.PathOf(position), {.read_only = true});
    if (!file.ok()) return file.status();
    groups->parts_.push_back({source.PlaceOf(position), std::move(file).value()});
    position = groups->parts_.back().place.end;
  }
  return groups;
}

Status LogGroups::Visit(std::span<const Wanted> wanted, const Visitor& visitor) const {
  Window window;
  while (!wanted.empty()) {
    size_t same = 1;
    while (same < wanted.size() && wanted[same].distance() == wanted[0].distance()) ++same;
    const Lsn start = StartOf(wanted[0]);
    const Result<Bytes> group = Check(wanted, &window);
    if (!group.ok()) return Fail(start, group.status());
    const Lsn end = start + group.value().size();
    const Status status = visitor(wanted.first(same), {start, end, group.value()});
    if (!status.ok()) return status;
    wanted = wanted.subspan(same);
  }
  return Status::Ok();
}

size_t LogGroups::ReadBytes(std::span<const Wanted> wanted, size_t group_bytes) const {
  const Lsn first = StartOf(wanted.front());
  Lsn end = first + std::max(group_bytes, kReadBytesMin);
  for (const Wanted one : wanted.subspan(1)) {
    const Lsn next = StartOf(one);
    if (next > end + kGapBytesMax || next + kReadBytesMin > first + kReadBytesMax) break;
    end = std::max(end, next + kReadBytesMin);
  }
  return std::min(end, range_.end) - first;
}

Result<Bytes> LogGroups::Check(std::span<const Wanted> wanted, Window* window) const {
  const Lsn start = StartOf(wanted.front());
  for (size_t read = 0;;) {
    const Bytes view = window->View(start);
    uint32_t length = 0;
    const GroupCheck check = CheckGroup(view, start, EpochMin(start), &length);
    if (check == GroupCheck::kGood && LoadGroupHeader(view).epoch <= control_.epoch) {
      return view.first(length);
    }
    if (check != GroupCheck::kNeedMore || length > control_.log_buffer_bytes || length <= read ||
        length > range_.end - start) {
      return Status(Code::kCorrupt, "what it held is not there any more");
    }
    read = ReadBytes(wanted, length);
    const Status status = Fill(start, read, window);
    if (!status.ok()) return status;
  }
}

Status LogGroups::Fill(Lsn position, size_t size_bytes, Window* window) const {
  window->Reset(position, size_bytes);
  const Lsn end = position + size_bytes;
  while (position < end) {
    const Part& part = PartOf(position);
    const Lsn part_end = std::min(end, part.place.end);
    const Status status =
        part.file->Read(part.place.OffsetOf(position), window->Extend(part_end - position));
    if (!status.ok()) return status;
    position = part_end;
  }
  return Status::Ok();
}

const LogGroups::Part& LogGroups::PartOf(Lsn position) const {
  const auto found =
      std::upper_bound(parts_.begin(), parts_.end(), position,
                       [](Lsn wanted, const Part& part) { return wanted < part.place.end; });
  ROWAN_CHECK(found != parts_.end());
  return *found;
}

Status LogGroups::Fail(Lsn start, const Status& status) const {
  const Part& part = PartOf(start);
  LogError(
      "Redo log file '{}' cannot be read again at offset {} (LSN {}), where changes are that "
      "pages still lack: {} (error {}). No page is given up for it, and the log is kept: once "
      "the file can be read, the next start goes on.",
      part.file->path(), part.place.OffsetOf(start), start.value(), status.message(),
      status.detail());
  return Status(Code::kStopped, "the redo log could not be read again");
}

}  // namespace rowan
