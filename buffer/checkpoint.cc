// SPDX-License-Identifier: GPL-2.0-only
// Sweeping shards and publishing checkpoints. See checkpoint.h.
#include "buffer/checkpoint.h"

#include <sched.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/assertions.h"
#include "base/atomic_max.h"
#include "base/clock.h"
#include "base/counters.h"
#include "wal/control_file.h"

namespace rowan {
namespace {

constexpr Lsn kNever{std::numeric_limits<uint64_t>::max()};
/// Shards of the pool as opened. More make the checkpoint finer but cost more to scan.
constexpr uint32_t kShardsWanted = 256;
constexpr uint32_t kShardFramesMin = 16;

void StoreMin(std::atomic<Lsn>* target, Lsn value) {
  Lsn current = target->load(std::memory_order_relaxed);
  while (current > value &&
         !target->compare_exchange_weak(current, value, std::memory_order_acq_rel)) {
  }
}

Status Late() { return Status(Code::kInterrupted, "the time to write pages is over"); }

uint32_t DivideUp(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit; }

}  // namespace

Checkpointer::Checkpointer(FrameTable* frames, PageFiles* files, Lsn start)
    : frames_(frames),
      files_(files),
      shard_frames_(std::max(kShardFramesMin, DivideUp(frames->frames_ever(), kShardsWanted))),
      published_(start) {
  for (Shard& shard : shards_) {
    shard.clean_upto.store(start, std::memory_order_relaxed);
    shard.discard_floor.store(kNever, std::memory_order_relaxed);
  }
}

uint32_t Checkpointer::ShardsFor(uint32_t frames) const {
  return DivideUp(frames, shard_frames_.load(std::memory_order_acquire));
}

uint32_t Checkpointer::shard_count() const {
  const MutexLock guard(&shards_mutex_);
  return ShardsFor(frames_->frames_ever());
}

void Checkpointer::NoteDiscard(const Frame* frame, Lsn first_dirty) {
  ROWAN_DCHECK(first_dirty != kNoLsn);
  // Repeat if shards were merged meanwhile: a sweep of the merged one may be under way. One that
  // begins after the second read is above the gap.
  uint32_t shard_frames;
  do {
    shard_frames = shard_frames_.load(std::memory_order_seq_cst);
    StoreMin(&shards_[frame->number / shard_frames].discard_floor, first_dirty);
  } while (shard_frames_.load(std::memory_order_seq_cst) != shard_frames);
}

void Checkpointer::NoteGrowth(uint32_t frames_old, uint32_t frames_new) {
  while (DivideUp(frames_new, shard_frames_.load(std::memory_order_relaxed)) > kShardsMax) {
    JoinShards();
  }
  // Shards without any frame yet have nothing unwritten; pages that redo brings there may be older.
  if (redoing()) return;
  for (uint32_t i = ShardsFor(frames_old); i < ShardsFor(frames_new); ++i) {
    RaiseTo(&shards_[i].clean_upto, files_->LogTail());
  }
}

void Checkpointer::JoinShards() {
  for (Shard& shard : shards_) {
    while (shard.busy.exchange(true, std::memory_order_acq_rel)) ::sched_yield();
  }
  {
    const MutexLock guard(&shards_mutex_);
    const uint32_t count = ShardsFor(frames_->frames_ever());
    const auto clean_upto = [&](uint32_t i) {  // those without frames do not count
      return i < count ? shards_[i].clean_upto.load(std::memory_order_relaxed) : kNever;
    };
    for (uint32_t i = 0; i < kShardsMax / 2; ++i) {
      const Lsn clean = std::min(clean_upto(2 * i), clean_upto(2 * i + 1));
      // Zero until NoteGrowth gives it frames.
      shards_[i].clean_upto.store(clean == kNever ? kNoLsn : clean, std::memory_order_release);
    }
    shard_frames_.store(2 * shard_frames_.load(std::memory_order_relaxed),
                        std::memory_order_seq_cst);
  }
  for (Shard& shard : shards_) shard.busy.store(false, std::memory_order_release);
}

bool Checkpointer::IsLate(const Round& round) { return round.is_over && round.is_over(); }

bool Checkpointer::BeginShard(uint32_t number, SweepMode mode, std::vector<SweptShard>* swept) {
  ROWAN_DCHECK(number < kShardsMax);
  Shard& shard = shards_[number];
  while (shard.busy.exchange(true, std::memory_order_acq_rel)) {
    if (mode == SweepMode::kLazy || files_->Stopped()) return false;
    // Its sweeper may wait for us only if we hold shards: then leave it for the next run.
    if (!swept->empty()) return false;
    ::sched_yield();
  }
  // The floor first, the tail second: a page discarded before this point was freed by a group
  // below the tail read here.
  shard.discard_floor.store(kNever, std::memory_order_release);
  const Lsn left = redoing() ? kNoLsn : kNever;
  swept->push_back({number, files_->LogTail(), left});
  return true;
}

Status Checkpointer::SweepShard(PageWriter* writer, Round* round) {
  const SweepMode mode = round->mode;
  SweptShard& shard = round->swept.back();
  ROWAN_DCHECK(shards_[shard.number].busy.load(std::memory_order_relaxed));
  ROWAN_DCHECK(shard.start <= files_->LogTail());
  // A page changed within the last fraction of the log is probably hot: one write per round does.
  // Not so if that was long ago: the log of an idle pool does not grow, and its end is written too.
  const uint64_t young_bytes = mode == SweepMode::kLazy && files_->log() != nullptr
                                   ? files_->log()->capacity_bytes() / 8
                                   : 0;
  const Lsn young_from =
      std::max(shard.start > Lsn(young_bytes) ? shard.start - young_bytes : kNoLsn,
               aged_.load(std::memory_order_relaxed));
  // Constant while this shard is being swept.
  const uint64_t shard_frames = shard_frames_.load(std::memory_order_acquire);
  // Read after BeginShard has read the tail, so it counts the frames of all that is below.
  const uint64_t frames = frames_->frames_used();
  const auto first = static_cast<uint32_t>(std::min(shard.number * shard_frames, frames));
  const auto last = static_cast<uint32_t>(std::min(first + shard_frames, frames));
  for (uint32_t number = first; number < last; ++number) {
    Frame* frame = frames_->frame(number);
    const Lsn dirty = frame->FirstDirtyLsn();
    if (dirty == kNoLsn || dirty >= shard.start) continue;
    if (young_bytes != 0 && dirty > young_from) {
      shard.left = std::min(shard.left, dirty);
      continue;
    }
    if (writer->TryAdd(frame) == PageWriter::Added::kBusy) {
      if (mode == SweepMode::kLazy) {
        shard.left = std::min(shard.left, dirty);
      } else {
        round->postponed.push_back({frame, round->swept.size() - 1});
      }
    }
    if (writer->full()) {
      const Status status = writer->Push();
      if (!status.ok()) return status;
      if (IsLate(*round)) return Late();
    }
  }
  return Status::Ok();
}

Status Checkpointer::WritePostponed(PageWriter* writer, Round* round) {
  std::vector<Postponed>* const postponed = &round->postponed;
  const std::vector<SweptShard>& swept = round->swept;
  while (!postponed->empty()) {
    // Flushed before waiting for a latch: its holder may need the frames we hold.
    Status status = writer->Flush();
    if (!status.ok()) return status;
    if (files_->Stopped()) return Status(Code::kStopped, "the log is stopped");
    if (IsLate(*round)) return Late();
    const Postponed waiting = postponed->back();
    const Lsn dirty = waiting.frame->FirstDirtyLsn();
    if (dirty == kNoLsn || dirty >= swept[waiting.swept].start) {
      postponed->pop_back();
      continue;
    }
    if (writer->AddWaiting(waiting.frame) == PageWriter::Added::kBusy) {
      ::sched_yield();  // another writer's copy in flight will be done soon
      continue;
    }
    postponed->pop_back();
    // The latch was waited for once; the others may be free by now.
    std::erase_if(*postponed, [writer](const Postponed& other) {
      return !writer->full() && writer->TryAdd(other.frame) != PageWriter::Added::kBusy;
    });
  }
  return writer->Flush();
}

void Checkpointer::EndShards(const std::vector<SweptShard>& swept, bool written) {
  for (const SweptShard& item : swept) {
    Shard& shard = shards_[item.number];
    if (written) {
      const Lsn floor = shard.discard_floor.load(std::memory_order_acquire);
      ROWAN_DCHECK(item.start <= files_->LogTail());
      RaiseTo(&shard.clean_upto, std::min({item.start, item.left, floor}));
    }
    ROWAN_DCHECK(shard.busy.load(std::memory_order_relaxed));
    shard.busy.store(false, std::memory_order_release);
  }
}

Status Checkpointer::Sweep(PageWriter* writer, uint32_t first, uint32_t count, SweepMode mode,
                           IsOver is_over) {
  const uint32_t shards = shard_count();
  ROWAN_DCHECK(count <= shards && shards <= kShardsMax);
  Round round{.mode = mode, .is_over = is_over};
  const auto sweep = [&]() -> Status {
    for (uint32_t i = 0; i < count; ++i) {
      if (!BeginShard((first + i) % shards, mode, &round.swept)) continue;
      const Status swept = SweepShard(writer, &round);
      if (!swept.ok()) return swept;
    }
    return WritePostponed(writer, &round);
  };
  Status status = sweep();
  if (status.Is(Code::kInterrupted)) {
    const Status flushed = writer->Flush();  // what was pushed is under way
    if (!flushed.ok()) status = flushed;
  }
  EndShards(round.swept, status.ok());
  return status;
}

Status Checkpointer::SweepAll(PageWriter* writer, IsOver is_over) {
  // Several shards at a time, so that batches are full.
  constexpr uint32_t kShardsPerSweep = 64;
  const Lsn target = files_->LogTail();
  const uint32_t shards = shard_count();
  for (uint32_t first = 0; first < shards; first += kShardsPerSweep) {
    const uint32_t count = std::min(kShardsPerSweep, shards - first);
    const Status status = Sweep(writer, first, count, SweepMode::kUrgent, is_over);
    if (!status.ok()) return status;
  }
  // Then those that a cleaner was sweeping, one by one, waiting for its end.
  for (uint32_t shard = 0; shard < shards; ++shard) {
    if (CleanUpto(shard) >= target) continue;
    const Status status = Sweep(writer, shard, 1, SweepMode::kUrgent, is_over);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Lsn Checkpointer::Candidate() const {
  const MutexLock guard(&shards_mutex_);
  Lsn lowest = kNever;
  const uint32_t shards = ShardsFor(frames_->frames_ever());
  for (uint32_t i = 0; i < shards; ++i) {
    lowest = std::min(lowest, shards_[i].clean_upto.load(std::memory_order_acquire));
  }
  return lowest;
}

Status Checkpointer::WriteCheckpoint() {
  if (files_->log() == nullptr || files_->control() == nullptr) return Status::Ok();
  if (Candidate() <= published()) return Status::Ok();
  const MutexLock guard(&publish_mutex_);
  if (files_->Stopped()) return Status(Code::kStopped, "the log is stopped");
  const Lsn candidate = Candidate();
  if (candidate <= published()) return Status::Ok();
  Status status = gate_ == nullptr ? Status::Ok() : gate_->BeforeCheckpoint();
  if (status.Is(Code::kBusy)) return Status::Ok();
  if (!status.ok()) return status;
  // Every page discarded so far was freed below this, and what the gate let pass lies below.
  const Lsn discards_end = files_->LogTail();
  // Taken after the candidate and before the sync: they include every write that the candidate
  // relies on, and only writes that are durable when they are.
  PageLsns::Copies versions = files_->page_lsns()->CopyChanged();
  status = files_->syncs()->SyncAll();
  if (!status.ok()) return files_->StopEngine("syncing a data file failed", status);
  // The candidate is the smallest of the shards' results and may lie in the gap of a page discarded
  // in another shard: its changes below the candidate are nowhere. That is correct only if recovery
  // finds the group that freed it.
  status = files_->log()->WaitDurable(discards_end);
  if (!status.ok()) return status;
  status = files_->page_lsns()->Write(std::move(versions));
  if (!status.ok()) return files_->StopEngine("writing the page LSNs failed", status);
  status = files_->control()->Update([this, candidate](ControlData& data) {
    data.checkpoint_lsn = candidate;
    data.log_durable_lsn = std::max(data.log_durable_lsn, files_->log()->durable());
    if (gate_ != nullptr) gate_->AtCheckpoint(&data);
  });
  if (!status.ok()) return files_->StopEngine("writing the control file failed", status);
  ROWAN_DCHECK(candidate > published() && candidate <= discards_end);
  ROWAN_DCHECK(files_->log()->durable() >= discards_end);
  ROWAN_DCHECK(!redoing());
  published_.store(candidate, std::memory_order_release);
  files_->log()->SetCheckpoint(candidate);
  AddCounter(Counter::kCheckpoints);
  return Status::Ok();
}

}  // namespace rowan
