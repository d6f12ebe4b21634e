// SPDX-License-Identifier: GPL-2.0-only
#include "base/status.h"

namespace rowan {

const char* CodeName(Code code) {
  switch (code) {
    case Code::kOk: return "ok";
    case Code::kNotFound: return "not found";
    case Code::kDuplicate: return "duplicate key";
    case Code::kEndOfRange: return "end of range";
    case Code::kRestart: return "restart";
    case Code::kNoRoom: return "no room on the page";
    case Code::kLockWait: return "lock wait";
    case Code::kLockTimeout: return "lock wait time-out";
    case Code::kLockNotAvailable: return "lock not available";
    case Code::kDeadlock: return "deadlock";
    case Code::kInterrupted: return "interrupted";
    case Code::kSkipped: return "skipped";
    case Code::kTooBig: return "too big";
    case Code::kLockTableFull: return "lock table full";
    case Code::kTableChanged: return "table definition changed";
    case Code::kUnsupported: return "unsupported";
    case Code::kInvalidArgument: return "invalid argument";
    case Code::kBusy: return "busy";
    case Code::kIoError: return "I/O error";
    case Code::kNoSpace: return "no space";
    case Code::kOutOfMemory: return "out of memory";
    case Code::kCorrupt: return "corrupt";
    case Code::kNewerFormat: return "newer format";
    case Code::kStopped: return "engine stopped";
    case Code::kReadOnly: return "read only";
  }
  return "unknown code";
}

}  // namespace rowan
