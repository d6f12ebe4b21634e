// SPDX-License-Identifier: GPL-2.0-only
// Scrubber: reads every page of every tablespace from its file, slowly and repeatedly, so that
// damage to cold pages is found while a good backup still exists. Pages are read bypassing the pool
// and checked as the pool checks what it reads: checksum, identity, not older than the last write.
//
// An image may be wrong for a moment, because the page is being written. A page is judged only when
// its image stays wrong although the page is in use and no write of it is due. Then it is read
// through the pool: if the pool holds it, that copy is good and is written again; otherwise the
// page is damaged, and the pool reports it to the operator (buffer/damage_reporter.h).
// Thread safety: ReadSome and Step by one thread; the others from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "io/aligned_buffer.h"
#include "storage/scrub_figures.h"
#include "storage/storage.h"

namespace rowan {

class Scrubber {
 public:
  /// `storage` outlives it.
  explicit Scrubber(Storage* storage);

  /// Reads what the rate allows for the time since the last call. Reads nothing while the device is
  /// busy with other page and log I/O, pages of the last run are being redone, or the engine is
  /// read-only or has stopped.
  void Step(const std::atomic<bool>& stopping);
  /// Reads and checks the next pages of the round, at most 256 KiB, whatever the rate. True: the
  /// round is complete.
  bool ReadSome();

  /// 0: off.
  void SetRate(uint64_t bytes_per_second) {
    bytes_per_second_.store(bytes_per_second, std::memory_order_relaxed);
  }
  [[nodiscard]] ScrubFigures Figures() const;

 private:
  /// I/O calls that other threads made since the previous call.
  uint64_t TakeOthersCalls();
  void BeginRound();
  bool EndRound();  ///< true
  /// The next tablespace that is served and not marked as damaged; false: the round ends.
  bool EnterSpace();
  void CheckPage(PageId page, MutableBytes image);
  [[nodiscard]] bool StaysWrong(PageId page, MutableBytes image, std::string* wrong);
  /// Whether the page may never have been written. False also in a space that is being dropped.
  [[nodiscard]] bool IsFree(PageId page, Bytes image);
  void RepairOrReport(PageId page, const std::string& wrong);
  void Repair(PageId page, const std::string& path, const std::string& wrong);
  void NoteFinding(std::string sentence);

  Storage* const storage_;
  std::atomic<uint64_t> bytes_per_second_;
  AlignedBuffer buffer_;

  // Of the thread that reads.
  uint64_t stepped_nanos_ = 0;  ///< MonotonicNanos of the last step; 0: none yet
  uint64_t others_calls_ = 0;   ///< counted up to then
  double allowance_bytes_ = 0;
  std::vector<SpaceId> spaces_;  ///< of the round, the current one first
  uint32_t space_pages_ = 0;     ///< of that one; 0: not entered yet
  uint32_t next_page_ = 0;       ///< of that one

  mutable Mutex mutex_{LatchRank::kScrubber};
  ScrubFigures figures_ ROWAN_GUARDED_BY(mutex_);
  uint64_t round_began_nanos_ ROWAN_GUARDED_BY(mutex_) = 0;
};

}  // namespace rowan
