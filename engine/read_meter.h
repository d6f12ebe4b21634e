// SPDX-License-Identifier: GPL-2.0-only
// ReadMeter: how much reads look at compared with what they hand out, of one session. Cursors count
// in plain members of their own; what they counted is added here, and to the counters of the
// engine, when the statement is through with the table.
//
// Examined: entries and rows whose place in an index the statement came to, the row of an entry
// included; bytes are those of the keys and values that were taken from the page. Returned: rows
// handed to the server, with their stored bytes. Two parts of what was examined are told apart:
// what was copied along with its neighbours on the leaf and never asked for (co-located), and rows
// that had to be read although the index was expected to do (index-only fallback).
// Thread safety: one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/counter_batch.h"

namespace rowan {

/// What a statement is, as far as the meter tells. The last one that applies.
enum class StatementKind : uint8_t {
  kSingleTable,
  kJoin,         ///< names more than one table
  kAggregation,  ///< groups, aggregates, or removes repeats
  kCount
};

struct ReadAmount {
  uint64_t entries = 0;
  uint64_t bytes = 0;

  ReadAmount& operator+=(const ReadAmount& other) {
    entries += other.entries;
    bytes += other.bytes;
    return *this;
  }
};

/// What one statement, whose kind is known, read.
struct StatementReads {
  ReadAmount examined;
  ReadAmount returned;
  ReadAmount co_located;
  ReadAmount index_only_fallback;
};

struct ReadMeter {
  static constexpr size_t kKinds = static_cast<size_t>(StatementKind::kCount);
  std::array<ReadAmount, kKinds> examined{};
  std::array<ReadAmount, kKinds> returned{};
  ReadAmount co_located;
  ReadAmount index_only_fallback;

  void Add(const StatementReads& read, StatementKind kind) {
    examined[static_cast<size_t>(kind)] += read.examined;
    returned[static_cast<size_t>(kind)] += read.returned;
    co_located += read.co_located;
    index_only_fallback += read.index_only_fallback;
  }
};

/// To the counters of the engine.
void AddToTotals(const StatementReads& read, StatementKind kind, CounterBatch* totals);

}  // namespace rowan
