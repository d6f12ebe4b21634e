// SPDX-License-Identifier: GPL-2.0-only
// For tests: fills a record with garbage before a row is decoded into it, so that anything left
// unset is noticed. Only in builds with -DROWAN_POISON_RECORDS=ON, and only while the environment
// has ROWAN_TEST_POISON_RECORDS=1 (docs/testing.md); otherwise it does nothing.
#pragma once

#include <cstddef>

#if ROWAN_POISON_RECORDS
#include <cstdlib>
#include <cstring>
#include <string_view>
#endif

namespace rowan {

#if ROWAN_POISON_RECORDS
inline void PoisonRecord(unsigned char* record, size_t record_bytes) {
  static const bool wanted = [] {
    const char* value = std::getenv("ROWAN_TEST_POISON_RECORDS");
    return value != nullptr && std::string_view(value) == "1";
  }();
  if (wanted) std::memset(record, 0xA5, record_bytes);
}
#else
inline void PoisonRecord(unsigned char*, size_t) {}
#endif

}  // namespace rowan
