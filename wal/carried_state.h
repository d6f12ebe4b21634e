// SPDX-License-Identifier: GPL-2.0-only
// CarriedState: what the control file says of a file that others append to and whose end is kept in
// the redo log (storage/carried_file.h). Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/ids.h"

namespace rowan {

/// Of its name without the folder, in bytes.
inline constexpr size_t kCarriedNameBytesMax = 512;

struct CarriedState {
  uint32_t id = 0;      ///< a new one each time a file begins to be carried; 0: none ever was
  bool active = false;  ///< what the file has beyond its covered end does not count
  uint32_t mark = 0;    ///< by which the owner knows the file again
  /// Durable in the file. Records of the log with this id say what follows, see kCarriedBytes.
  uint64_t covered_bytes = 0;
  std::string name;
  bool operator==(const CarriedState&) const = default;
};

}  // namespace rowan
