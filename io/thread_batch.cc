// SPDX-License-Identifier: GPL-2.0-only
#include "io/thread_batch.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "io/batch_requests.h"

namespace rowan {
namespace {

/// Enough to keep a fast device busy with synchronous calls; each costs a stack.
constexpr uint32_t kThreadsMax = 8;

class ThreadBatch final : public WriteBatch {
 public:
  explicit ThreadBatch(uint32_t depth) : depth_(depth) {}
  ~ThreadBatch() override {
    WaitAll().Ignore();  // nobody is left to hear of it
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    work_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  Status Submit(File* file, uint64_t offset, Bytes bytes) override {
    return Queue({file, offset, const_cast<std::byte*>(bytes.data()), bytes.size(), true});
  }
  Status SubmitRead(File* file, uint64_t offset, MutableBytes buffer) override {
    return Queue({file, offset, buffer.data(), buffer.size(), false});
  }
  void Send() override {}  // the threads begin at once
  Status WaitAll() override {
    for (const BatchRequest& request : std::exchange(deferred_, {})) Remember(request.Run());
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return unfinished_ == 0; });
    const Status failure = first_failure_;
    first_failure_ = Status::Ok();
    return failure;
  }
  [[nodiscard]] IoBackend backend() const override { return IoBackend::kThreads; }

 private:
  Status Queue(const BatchRequest& request);
  void StartThreads();
  void Run();
  void Remember(Status status) {
    std::lock_guard lock(mutex_);
    if (first_failure_.ok()) first_failure_ = status;
  }

  const uint32_t depth_;
  std::vector<BatchRequest> deferred_;  // for WaitAll: simulated files; the owner's alone
  bool started_ = false;                // threads_, with the first request; the owner's alone
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable work_;      // a request or the stop arrived
  std::condition_variable done_;      // a request finished
  std::deque<BatchRequest> waiting_;  // guarded by mutex_, as all below
  uint32_t unfinished_ = 0;           // waiting or being executed
  Status first_failure_;
  bool stopping_ = false;
};

void ThreadBatch::StartThreads() {
  started_ = true;
  try {
    for (uint32_t i = 0; i < std::min(depth_, kThreadsMax); ++i) {
      threads_.emplace_back([this] { Run(); });
    }
  } catch (const std::system_error&) {
    // As many as the system allows; without any the submitter does the work in WaitAll.
  }
}

Status ThreadBatch::Queue(const BatchRequest& request) {
  const bool asynchronous = request.file->descriptor() >= 0;
  if (asynchronous && !started_) StartThreads();
  if (!asynchronous || threads_.empty()) {
    deferred_.push_back(request);
    return Status::Ok();
  }
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return unfinished_ < depth_; });
  waiting_.push_back(request);
  ++unfinished_;
  lock.unlock();
  work_.notify_one();
  return Status::Ok();
}

void ThreadBatch::Run() {
  pthread_setname_np(pthread_self(), "rowan-io");
  std::unique_lock lock(mutex_);
  for (;;) {
    // Requests are finished before stopping: their submitter may still own the buffers.
    work_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const BatchRequest request = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    const Status status = request.Run();
    lock.lock();
    if (!status.ok() && first_failure_.ok()) first_failure_ = status;
    --unfinished_;
    done_.notify_one();
  }
}

}  // namespace

std::unique_ptr<WriteBatch> MakeThreadBatch(uint32_t depth) {
  return std::make_unique<ThreadBatch>(depth);
}

}  // namespace rowan
