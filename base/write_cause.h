// SPDX-License-Identifier: GPL-2.0-only
// The ledger of bytes written: a counter for each cause. Whoever gives bytes to a write call counts
// them under one cause, so that the sum of all is what this process wrote to its files.
// A cause is born in write_causes.def. Thread-safe, as counters are.
#pragma once

#include <cstdint>

#include "base/counters.h"

namespace rowan {

enum class WriteCause : uint32_t {
#define X(id, name, help) k##id = static_cast<uint32_t>(Counter::kWritten##id),
#include "base/write_causes.def"
#undef X
};

constexpr Counter CounterOf(WriteCause cause) { return static_cast<Counter>(cause); }

/// Bytes that are given to write calls now.
inline void CountWritten(WriteCause cause, uint64_t bytes) { AddCounter(CounterOf(cause), bytes); }

}  // namespace rowan
