// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log_options.h"

#include "wal/log_latency.h"

namespace rowan {

const char* LogSyncMethodName(LogSyncMethod method) {
  switch (method) {
    case LogSyncMethod::kAuto: return "auto";
    case LogSyncMethod::kFsync: return "fsync";
    case LogSyncMethod::kFdatasync: return "fdatasync";
    case LogSyncMethod::kDsync: return "dsync";
    case LogSyncMethod::kDirectDsync: return "direct_dsync";
    case LogSyncMethod::kUring: return "uring";
  }
  return "unknown";
}

const char* LogPhaseName(LogPhase phase) {
  switch (phase) {
    case LogPhase::kWrite: return "write";
    case LogPhase::kSync: return "sync";
    case LogPhase::kCommit: return "commit";
  }
  return "unknown";
}

}  // namespace rowan
