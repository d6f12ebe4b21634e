// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/lock/lock_key.h"

#include <xxhash.h>

namespace rowan {

LockTarget MakeLockKey(IndexId index, Bytes key) {
  return {{index, XXH3_64bits(key.data(), key.size())}, key};
}

}  // namespace rowan
