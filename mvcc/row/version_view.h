// SPDX-License-Identifier: GPL-2.0-only
// VersionView: one row or entry as a read sees it. Thread safety: plain values.
#pragma once

#include "base/bytes.h"

namespace rowan {

/// The bytes are somewhere else, and stay as long as that says.
struct VersionView {
  Bytes key;    ///< full tree key without repeat
  Bytes value;  ///< clustered: row bytes; secondary: payload
};

}  // namespace rowan
