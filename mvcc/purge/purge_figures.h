// SPDX-License-Identifier: GPL-2.0-only
// PurgeFigures: how far purge is behind, and why, for status variables and the error log. Plain
// data; the figures may belong to neighbouring moments.
#pragma once

#include <cstdint>

#include "mvcc/txn/oldest_snapshot.h"

namespace rowan {

struct PurgeFigures {
  uint64_t history_length = 0;   ///< committed transactions that purge has not reached
  uint64_t versions_kept = 0;    ///< their undo records, of this run
  uint64_t lag = 0;              ///< of these, those that nothing blocks
  uint64_t blocked = 0;          ///< of these, those that wait for unopenable or damaged objects
  uint32_t damaged_streams = 0;  ///< undo streams found damaged in this run
  uint32_t writer_delay_us = 0;  ///< for each page of undo that a transaction fills
  uint64_t writer_delays = 0;    ///< how often one waited
  OldestSnapshot oldest_snapshot;
};

}  // namespace rowan
