// SPDX-License-Identifier: GPL-2.0-only
// LogGroups: groups of the log by where they start, for redo that comes back to what LogReader
// found in its scan. Each is checked again: one that was good and no longer is shows a failure of
// the disk and says nothing about the pages it is for.
// Invariant: the files must not change while it is used, which holds as long as no checkpoint
// beyond the groups is published. They stay open until then. Thread safety: all members.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/assertions.h"
#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "io/file.h"
#include "wal/control_file.h"
#include "wal/log_file_map.h"
#include "wal/log_reader.h"

namespace rowan {

/// A part of the log.
struct LogRange {
  Lsn begin;
  Lsn end;
};

class LogGroups {
 public:
  /// For the groups in [begin, end), as LogReader found them. `control`: as it was then. kNotFound,
  /// kCorrupt: a file is gone, or is a different one.
  static Result<std::unique_ptr<LogGroups>> Open(FileSystem* file_system, const std::string& folder,
                                                 const ControlData& control, LogRange range);

  /// A group and its purpose: a number whose meaning only the caller knows.
  struct Wanted {
    static constexpr uint32_t kPurposeBits = 23;
    uint64_t packed = 0;  ///< distance from the start of the range, then the purpose

    [[nodiscard]] uint64_t distance() const { return packed >> kPurposeBits; }
    [[nodiscard]] uint32_t purpose() const {
      return static_cast<uint32_t>(packed & ((1U << kPurposeBits) - 1));
    }
    auto operator<=>(const Wanted&) const = default;
  };
  /// REQUIRES: within the range.
  [[nodiscard]] Wanted Want(Lsn group_start, uint32_t purpose) const {
    ROWAN_DCHECK(group_start >= range_.begin && group_start < range_.end);
    return {(group_start - range_.begin) << Wanted::kPurposeBits | purpose};
  }
  /// Called with everything wanted of a group, whose bytes are valid during the call.
  using Visitor =
      std::function<Status(std::span<const Wanted> wanted, const LogReader::Group& group)>;
  /// Reads each wanted group once, neighbours together; `wanted` is sorted. kStopped: one could not
  /// be read or has changed, which is logged; otherwise the visitor's first failure.
  Status Visit(std::span<const Wanted> wanted, const Visitor& visitor) const;

 private:
  class Window;
  struct Part {
    LogFilePlace place;
    std::unique_ptr<File> file;
  };
  LogGroups(const ControlData& control, LogRange range) : control_(control), range_(range) {}
  [[nodiscard]] uint32_t EpochMin(Lsn start) const {
    return start >= control_.run_start_lsn ? control_.run_epoch : 0;
  }
  [[nodiscard]] Lsn StartOf(Wanted wanted) const { return range_.begin + wanted.distance(); }
  [[nodiscard]] size_t ReadBytes(std::span<const Wanted> wanted, size_t group_bytes) const;
  Result<Bytes> Check(std::span<const Wanted> wanted, Window* window) const;
  Status Fill(Lsn position, size_t size_bytes, Window* window) const;
  [[nodiscard]] const Part& PartOf(Lsn position) const;
  Status Fail(Lsn start, const Status& status) const;

  const ControlData control_;
  const LogRange range_;
  std::vector<Part> parts_;  ///< in order; constant once open
};

}  // namespace rowan
