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
/// On a class whose objects hold a capability for their lifetime.
#define ROWAN_SCOPED_CAPABILITY ROWAN_THREAD_ATTRIBUTE(scoped_lockable)
#define ROWAN_GUARDED_BY(x) ROWAN_THREAD_ATTRIBUTE(guarded_by(x))
/// What the pointer points to is guarded, not the pointer.
#define ROWAN_PT_GUARDED_BY(x) ROWAN_THREAD_ATTRIBUTE(pt_guarded_by(x))
#define ROWAN_ACQUIRE(...) ROWAN_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define ROWAN_ACQUIRE_SHARED(...) ROWAN_THREAD_ATTRIBUTE(acquire_shared_capability(__VA_ARGS__))
#define ROWAN_RELEASE(...) ROWAN_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define ROWAN_RELEASE_SHARED(...) ROWAN_THREAD_ATTRIBUTE(release_shared_capability(__VA_ARGS__))
#define ROWAN_TRY_ACQUIRE(...) ROWAN_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define ROWAN_TRY_ACQUIRE_SHARED(...) \
  ROWAN_THREAD_ATTRIBUTE(try_acquire_shared_capability(__VA_ARGS__))
#define ROWAN_REQUIRES(...) ROWAN_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define ROWAN_REQUIRES_SHARED(...) ROWAN_THREAD_ATTRIBUTE(requires_shared_capability(__VA_ARGS__))
/// The function acquires it, so the caller must not hold it.
#define ROWAN_EXCLUDES(...) ROWAN_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
/// The function checks that it is held; for code that the analysis does not look into, such as
/// lambdas.
#define ROWAN_ASSERT_CAPABILITY(...) ROWAN_THREAD_ATTRIBUTE(assert_capability(__VA_ARGS__))
#define ROWAN_RETURN_CAPABILITY(x) ROWAN_THREAD_ATTRIBUTE(lock_returned(x))
/// For the rare function the analysis cannot follow; each use says why.
#define ROWAN_NO_THREAD_ANALYSIS ROWAN_THREAD_ATTRIBUTE(no_thread_safety_analysis)

#if defined(__SANITIZE_THREAD__)
#define ROWAN_OPTIMISTIC_READ __attribute__((no_sanitize("thread"), noinline))
#define ROWAN_OPTIMISTIC_STEP ROWAN_OPTIMISTIC_READ
#define ROWAN_OPTIMISTIC_REST ROWAN_OPTIMISTIC_READ
#else
#define ROWAN_OPTIMISTIC_READ
/// A small part of such a read, in the file that uses it: a call would cost as much as the part.
#define ROWAN_OPTIMISTIC_STEP inline __attribute__((always_inline))
/// A part that is seldom needed: only then are registers saved for it.
#define ROWAN_OPTIMISTIC_REST __attribute__((noinline))
#endif
