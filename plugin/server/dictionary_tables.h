// SPDX-License-Identifier: GPL-2.0-only
// What the server's dictionary says about this engine's tables. For plugin initialisation, when the
// dictionary is readable and the engine is not yet open.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/status.h"

namespace rowan {

struct DictionaryTables {
  std::vector<std::string> names;  ///< "schema.table"
  uint64_t id_max = 0;             ///< largest table id among them
  std::unordered_set<uint64_t> ids{};
  /// Numbers of the engine's transactions that last changed them without rebuilding them.
  std::unordered_set<uint64_t> changed_by{};
};
/// The property that holds such a number in a dictionary definition.
inline constexpr const char* kChangedByProperty = "rowan_changed_by";

/// kIoError when the dictionary cannot be read.
Result<DictionaryTables> TablesInDictionary();

}  // namespace rowan
