// SPDX-License-Identifier: GPL-2.0-only
// Checkpointer: the continuous checkpoint. Frames are cut into shards of fixed size; sweeping a
// shard writes its dirty pages and proves "all changes below LSN r in this shard are written". The
// checkpoint LSN is the smallest r over all shards, published after the data files are synced and
// the log is durable up to it.
//
// Why a sweep misses nothing: a mini-transaction marks its pages dirty before it appends. A change
// below the tail that the sweep read first was therefore marked before the sweep checked.
//
// Discarded pages: a freed page is dropped although its last changes were never written. A
// checkpoint between its first unwritten change and its freeing would make recovery replay onto a
// page that never existed. So Discard lowers the result of the sweep in progress (`discard_floor`);
// sweeps that begin after the freeing group are above the gap. The checkpoint may still fall into
// the gap, because another shard has a smaller result; so it is published only when the log is
// durable beyond every freeing group: recovery then ends with the page free, whatever its content.
// Thread safety: all members from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/function_ref.h"
#include "base/mutex.h"
#include "buffer/checkpoint_gate.h"
#include "buffer/frame_table.h"
#include "buffer/page_files.h"
#include "buffer/page_writer.h"

namespace rowan {

enum class SweepMode {
  kLazy,    ///< skips pages changed recently, by log and by time, and latched ones
  kUrgent,  ///< the log is nearly full: everything, waiting where needed
};

class Checkpointer {
 public:
  /// `start` is a checkpoint that holds for the (empty) pool.
  Checkpointer(FrameTable* frames, PageFiles* files, Lsn start);

  [[nodiscard]] uint32_t shard_count() const;

  /// Changes below are so old that their pages will probably not change again soon: lazy sweeps
  /// write them even if the log has hardly grown since.
  void SetAged(Lsn lsn) { aged_.store(lsn, std::memory_order_relaxed); }

  /// Sweeps `count` shards from `first` on (wrapping), in one or more batches of `writer`. Shards
  /// that another thread is sweeping are skipped, except by an urgent sweep of one shard, which
  /// waits. The caller holds no latch. kStopped. kInterrupted: `is_over`, asked between batches if
  /// given, returned true; the rest stays dirty.
  using IsOver = FunctionRef<bool()>;
  Status Sweep(PageWriter* writer, uint32_t first, uint32_t count, SweepMode mode,
               IsOver is_over = {});

  /// Sweeps all shards until everything below the current log tail is written. As Sweep.
  Status SweepAll(PageWriter* writer, IsOver is_over);

  /// Asked before each checkpoint; outlives this. Set before the first.
  void SetGate(CheckpointGate* gate) { gate_ = gate; }
  /// Publishes the highest checkpoint that the sweeps have proven, once the gate, if any, lets it
  /// pass. Cheap if it did not move.
  Status WriteCheckpoint();

  /// All changes below are written, as far as this shard goes.
  [[nodiscard]] Lsn CleanUpto(uint32_t shard) const {
    return shards_[shard].clean_upto.load(std::memory_order_acquire);
  }
  /// The checkpoint that WriteCheckpoint would publish now.
  [[nodiscard]] Lsn Candidate() const;
  [[nodiscard]] Lsn published() const { return published_.load(std::memory_order_acquire); }

  /// Between these, pages become dirty at LSNs that sweeps have already passed: sweeps write but
  /// prove nothing, and the checkpoint stays where redo began. EndRedo follows the last such mark.
  void BeginRedo() { redoing_.store(true, std::memory_order_release); }
  void EndRedo() { redoing_.store(false, std::memory_order_release); }
  [[nodiscard]] bool redoing() const { return redoing_.load(std::memory_order_acquire); }

  /// Before a page dirty since `first_dirty` is discarded from `frame`.
  void NoteDiscard(const Frame* frame, Lsn first_dirty);
  /// Before frames beyond the current ones become usable. Merges shards when there would be too
  /// many; waits for the sweeps in progress.
  void NoteGrowth(uint32_t frames_old, uint32_t frames_new);

 private:
  struct Shard {
    std::atomic<Lsn> clean_upto{kNoLsn};     ///< all changes below are written
    std::atomic<Lsn> discard_floor{kNoLsn};  ///< least first dirty LSN discarded since sweep start
    std::atomic<bool> busy{false};           ///< a sweep is under way
  };
  struct SweptShard {
    uint32_t number = 0;
    Lsn start;  ///< the log tail when the sweep began
    Lsn left;   ///< smallest first dirty LSN left behind
  };
  struct Postponed {
    Frame* frame = nullptr;
    size_t swept = 0;  ///< index into the swept list
  };

  /// One sweep of some shards.
  struct Round {
    SweepMode mode = SweepMode::kLazy;
    IsOver is_over{};
    std::vector<SweptShard> swept{};
    std::vector<Postponed> postponed{};
  };

  static bool IsLate(const Round& round);
  bool BeginShard(uint32_t number, SweepMode mode, std::vector<SweptShard>* swept);
  /// Sweeps the shard begun last.
  Status SweepShard(PageWriter* writer, Round* round);
  Status WritePostponed(PageWriter* writer, Round* round);
  void EndShards(const std::vector<SweptShard>& swept, bool written);
  void JoinShards();
  /// REQUIRES: shards_mutex_, or a sweep in progress.
  [[nodiscard]] uint32_t ShardsFor(uint32_t frames) const;

  /// Twice as many as wanted: then pairs are merged.
  static constexpr uint32_t kShardsMax = 512;

  FrameTable* const frames_;
  PageFiles* const files_;
  CheckpointGate* gate_ = nullptr;  ///< constant once set
  /// Changes only while no shard is being swept; stored under shards_mutex_.
  std::atomic<uint32_t> shard_frames_;
  std::array<Shard, kShardsMax> shards_;
  /// Held while shards are merged, and while all of them are read.
  mutable Mutex shards_mutex_{LatchRank::kCheckpointShards};
  Mutex publish_mutex_{LatchRank::kCheckpoint};  ///< one at a time
  std::atomic<Lsn> published_{kNoLsn};
  std::atomic<Lsn> aged_{kNoLsn};  ///< stored by the cleaners, read by lazy sweeps
  std::atomic<bool> redoing_{false};
};

}  // namespace rowan
