// SPDX-License-Identifier: GPL-2.0-only
// Error values. Three kinds, never mixed:
//   expected outcome   kNotFound, kDuplicate, kRestart, kLockWait ...: a return code, costs nothing
//   environment failure kIoError, kNoSpace, kCorrupt, kStopped ...: a return code; the site that
//                       detects it has already logged the sentence with file and page
//   broken invariant   never a Status: ROWAN_CHECK (base/assertions.h)
// A Status is 16 bytes, trivially copyable and travels in registers.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/assertions.h"

namespace rowan {

enum class Code : uint32_t {
  kOk = 0,
  // Expected outcomes.
  kNotFound,          ///< no such key, row, table or file
  kDuplicate,         ///< unique key exists; detail = number of the index in its table
  kEndOfRange,        ///< cursor ran past the last entry
  kRestart,           ///< optimistic read failed validation; only retry loops see it
  kNoRoom,            ///< entry does not fit the page; make room and retry
  kLockWait,          ///< lock conflict found under a latch: release latches, wait, retry
  kLockTimeout,       ///< waited longer than the session's lock wait time-out
  kLockNotAvailable,  ///< NOWAIT and the lock is taken
  kDeadlock,          ///< this transaction was chosen as the victim and must be rolled back
  kInterrupted,       ///< the session was killed
  kSkipped,           ///< SKIP LOCKED: the row is locked by another transaction
  kTooBig,            ///< row, key or undo record larger than the page size permits
  kLockTableFull,     ///< lock memory cap reached
  kTableChanged,      ///< the table was redefined after the snapshot was taken
  kUnsupported,       ///< refused by design; message says what
  kInvalidArgument,   ///< bad option or request; message says what
  kBusy,              ///< try again later
  // Environment failures.
  kIoError,  ///< detail = errno
  kNoSpace,  ///< disk or tablespace full
  kOutOfMemory,
  kCorrupt,      ///< checksum, identity, version or structure is wrong; detail = page number
  kNewerFormat,  ///< written by a newer version of Rowan
  kStopped,      ///< the engine was stopped by a failed write or sync of log or data
  kReadOnly,
};

/// Short lower-case name of a code, for logs and tests. Never null.
const char* CodeName(Code code);

class [[nodiscard]] Status {
 public:
  constexpr Status() = default;
  /// `message` must have static storage; nullptr means "the code says it all".
  constexpr explicit Status(Code code, const char* message = nullptr, uint32_t detail = 0)
      : code_(code), detail_(detail), message_(message) {}

  [[nodiscard]] static constexpr Status Ok() { return Status(); }
  [[nodiscard]] constexpr bool ok() const { return code_ == Code::kOk; }
  [[nodiscard]] constexpr Code code() const { return code_; }
  [[nodiscard]] constexpr uint32_t detail() const { return detail_; }
  [[nodiscard]] const char* message() const { return message_ ? message_ : CodeName(code_); }
  [[nodiscard]] constexpr bool Is(Code code) const { return code_ == code; }
  /// The caller has decided that a failure does not matter; a comment says why.
  constexpr void Ignore() const {}

 private:
  Code code_ = Code::kOk;
  uint32_t detail_ = 0;
  const char* message_ = nullptr;
};
static_assert(sizeof(Status) == 16 && std::is_trivially_copyable_v<Status>);

/// For steps that are all taken even if some fail: `*first` becomes `next` unless it already holds
/// a failure.
constexpr void KeepFirst(Status* first, Status next) {
  if (first->ok()) *first = next;
}

/// A value or the Status that explains its absence. A Status passed in must not be Ok.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit by intent
  Result(Status status) : status_(status) { ROWAN_CHECK(!status.ok()); }  // NOLINT

  [[nodiscard]] bool ok() const { return status_.ok(); }
  [[nodiscard]] Status status() const { return status_; }
  [[nodiscard]] T& value() & {
    ROWAN_CHECK(value_.has_value());
    return *value_;
  }
  [[nodiscard]] const T& value() const& {
    ROWAN_CHECK(value_.has_value());
    return *value_;
  }
  /// By value, so that a range-for over a temporary's value does not dangle.
  [[nodiscard]] T value() && {
    ROWAN_CHECK(value_.has_value());
    return std::move(*value_);
  }
  T* operator->() { return &value(); }
  T& operator*() & { return value(); }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace rowan
