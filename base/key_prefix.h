// SPDX-License-Identifier: GPL-2.0-only
// Key prefixes: the entries that begin with one lie in [prefix, successor).
#pragma once

#include <vector>

#include "base/bytes.h"

namespace rowan {

/// First byte string that sorts after every string with this prefix; empty = none. `prefix` may be
/// the successor's own bytes.
void PrefixSuccessor(Bytes prefix, std::vector<std::byte>* successor);

/// Whether `key` begins with `prefix`.
[[nodiscard]] inline bool HasPrefix(Bytes key, Bytes prefix) {
  return key.size() >= prefix.size() && EqualBytes(key.first(prefix.size()), prefix);
}

}  // namespace rowan
