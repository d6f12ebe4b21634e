// SPDX-License-Identifier: GPL-2.0-only
// ReadMeter: how much one session's reads examine compared with what they return. Cursors count in
// their own plain members; their counts are added here, and to the counters of the engine, when the
// statement has finished with the table.
//
// Examined: entries and rows whose place in an index the statement reached, including the row of an
// entry; bytes are those of the keys and values taken from the page. Returned: rows handed to the
// server, with their stored bytes. Two parts of the examined rows are counted separately: those
// copied with their neighbours on the leaf and never asked for (co-located), and rows read although
// the index was expected to suffice (index-only fallback).
// Thread safety: one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/counter_batch.h"

namespace rowan {

/// Kinds of statements that the meter distinguishes; the last one that applies.
enum class StatementKind : uint8_t {
  kSingleTable,
  kJoin,         ///< names more than one table
  kAggregation,  ///< groups, aggregates, or removes duplicates
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

/// Adds it to the counters of the engine.
void AddToTotals(const StatementReads& read, StatementKind kind, CounterBatch* totals);

}  // namespace rowan
