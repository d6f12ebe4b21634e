// SPDX-License-Identifier: GPL-2.0-only
// LogReadAhead: the groups that a LogReader finds, read and checked by a second thread, a few
// mebibytes ahead of the consumer. A short log is read without that thread, as is any log if the
// system refuses one.
// Thread safety: one thread, which must not use the reader until it has seen the end.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "wal/log_reader.h"

namespace rowan {

class LogReadAhead {
 public:
  /// The reader outlives it.
  explicit LogReadAhead(LogReader* reader) : reader_(reader) {}
  ~LogReadAhead();

  /// As LogReader::Next.
  Status Next(LogReader::Group* group);

 private:
  /// Copies of consecutive groups.
  struct Batch {
    std::unique_ptr<std::byte[]> bytes;
    size_t capacity = 0;
    size_t used = 0;
    std::vector<LogReader::Group> groups;
    Status status;  ///< of the read after them
  };

  /// False: the system refuses the thread; it is not asked again.
  bool StartReading();
  void Run();
  void Fill(Batch* batch);
  static void MakeRoom(Batch* batch, size_t size_bytes);
  /// The next batch becomes the current one.
  void Take();

  LogReader* const reader_;
  size_t read_bytes_ = 0;  ///< without the thread
  bool alone_ = false;     ///< no thread could be started
  std::unique_ptr<Batch> current_;
  size_t next_group_ = 0;  ///< of current_
  std::thread thread_;

  Mutex mutex_{LatchRank::kLogReadAhead};
  Condition changed_;
  std::deque<std::unique_ptr<Batch>> ready_ ROWAN_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Batch>> empty_ ROWAN_GUARDED_BY(mutex_);
  bool stop_ ROWAN_GUARDED_BY(mutex_) = false;
};

}  // namespace rowan
