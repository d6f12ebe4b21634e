// SPDX-License-Identifier: GPL-2.0-only
// Preloaded into a server, this holds one call of the file system until a test lets it go: what is
// done to the statement meanwhile comes in its midst, however fast the machine is. In the folder
// ROWAN_HOLD_FOLDER: `arm` says which call, a line "<r or w> <n> <part of the path>" for the n-th
// read or write of such a file by threads that are not Rowan's own; `reached` is there while it is
// held, `go` lets it go; `calls` is the number of reads and writes, of any file, by its thread
// since. Calls that go through io_uring or libaio are not seen.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kPathMax = 4096 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int state;  // 0: nothing; 1: armed; 2: let go, calls are counted
static char kind;
static long calls_left, calls_since;
static pid_t held;
static char part[kPathMax];

static int in_folder(char* path, const char* name) {
  const char* folder = getenv("ROWAN_HOLD_FOLDER");
  if (folder == NULL) return 0;
  return snprintf(path, kPathMax, "%s/%s", folder, name) < kPathMax;
}

static int is_there(const char* name) {
  char path[kPathMax];
  return in_folder(path, name) && access(path, F_OK) == 0;
}

static void put(const char* name, long number) {
  char path[kPathMax];
  char partial[kPathMax];
  char text[32];
  if (!in_folder(path, name) || !in_folder(partial, "put")) return;
  const int size = snprintf(text, sizeof text, "%ld\n", number);
  const int fd = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return;
  (void)!write(fd, text, (size_t)size);
  close(fd);
  (void)rename(partial, path);  // whoever reads it sees all of it or the former one
}

static void drop(const char* name) {
  char path[kPathMax];
  if (in_folder(path, name)) unlink(path);
}

static void arm(void) {
  char path[kPathMax];
  if (!in_folder(path, "arm")) return;
  FILE* file = fopen(path, "re");
  if (file == NULL) return;
  if (fscanf(file, "%c %ld %4095s", &kind, &calls_left, part) == 3) {
    calls_since = 0;
    put("calls", 0);
    state = 1;
  }
  fclose(file);
  unlink(path);
}

static int is_of_rowan(void) {
  char name[16] = "";
  prctl(PR_GET_NAME, name);
  return strncmp(name, "rowan-", 6) == 0;
}

static int is_meant(int fd) {
  char link[64];
  char path[kPathMax];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = '\0';
  return strstr(path, part) != NULL;
}

static void before_call(char called, int fd) {
  const int saved = errno;
  int holds = 0;
  pthread_mutex_lock(&mutex);
  if (is_there("arm")) arm();
  if (state == 2 && gettid() == held) put("calls", ++calls_since);
  if (state == 1 && called == kind && !is_of_rowan() && is_meant(fd)) holds = --calls_left == 0;
  if (holds) {
    state = 2;
    held = gettid();
    put("reached", 1);
  }
  pthread_mutex_unlock(&mutex);
  if (holds) {
    const struct timespec pause = {0, 1000000};
    while (!is_there("go")) nanosleep(&pause, NULL);
    drop("go");
    drop("reached");
  }
  errno = saved;
}

ssize_t pread64(int fd, void* buffer, size_t size, off64_t offset) {
  before_call('r', fd);
  return syscall(SYS_pread64, fd, buffer, size, offset);
}
ssize_t pread(int fd, void* buffer, size_t size, off_t offset) {
  return pread64(fd, buffer, size, offset);
}
ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t offset) {
  before_call('w', fd);
  return syscall(SYS_pwrite64, fd, bytes, size, offset);
}
ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  return pwrite64(fd, bytes, size, offset);
}
