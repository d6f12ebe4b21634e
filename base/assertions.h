// SPDX-License-Identifier: GPL-2.0-only
// ROWAN_CHECK: a broken invariant stops the process, in every build. ROWAN_DCHECK: the same for
// tests that cost too much in release builds; on in sanitizer and debug builds.
#pragma once

namespace rowan {

/// Prints file, line and condition to stderr (the server's error log) and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

}  // namespace rowan

#define ROWAN_CHECK(condition)                              \
  do {                                                      \
    if (__builtin_expect(!(condition), 0)) {                \
      ::rowan::CheckFailed(__FILE__, __LINE__, #condition); \
    }                                                       \
  } while (false)

#if defined(ROWAN_DCHECK_ENABLED) || !defined(NDEBUG)
#define ROWAN_DCHECK(condition) ROWAN_CHECK(condition)
#else
#define ROWAN_DCHECK(condition)     \
  do {                              \
    if (false) {                    \
      static_cast<void>(condition); \
    }                               \
  } while (false)
#endif
