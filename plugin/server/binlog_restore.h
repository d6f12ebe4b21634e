// SPDX-License-Identifier: GPL-2.0-only
// At a start: brings the binary log file that the last run carried (server/binlog_carrier.h) to
// where it ends according to the redo log, before the server and ResolveInDoubt read it.
// Thread safety: plugin initialisation.
#pragma once

#include "base/status.h"

namespace rowan {

class CarriedFile;

/// EngineOptions::settle_carried. Errors are logged; nothing is lost by them.
Status RestoreBinlogTail(CarriedFile* file);

}  // namespace rowan
