// SPDX-License-Identifier: GPL-2.0-only
#include "io/thread_batch.h"

#include <pthread.h>

#include <algorithm>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include "base/instruments.h"
#include "base/mutex.h"
#include "base/start_thread.h"
#include "io/batch_requests.h"

namespace rowan {
namespace {

/// Enough to keep a fast device busy with synchronous calls; each costs a stack.
constexpr uint32_t kThreadsMax = 8;

class ThreadBatch final : public WriteBatch {
 public:
  explicit ThreadBatch(uint32_t depth) : depth_(depth) {}
  ~ThreadBatch() override {
    WaitAll().Ignore();  // no caller is left to report to
    {
      const MutexLock lock(&mutex_);
      stopping_ = true;
    }
    work_.NotifyAll();
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
    const MutexLock lock(&mutex_);
    while (unfinished_ != 0) done_.Wait(&mutex_);
    const Status failure = first_failure_;
    first_failure_ = Status::Ok();
    return failure;
  }
  [[nodiscard]] IoBackend backend() const override { return IoBackend::kThreads; }

 private:
  Status Queue(const BatchRequest& request);
  void StartThreads();
  void Run();
  void RunRequests();
  void Remember(Status status) {
    const MutexLock lock(&mutex_);
    if (first_failure_.ok()) first_failure_ = status;
  }

  const uint32_t depth_;
  std::vector<BatchRequest> deferred_;  // for WaitAll: simulated files; the owner's alone
  bool started_ = false;                // threads_, with the first request; the owner's alone
  std::vector<std::thread> threads_;
  Mutex mutex_{LatchRank::kThreadBatch};
  Condition work_;  // a request or the stop arrived
  Condition done_;  // a request finished
  std::deque<BatchRequest> waiting_ ROWAN_GUARDED_BY(mutex_);
  uint32_t unfinished_ ROWAN_GUARDED_BY(mutex_) = 0;  // waiting or being executed
  Status first_failure_ ROWAN_GUARDED_BY(mutex_);
  bool stopping_ ROWAN_GUARDED_BY(mutex_) = false;
};

void ThreadBatch::StartThreads() {
  started_ = true;
  const uint32_t wanted = std::min(depth_, kThreadsMax);
  threads_.reserve(wanted);
  // As many as the system allows; without any the submitter does the work in WaitAll.
  for (uint32_t i = 0; i < wanted; ++i) {
    Result<std::thread> thread = StartThread([this] { Run(); });
    if (!thread.ok()) return;
    threads_.push_back(std::move(thread).value());
  }
}

Status ThreadBatch::Queue(const BatchRequest& request) {
  const bool asynchronous = request.file->descriptor() >= 0;
  if (asynchronous && !started_) StartThreads();
  if (!asynchronous || threads_.empty()) {
    deferred_.push_back(request);
    return Status::Ok();
  }
  {
    const MutexLock lock(&mutex_);
    while (unfinished_ >= depth_) done_.Wait(&mutex_);
    waiting_.push_back(request);
    ++unfinished_;
  }
  work_.NotifyOne();
  return Status::Ok();
}

void ThreadBatch::Run() {
  pthread_setname_np(pthread_self(), "rowan-io");
  const Instruments* instruments = CurrentInstruments();
  if (instruments != nullptr) instruments->thread_begins("io");
  RunRequests();
  if (instruments != nullptr) instruments->thread_ends();
}

void ThreadBatch::RunRequests() {
  MutexLock lock(&mutex_);
  for (;;) {
    // Requests are finished before stopping: their submitter may still own the buffers.
    while (!stopping_ && waiting_.empty()) work_.Wait(&mutex_);
    if (waiting_.empty()) return;
    const BatchRequest request = waiting_.front();
    waiting_.pop_front();
    lock.Unlock();
    const Status status = request.Run();
    lock.Lock();
    if (!status.ok() && first_failure_.ok()) first_failure_ = status;
    --unfinished_;
    done_.NotifyOne();
  }
}

}  // namespace

std::unique_ptr<WriteBatch> MakeThreadBatch(uint32_t depth) {
  return std::make_unique<ThreadBatch>(depth);
}

}  // namespace rowan
