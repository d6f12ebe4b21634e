// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/purge/purge_pressure.h"

#include <algorithm>

#include "base/assertions.h"

namespace rowan {
namespace {

/// Long enough that a change of the backlog is more than noise.
constexpr uint64_t kLookNanos = 50'000'000;
constexpr uint32_t kDelayUsMin = 500;
/// A page of undo holds some hundred records: this is a thousand changes a second per session, with
/// which any purge keeps up.
constexpr uint32_t kDelayUsMax = 100'000;

}  // namespace

void PurgePressure::Update(Csn horizon, uint64_t now_nanos) {
  if (streams_ == nullptr || now_nanos - looked_nanos_ < kLookNanos) return;
  looked_nanos_ = now_nanos;
  const UndoStreams::Backlog backlog = streams_->FindBacklog(horizon);
  const bool grows = backlog.purgeable >= lag();
  const uint64_t lag_max = lag_max_.load(std::memory_order_relaxed);
  uint32_t delay_us = delay_us_.load(std::memory_order_relaxed);
  if (lag_max == 0 || backlog.purgeable <= lag_max) {
    delay_us = 0;
  } else if (grows) {
    delay_us = std::clamp(2 * delay_us, kDelayUsMin, kDelayUsMax);
  } else {
    delay_us = delay_us < kDelayUsMin ? 0 : delay_us - delay_us / 4;
  }
  ROWAN_DCHECK(backlog.purgeable + backlog.blocked <= backlog.kept);
  ROWAN_DCHECK(delay_us <= kDelayUsMax);
  lag_.store(backlog.purgeable, std::memory_order_relaxed);
  blocked_.store(backlog.blocked, std::memory_order_relaxed);
  kept_.store(backlog.kept, std::memory_order_relaxed);
  delay_us_.store(delay_us, std::memory_order_relaxed);
  streams_->SetWriterDelay(delay_us);
}

}  // namespace rowan
