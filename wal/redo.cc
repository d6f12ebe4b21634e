// SPDX-License-Identifier: GPL-2.0-only
#include "wal/redo.h"

#include <array>

#include "base/assertions.h"

namespace rowan {
namespace {

/// Written at start by one thread, read-only afterwards.
std::array<RedoEntry, 256>& Table() {
  static std::array<RedoEntry, 256> table{};
  return table;
}

}  // namespace

void RegisterRedo(RecordType type, RedoEntry entry) {
  ROWAN_CHECK(type != RecordType::kInvalid);
  ROWAN_CHECK(entry.apply != nullptr || entry.pageless);
  RedoEntry& slot = Table()[static_cast<size_t>(type)];
  // Engines of one process register the same functions again; two owners of one type do not mix.
  const bool free = slot.apply == nullptr && !slot.pageless;
  ROWAN_CHECK(free || slot.apply == entry.apply);
  slot = entry;
}

const RedoEntry* FindRedo(RecordType type) {
  const RedoEntry& entry = Table()[static_cast<size_t>(type)];
  return entry.apply == nullptr && !entry.pageless ? nullptr : &entry;
}

}  // namespace rowan
