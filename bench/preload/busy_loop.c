// SPDX-License-Identifier: GPL-2.0-only
// Preloaded into a server, this makes one of its plugins slower, and nothing else: before each
// memcpy of the library that ROWAN_SLOW_LIBRARY names come ROWAN_SLOW_TURNS turns of a loop. So the
// gate of scripts/bench is shown a slowdown.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// The library's code; written once, while it is being opened and before any call.
static volatile uintptr_t code_begin, code_size;
static volatile long turns;

static int find_library(struct dl_phdr_info* info, size_t size, void* name) {
  (void)size;
  if (strstr(info->dlpi_name, name) == NULL) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &info->dlpi_phdr[i];
    if (part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0) {
      code_begin = info->dlpi_addr + part->p_vaddr;
      code_size = part->p_memsz;
    }
  }
  return 1;
}

void* dlopen(const char* path, int flags) {
  static void* (*next)(const char*, int);
  if (next == NULL) next = (void* (*)(const char*, int))dlsym(RTLD_NEXT, "dlopen");
  void* opened = next(path, flags);
  const char* name = getenv("ROWAN_SLOW_LIBRARY");
  const char* count = getenv("ROWAN_SLOW_TURNS");
  if (name != NULL && count != NULL && path != NULL && strstr(path, name) != NULL) {
    turns = atol(count);
    dl_iterate_phdr(find_library, (void*)name);
  }
  return opened;
}

void* memcpy(void* restrict target, const void* restrict source, size_t size) {
  if ((uintptr_t)__builtin_return_address(0) - code_begin < code_size) {
    for (volatile long left = turns; left > 0; --left) {
    }
  }
  return memmove(target, source, size);
}
