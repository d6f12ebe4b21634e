// SPDX-License-Identifier: GPL-2.0-only
// Names for Clang's thread-safety attributes (empty elsewhere), and the mark for the few functions
// that read page bytes optimistically and are therefore exempt from ThreadSanitizer.
#pragma once

#if defined(__clang__)
#define ROWAN_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define ROWAN_THREAD_ATTRIBUTE(x)
#endif

#define ROWAN_CAPABILITY(name) ROWAN_THREAD_ATTRIBUTE(capability(name))
#define ROWAN_GUARDED_BY(x) ROWAN_THREAD_ATTRIBUTE(guarded_by(x))
#define ROWAN_ACQUIRE(...) ROWAN_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define ROWAN_ACQUIRE_SHARED(...) ROWAN_THREAD_ATTRIBUTE(acquire_shared_capability(__VA_ARGS__))
#define ROWAN_RELEASE(...) ROWAN_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define ROWAN_RELEASE_SHARED(...) ROWAN_THREAD_ATTRIBUTE(release_shared_capability(__VA_ARGS__))
#define ROWAN_TRY_ACQUIRE(...) ROWAN_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define ROWAN_TRY_ACQUIRE_SHARED(...) \
  ROWAN_THREAD_ATTRIBUTE(try_acquire_shared_capability(__VA_ARGS__))
#define ROWAN_REQUIRES(...) ROWAN_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))

#if defined(__SANITIZE_THREAD__)
#define ROWAN_OPTIMISTIC_READ __attribute__((no_sanitize("thread"), noinline))
#else
#define ROWAN_OPTIMISTIC_READ
#endif
