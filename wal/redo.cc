// SPDX-License-Identifier: GPL-2.0-only
#include "wal/redo.h"

#include <array>
#include <vector>

#include "base/assertions.h"

namespace rowan {
namespace {

/// By type, then version. Written at start by one thread, read-only afterwards.
using Versions = std::vector<RedoEntry>;
std::array<Versions, kRecordVersionFlag>& Table() {
  static std::array<Versions, kRecordVersionFlag> table{};
  return table;
}

}  // namespace

void RegisterRedo(RecordType type, RedoEntry entry) {
  const auto number = static_cast<size_t>(type);
  ROWAN_CHECK(number != 0 && number < kRecordVersionFlag);
  ROWAN_CHECK(entry.apply != nullptr || entry.pageless);
  Versions& versions = Table()[number];
  ROWAN_CHECK(entry.version <= versions.size());
  if (entry.version == versions.size()) versions.push_back(entry);
  // Engines of one process register the same functions again; one type cannot have two owners.
  ROWAN_CHECK(versions[entry.version].apply == entry.apply);
}

const RedoEntry* FindRedo(RecordType type, uint8_t version) {
  const auto number = static_cast<size_t>(type);
  if (number >= kRecordVersionFlag) return nullptr;
  const Versions& versions = Table()[number];
  return version < versions.size() ? &versions[version] : nullptr;
}

}  // namespace rowan
