// SPDX-License-Identifier: GPL-2.0-only
// Instruments: callbacks for threads that start and end and for waits on files. An embedder sets
// its own monitoring once and is called from then on; without one, each call site costs a
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
  void* wait = nullptr;  ///< null: not monitored
};

struct Instruments {
  /// Called by a background thread when it starts and when it ends. `name` as in ThreadLoop.
  void (*thread_begins)(const char* name) = nullptr;
  void (*thread_ends)() = nullptr;
  /// A file was opened: returns its handle for the calls below; null if it is not monitored.
  void* (*file_opened)(const char* path) = nullptr;
  void (*file_closed)(void* file) = nullptr;
  void (*file_removed)(const char* path) = nullptr;
  /// The calling thread starts a transfer or a sync. `file` is not null.
  void (*file_wait_begins)(void* file, FileWaitKind kind, size_t bytes,
                           FileWaitState* state) = nullptr;
  void (*file_wait_ends)(FileWaitState* state, size_t bytes) = nullptr;
};

/// Null: no monitoring. `instruments` must outlive everything that the engine runs. REQUIRES:
/// nothing of the engine is running.
void SetInstruments(const Instruments* instruments);
/// Null: no monitoring.
const Instruments* CurrentInstruments();

/// Scope of a wait for a file. `file`: the handle that file_opened returned.
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
