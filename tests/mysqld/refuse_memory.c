// SPDX-License-Identifier: GPL-2.0-only
// Preloaded into a server, this refuses one allocation of the size and alignment that the values of
// a batch have (plugin/program/value_vector.h), and of hardly anything else. The file
// ROWAN_REFUSE_MEMORY says the how manyth from now on; it is emptied when that has been refused.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { kAlignment = 64, kBytes = 512 * 16 + 512 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int refuses(void) {
  const char* path = getenv("ROWAN_REFUSE_MEMORY");
  if (path == NULL) return 0;
  pthread_mutex_lock(&mutex);
  int result = 0;
  char count = '0';
  const int file = open(path, O_RDWR);
  if (file >= 0 && pread(file, &count, 1, 0) == 1) {
    result = count == '1';
    --count;
    if (result ? ftruncate(file, 0) != 0 : pwrite(file, &count, 1, 0) != 1) abort();
  }
  if (file >= 0) close(file);
  pthread_mutex_unlock(&mutex);
  return result;
}

int posix_memalign(void** memory, size_t alignment, size_t size) {
  static int (*allocate)(void**, size_t, size_t);
  if (alignment == kAlignment && size == kBytes && refuses()) return ENOMEM;
  if (allocate == NULL) *(void**)&allocate = dlsym(RTLD_NEXT, "posix_memalign");
  return allocate(memory, alignment, size);
}
