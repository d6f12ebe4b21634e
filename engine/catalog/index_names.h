// SPDX-License-Identifier: GPL-2.0-only
// IndexNames: what users call an index. Thread safety: plain values.
#pragma once

#include <string>

namespace rowan {

struct IndexNames {
  std::string table;  ///< "schema/table"
  std::string index;
};

}  // namespace rowan
