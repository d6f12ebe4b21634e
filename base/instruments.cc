// SPDX-License-Identifier: GPL-2.0-only
#include "base/instruments.h"

#include <atomic>

namespace rowan {
namespace {

std::atomic<const Instruments*> g_instruments{nullptr};  // set before anything reads it

}  // namespace

void SetInstruments(const Instruments* instruments) {
  g_instruments.store(instruments, std::memory_order_release);
}

const Instruments* CurrentInstruments() { return g_instruments.load(std::memory_order_acquire); }

void FileWait::Begin(void* file, FileWaitKind kind) {
  CurrentInstruments()->file_wait_begins(file, kind, bytes_, &state_);
}

void FileWait::End() { CurrentInstruments()->file_wait_ends(&state_, bytes_); }

}  // namespace rowan
