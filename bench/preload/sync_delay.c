// SPDX-License-Identifier: GPL-2.0-only
// Preloaded into a server, this makes every durable write of it take ROWAN_SYNC_DELAY_US longer, so
// that a fast disk shows what a slow one would: fsync, fdatasync, sync_file_range, msync, writes to
// files opened with O_SYNC or O_DSYNC. What goes through io_uring or libaio is not delayed. These
// calls are counted, too, in a file of 8-byte numbers that ROWAN_SYNC_COUNTS names.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static long delay_nanos(void) {
  static long nanos = -1;
  if (nanos < 0) {
    const char* text = getenv("ROWAN_SYNC_DELAY_US");
    nanos = text == NULL ? 0 : atol(text) * 1000;
  }
  return nanos;
}

enum Count { kSyncs, kDurableWrites, kWrites, kCounts };

static void count(enum Count which) {
  static unsigned long* counts = NULL;
  static int is_tried = 0;
  if (counts == NULL && !is_tried) {
    is_tried = 1;
    const char* path = getenv("ROWAN_SYNC_COUNTS");
    const int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (file >= 0) {
      void* mapped =
          mmap(NULL, kCounts * sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (mapped != MAP_FAILED) counts = mapped;
      close(file);
    }
  }
  if (counts != NULL) __atomic_fetch_add(&counts[which], 1, __ATOMIC_RELAXED);
}

static void wait_for_disk(enum Count which) {
  count(which);
  const int saved = errno;
  const long nanos = delay_nanos();
  struct timespec left = {nanos / 1000000000, nanos % 1000000000};
  while (nanos > 0 && clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
  }
  errno = saved;
}

static void wait_if_durable(int file, int write_flags) {
  const int flags = fcntl(file, F_GETFL);
  const int is_durable = (flags >= 0 && (flags & O_DSYNC) != 0) || write_flags != 0;
  if (is_durable) {
    wait_for_disk(kDurableWrites);
  } else {
    count(kWrites);
  }
}

// The function that this one stands in for.
#define NEXT(name)               \
  static __typeof__(&name) next; \
  if (next == NULL) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

int fsync(int file) {
  NEXT(fsync);
  const int result = next(file);
  wait_for_disk(kSyncs);
  return result;
}

int fdatasync(int file) {
  NEXT(fdatasync);
  const int result = next(file);
  wait_for_disk(kSyncs);
  return result;
}

int sync_file_range(int file, off64_t offset, off64_t bytes, unsigned flags) {
  NEXT(sync_file_range);
  const int result = next(file, offset, bytes, flags);
  wait_for_disk(kSyncs);
  return result;
}

int msync(void* address, size_t bytes, int flags) {
  NEXT(msync);
  const int result = next(address, bytes, flags);
  if ((flags & MS_SYNC) != 0) wait_for_disk(kSyncs);
  return result;
}

ssize_t write(int file, const void* bytes, size_t count) {
  NEXT(write);
  const ssize_t result = next(file, bytes, count);
  wait_if_durable(file, 0);
  return result;
}

ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
  NEXT(pwrite);
  const ssize_t result = next(file, bytes, count, offset);
  wait_if_durable(file, 0);
  return result;
}

ssize_t pwrite64(int file, const void* bytes, size_t count, off64_t offset) {
  NEXT(pwrite64);
  const ssize_t result = next(file, bytes, count, offset);
  wait_if_durable(file, 0);
  return result;
}

ssize_t pwritev(int file, const struct iovec* parts, int count, off_t offset) {
  NEXT(pwritev);
  const ssize_t result = next(file, parts, count, offset);
  wait_if_durable(file, 0);
  return result;
}

ssize_t pwritev64(int file, const struct iovec* parts, int count, off64_t offset) {
  NEXT(pwritev64);
  const ssize_t result = next(file, parts, count, offset);
  wait_if_durable(file, 0);
  return result;
}

ssize_t pwritev2(int file, const struct iovec* parts, int count, off_t offset, int flags) {
  NEXT(pwritev2);
  const ssize_t result = next(file, parts, count, offset, flags);
  wait_if_durable(file, flags & (RWF_DSYNC | RWF_SYNC));
  return result;
}

ssize_t pwritev64v2(int file, const struct iovec* parts, int count, off64_t offset, int flags) {
  NEXT(pwritev64v2);
  const ssize_t result = next(file, parts, count, offset, flags);
  wait_if_durable(file, flags & (RWF_DSYNC | RWF_SYNC));
  return result;
}
