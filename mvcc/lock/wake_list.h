// SPDX-License-Identifier: GPL-2.0-only
// WakeList: requests to be woken after the bucket latch is released. Thread safety: none; lives on
// the stack of the granter.
#pragma once

#include <array>
#include <cstddef>

#include "mvcc/lock/lock_request.h"

namespace rowan {

class WakeList {
 public:
  WakeList() = default;
  ~WakeList() { WakeAll(); }
  WakeList(const WakeList&) = delete;
  WakeList& operator=(const WakeList&) = delete;

  /// May wake some at once when there are many.
  void Add(LockRequest* request) {
    if (count_ == kRoom) WakeAll();
    requests_[count_++] = request;
  }
  void WakeAll() {
    for (size_t i = 0; i < count_; ++i) requests_[i]->Wake();
    count_ = 0;
  }

 private:
  static constexpr size_t kRoom = 16;
  std::array<LockRequest*, kRoom> requests_;
  size_t count_ = 0;
};

}  // namespace rowan
