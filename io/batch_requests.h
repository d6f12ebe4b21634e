// SPDX-License-Identifier: GPL-2.0-only
// The requests that an asynchronous batch has in flight: a fixed table of slots, continuation of
// short transfers and the first failure. Used by the backends that talk to the kernel themselves.
// Not thread-safe; belongs to one batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "io/file.h"
#include "io/resource_shortage.h"

namespace rowan {

struct BatchRequest {
  File* file = nullptr;
  uint64_t offset = 0;
  std::byte* data = nullptr;  // only read from when `write`
  size_t remaining_bytes = 0;
  bool write = false;

  /// Bytes to ask for in one system request; the kernel's own limit is a little under 2 GiB.
  [[nodiscard]] uint32_t NextBytes() const {
    constexpr size_t kRequestBytesMax = size_t{1} << 30;
    return static_cast<uint32_t>(remaining_bytes < kRequestBytesMax ? remaining_bytes
                                                                    : kRequestBytesMax);
  }
  /// Runs the request on the calling thread.
  [[nodiscard]] Status Run() const {
    return write ? file->Write(offset, {data, remaining_bytes})
                 : file->Read(offset, {data, remaining_bytes});
  }
};

class BatchRequests {
 public:
  enum class Outcome { kFinished, kContinue };

  explicit BatchRequests(uint32_t depth);

  [[nodiscard]] bool HasFreeSlot() const { return !free_slots_.empty(); }
  [[nodiscard]] bool AllFree() const { return free_slots_.size() == requests_.size(); }
  /// REQUIRES HasFreeSlot().
  uint32_t Take(const BatchRequest& request);
  [[nodiscard]] const BatchRequest& at(uint32_t slot) const { return requests_[slot]; }

  /// Accounts for the kernel's answer (bytes, or -errno). kContinue: a part is left (or nothing was
  /// started) and must be submitted again; kFinished: the slot is free.
  Outcome Complete(uint32_t slot, int64_t answer);
  /// Gives up a request that never reached the kernel.
  void Abandon(uint32_t slot, Status failure);

  /// Keeps a request for a file without a descriptor until RunDeferred.
  void Defer(const BatchRequest& request) { deferred_.push_back(request); }
  /// Runs them on the calling thread, in order.
  void RunDeferred();
  /// First failure since the last call; forgets it.
  Status TakeFailure();

 private:
  void Remember(Status failure);

  std::vector<BatchRequest> deferred_;
  std::vector<BatchRequest> requests_;
  std::vector<uint32_t> free_slots_;
  Status first_failure_;
  ShortageWait wait_{"An asynchronous request"};
};

}  // namespace rowan
