// SPDX-License-Identifier: GPL-2.0-only
// Instruments: who is told of threads that come and go and of waits for files. An embedder's own
// monitoring is set once and learns of everything from then on; without one each place costs a
// predictable branch. Thread safety: all functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rowan {

enum class FileWaitKind : uint8_t { kRead, kWrite, kSync };

/// One wait, on the stack of the thread that waits.
struct FileWaitState {
  alignas(16) std::array<std::byte, 128> bytes;
  void* wait = nullptr;  ///< null: nobody wants to know
};

struct Instruments {
  /// Called by a background thread at its begin and at its end. `name` as in ThreadLoop.
  void (*thread_begins)(const char* name) = nullptr;
  void (*thread_ends)() = nullptr;
  /// A file was opened: what it is called from now on; null if nobody wants to know of it.
  void* (*file_opened)(const char* path) = nullptr;
  void (*file_closed)(void* file) = nullptr;
  void (*file_removed)(const char* path) = nullptr;
  /// The calling thread transfers or syncs now. Not of null.
  void (*file_wait_begins)(void* file, FileWaitKind kind, size_t bytes,
                           FileWaitState* state) = nullptr;
  void (*file_wait_ends)(FileWaitState* state, size_t bytes) = nullptr;
};

/// Null: nobody is told. `instruments` lives until nothing of the engine runs any more. REQUIRES:
/// nothing of the engine runs now.
void SetInstruments(const Instruments* instruments);
/// Null: nobody is to be told.
const Instruments* CurrentInstruments();

/// A wait for a file while it lives. `file` as file_opened named it.
class FileWait {
 public:
  FileWait(void* file, FileWaitKind kind, size_t bytes) : bytes_(bytes) {
    if (file != nullptr) Begin(file, kind);
  }
  ~FileWait() {
    if (state_.wait != nullptr) End();
  }
  FileWait(const FileWait&) = delete;
  FileWait& operator=(const FileWait&) = delete;

 private:
  void Begin(void* file, FileWaitKind kind);
  void End();

  const size_t bytes_;
  FileWaitState state_;
};

}  // namespace rowan
