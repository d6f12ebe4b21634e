// SPDX-License-Identifier: GPL-2.0-only
// Guards: how a page in the pool is held. A latched frame cannot be evicted, so the latch is the
// pin. PageGuard holds the shared or exclusive latch until released; OptimisticPage holds nothing
// and must validate. Movable, not copyable, noexcept. A guard belongs to one thread at a time.
#pragma once

#include <utility>

#include "base/assertions.h"
#include "base/bytes.h"
#include "base/ids.h"
#include "base/latch.h"
#include "buffer/frame.h"

namespace rowan {

enum class LatchMode : uint8_t { kNone, kShared, kExclusive };

class PageGuard {
 public:
  PageGuard() = default;
  /// Takes over a latch already held in `mode`.
  PageGuard(Frame* frame, std::byte* page, LatchMode mode)
      : frame_(frame), page_(page), mode_(mode) {
    ROWAN_DCHECK(frame != nullptr && page != nullptr && mode != LatchMode::kNone);
    ROWAN_DCHECK(mode != LatchMode::kExclusive || frame->latch.IsLockedExclusive());
  }
  PageGuard(PageGuard&& other) noexcept
      : frame_(other.frame_), page_(other.page_), mode_(other.mode_) {
    other.mode_ = LatchMode::kNone;
  }
  PageGuard& operator=(PageGuard&& other) noexcept {
    if (this != &other) {
      Release();
      frame_ = other.frame_;
      page_ = other.page_;
      mode_ = std::exchange(other.mode_, LatchMode::kNone);
    }
    return *this;
  }
  ~PageGuard() { Release(); }

  void Release() {
    if (mode_ == LatchMode::kNone) return;
    if (mode_ == LatchMode::kShared) {
      frame_->latch.UnlockShared();
    } else {
      frame_->latch.UnlockExclusive();
    }
    mode_ = LatchMode::kNone;
  }

  /// Forgets the page without releasing the latch: another holder has taken it over.
  void Forget() { mode_ = LatchMode::kNone; }

  [[nodiscard]] bool held() const { return mode_ != LatchMode::kNone; }
  [[nodiscard]] LatchMode mode() const { return mode_; }
  /// REQUIRES for this and all below: held.
  [[nodiscard]] const std::byte* page() const {
    ROWAN_DCHECK(held());
    return page_;
  }
  /// REQUIRES: exclusive, and the change is logged through a MiniTxn.
  [[nodiscard]] std::byte* mutable_page() const {
    ROWAN_DCHECK(mode_ == LatchMode::kExclusive);
    return page_;
  }
  [[nodiscard]] Frame* frame() const {
    ROWAN_DCHECK(held());
    return frame_;
  }
  [[nodiscard]] PageId id() const {
    ROWAN_DCHECK(held());
    return PageId::Unpack(frame_->page_id.load(std::memory_order_relaxed));
  }

 private:
  Frame* frame_ = nullptr;
  std::byte* page_ = nullptr;
  LatchMode mode_ = LatchMode::kNone;
};

/// A page read without a latch. Bytes may change underneath: clamp every offset, and trust nothing
/// before Validate has returned true.
struct OptimisticPage {
  Frame* frame = nullptr;
  const std::byte* page = nullptr;
  Latch::Version version = 0;

  [[nodiscard]] bool Validate() const { return frame->latch.Validate(version); }
};

}  // namespace rowan
