// SPDX-License-Identifier: GPL-2.0-only
#include "io/batch_requests.h"

#include <cerrno>

#include "base/assertions.h"
#include "io/full_disk_log.h"
#include "io/posix_file.h"

namespace rowan {

BatchRequests::BatchRequests(uint32_t depth) : requests_(depth) {
  free_slots_.reserve(depth);
  for (uint32_t slot = depth; slot > 0; --slot) free_slots_.push_back(slot - 1);
}

uint32_t BatchRequests::Take(const BatchRequest& request) {
  ROWAN_CHECK(HasFreeSlot());
  const uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  requests_[slot] = request;
  return slot;
}

BatchRequests::Outcome BatchRequests::Complete(uint32_t slot, int64_t answer) {
  BatchRequest& request = requests_[slot];
  ROWAN_CHECK(request.file != nullptr);
  if (answer == -EINTR || answer == -EAGAIN) return Outcome::kContinue;
  if (answer == -ENOMEM && wait_.Again(ENOMEM)) return Outcome::kContinue;
  if (answer > 0) {
    wait_.Reset();
    const auto done = static_cast<size_t>(answer);
    ROWAN_CHECK(done <= request.remaining_bytes);
    request.offset += done;
    request.data += done;
    request.remaining_bytes -= done;
    if (request.remaining_bytes > 0) return Outcome::kContinue;
  } else if (request.remaining_bytes > 0) {
    const int error = static_cast<int>(-answer);
    if (error != 0 || request.write) {
      LogFailedCall(request.write ? "Asynchronous write" : "Asynchronous read",
                    request.file->path(), request.offset, error);
    }
    Remember(error == 0 ? Status(Code::kIoError, "read beyond the end of the file", 0)
                        : StatusFromErrno(error, "asynchronous input or output failed"));
  }
  request.file = nullptr;
  free_slots_.push_back(slot);
  return Outcome::kFinished;
}

void BatchRequests::Abandon(uint32_t slot, Status failure) {
  Remember(failure);
  requests_[slot].file = nullptr;
  free_slots_.push_back(slot);
}

void BatchRequests::RunDeferred() {
  for (const BatchRequest& request : deferred_) {
    const Status status = request.Run();
    if (!status.ok()) Remember(status);
  }
  deferred_.clear();
}

Status BatchRequests::TakeFailure() {
  const Status failure = first_failure_;
  first_failure_ = Status::Ok();
  return failure;
}

void BatchRequests::Remember(Status failure) {
  if (first_failure_.ok()) first_failure_ = failure;
}

}  // namespace rowan
