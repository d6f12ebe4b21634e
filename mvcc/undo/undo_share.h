// SPDX-License-Identifier: GPL-2.0-only
// UndoShare: the order in which records are undone where several workers roll back one transaction.
#pragma once

#include <cstdint>

namespace rowan {

struct UndoShare {
  enum Kind : uint8_t {
    kRow,      ///< of a row, in the order of all records of this row
    kFollows,  ///< undone before the row's record in front of it
    kAlone,    ///< after everything younger and before everything older
  };
  Kind kind = kAlone;
  uint64_t row = 0;  ///< kRow: equal for equal rows, and hardly for others
};

}  // namespace rowan
