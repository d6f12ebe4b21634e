// SPDX-License-Identifier: GPL-2.0-only
// Pacing and running the cleaner threads. See cleaner.h.
#include "buffer/cleaner.h"

#include <algorithm>
#include <chrono>

#include "base/assertions.h"
#include "base/clock.h"
#include "buffer/eviction.h"

namespace rowan {
namespace {

constexpr std::chrono::milliseconds kCleanTick{10};
/// Woken after each sweep; the tick covers what sweeps proved too soon after the last checkpoint.
constexpr std::chrono::milliseconds kCheckpointTick{100};
/// One round of sweeps per this share of the log capacity.
constexpr double kRoundFraction = 0.6;
/// Above this share of the capacity the I/O budget is ignored.
constexpr double kUrgentFraction = 0.85;
/// A checkpoint syncs data files: worth it for this share of the log, or once a second.
constexpr uint64_t kCheckpointsPerCapacity = 16;
constexpr uint64_t kCheckpointMicros = 1'000'000;
/// Unspent budget kept for a burst.
constexpr double kBudgetSeconds = 0.5;
/// Shards per run: small enough that the checkpoint advances during a round.
constexpr uint32_t kShardsPerRun = 16;

}  // namespace

Cleaners::Cleaners(FrameTable* frames, PageFiles* files, Checkpointer* checkpointer,
                   DoublewriteFile* doublewrite, const WriterSlots& slots)
    : frames_(frames),
      files_(files),
      checkpointer_(checkpointer),
      checkpoint_loop_("checkpoint", kCheckpointTick, [this] { return RunCheckpoint(); }),
      pages_per_second_(files->options().io_capacity_pages_per_second) {
  for (uint32_t i = 0; i < slots.cleaners; ++i) {
    writers_.push_back(
        std::make_unique<PageWriter>(frames, files, doublewrite, slots.first_cleaner() + i));
    PageWriter* writer = writers_.back().get();
    loops_.push_back(std::make_unique<ThreadLoop>("clean-" + std::to_string(i), kCleanTick,
                                                  [this, writer] { return RunUnit(writer); }));
  }
}

Status Cleaners::Start() {
  {
    const MutexLock guard(&mutex_);
    paced_lsn_ = files_->LogTail();
    paced_micros_ = MonotonicMicros();
  }
  for (auto& loop : loops_) {
    const Status status = loop->Start();
    if (!status.ok()) return status;
  }
  return checkpoint_loop_.Start();
}

void Cleaners::Stop() {
  for (auto& loop : loops_) loop->Stop();
  checkpoint_loop_.Stop();
}

void Cleaners::Wake() {
  for (auto& loop : loops_) loop->Wake();
  checkpoint_loop_.Wake();
}

void Cleaners::OnLogPressure() {
  pressure_lsn_.store(files_->LogTail(), std::memory_order_release);
  Wake();
}

bool Cleaners::UrgentAt(Lsn lsn) const {
  if (lsn < pressure_lsn_.load(std::memory_order_acquire)) return true;
  const Lsn tail = files_->LogTail();
  const uint64_t age = tail - std::min(tail, lsn);
  return static_cast<double>(age) >
         kUrgentFraction * static_cast<double>(files_->log()->capacity_bytes());
}

void Cleaners::AdvancePace() {
  const uint64_t now = MonotonicMicros();
  const Lsn tail = files_->LogTail();
  const auto micros = static_cast<double>(now - paced_micros_);
  const auto bytes = static_cast<double>(tail - paced_lsn_);
  const auto shards = static_cast<double>(checkpointer_->shard_count());
  const double round_bytes = kRoundFraction * static_cast<double>(files_->log()->capacity_bytes());
  shard_debt_ += shards * bytes / round_bytes;
  if (checkpointer_->published() != tail) {
    shard_debt_ += shards * micros / static_cast<double>(files_->options().idle_round_micros);
  }
  shard_debt_ = std::min(shard_debt_, shards);
  const double capacity = pages_per_second_.load(std::memory_order_relaxed);
  page_budget_ = std::min(page_budget_ + capacity * micros / 1e6, capacity * kBudgetSeconds);
  ROWAN_DCHECK(tail >= paced_lsn_ && now >= paced_micros_);
  ROWAN_DCHECK(shard_debt_ >= 0);
  paced_lsn_ = tail;
  paced_micros_ = now;
}

void Cleaners::AdvanceAge(uint64_t now_micros) {
  if (now_micros - sampled_micros_ < files_->options().idle_round_micros / 2) return;
  // Changes below the last sample are half a round old by now.
  checkpointer_->SetAged(sampled_lsn_);
  sampled_lsn_ = files_->LogTail();
  sampled_micros_ = now_micros;
}

Cleaners::Quota Cleaners::TakeQuota() {
  // What is swept but not yet published is left to the checkpoint thread.
  const bool urgent = UrgentAt(checkpointer_->Candidate());
  const MutexLock guard(&mutex_);
  AdvancePace();
  AdvanceAge(paced_micros_);
  const uint32_t shards = checkpointer_->shard_count();
  Quota quota;
  quota.mode = urgent ? SweepMode::kUrgent : SweepMode::kLazy;
  if (urgent) {
    // A quarter of a round, then the checkpoint: waiting sessions get log space in steps.
    quota.count = std::max<uint32_t>(1, std::min(shards, std::max(kShardsPerRun, shards / 4)));
  } else if (page_budget_ > 0) {
    quota.count = std::min(static_cast<uint32_t>(shard_debt_), std::min(kShardsPerRun, shards));
  }
  ROWAN_DCHECK(quota.count <= shards);
  quota.first = next_shard_ % shards;
  next_shard_ = (quota.first + quota.count) % shards;
  shard_debt_ = std::max(0.0, shard_debt_ - quota.count);
  return quota;
}

void Cleaners::SpendBudget(uint64_t pages) {
  const MutexLock guard(&mutex_);
  page_budget_ -= static_cast<double>(pages);
}

Status Cleaners::CleanAhead(PageWriter* writer) {
  const uint32_t frames = frames_->limit();
  const uint64_t start = frames_->clock_hand()->position();
  writer->SetReason(FlushReason::kEviction);
  // The stretch that the hand will pass next, one to a few batches.
  const uint64_t stretch = std::clamp<uint64_t>(frames / 8, 64, 4096);
  for (uint64_t i = 0; i < std::min<uint64_t>(stretch, frames) && !writer->full(); ++i) {
    Frame* frame = frames_->frame(static_cast<uint32_t>((start + i) % frames));
    if (frame->usage.load(std::memory_order_relaxed) > kUsageEntered) continue;
    (void)writer->TryAdd(frame);
  }
  return writer->Flush();
}

ThreadLoop::Next Cleaners::RunCheckpoint() {
  if (files_->log() == nullptr || files_->Stopped()) return ThreadLoop::Next::kWait;
  const Lsn published = checkpointer_->published();
  const Lsn candidate = checkpointer_->Candidate();
  if (candidate <= published) return ThreadLoop::Next::kWait;
  const uint64_t gain = candidate - published;
  const uint64_t now = MonotonicMicros();
  const bool worth_it = UrgentAt(published) ||
                        gain >= files_->log()->capacity_bytes() / kCheckpointsPerCapacity ||
                        now - checkpoint_micros_ >= kCheckpointMicros;
  if (!worth_it) return ThreadLoop::Next::kWait;
  checkpoint_micros_ = now;
  // A failure has stopped the log and told the operator.
  checkpointer_->WriteCheckpoint().Ignore();
  return ThreadLoop::Next::kWait;
}

ThreadLoop::Next Cleaners::RunUnit(PageWriter* writer) {
  if (files_->log() == nullptr || files_->Stopped()) return ThreadLoop::Next::kWait;
  const uint64_t written_before = writer->pages_written();
  Status status;
  bool again = false;
  if (frames_->TakeWantCleanFrames()) {
    status = CleanAhead(writer);
  }
  // During redo a sweep proves nothing: write only to make room in the pool.
  const Quota quota = checkpointer_->redoing() ? Quota{} : TakeQuota();
  if (status.ok() && quota.count > 0) {
    const bool urgent = quota.mode == SweepMode::kUrgent;
    writer->SetReason(urgent ? FlushReason::kLogFull : FlushReason::kCheckpoint);
    status = checkpointer_->Sweep(writer, quota.first, quota.count, quota.mode);
    if (status.ok()) checkpoint_loop_.Wake();
    again = quota.mode == SweepMode::kUrgent || quota.count == kShardsPerRun;
  }
  SpendBudget(writer->pages_written() - written_before);
  // A failure has stopped the log and told the operator: nothing is left to write.
  return again && status.ok() ? ThreadLoop::Next::kAgain : ThreadLoop::Next::kWait;
}

}  // namespace rowan
