// SPDX-License-Identifier: GPL-2.0-only
#include "base/workers.h"

#include <pthread.h>

#include <thread>
#include <utility>
#include <vector>

#include "base/assertions.h"
#include "base/format.h"
#include "base/instruments.h"
#include "base/out_of_memory.h"
#include "base/start_thread.h"

namespace rowan {

Workers::Workers(std::string name, uint32_t count) : name_(std::move(name)), count_(count) {
  ROWAN_CHECK(count > 0);
}

Status Workers::Run(FunctionRef<Status(uint32_t worker)> work) {
  std::vector<std::thread> threads;
  threads.reserve(count_ - 1);
  for (uint32_t worker = 1; worker < count_; ++worker) {
    Result<std::thread> thread = StartThread([this, worker, work] { RunThread(worker, work); });
    if (!thread.ok()) break;  // the others do its part
    threads.push_back(std::move(thread).value());
  }
  RunOne(0, work);
  for (std::thread& thread : threads) thread.join();
  return failure_;
}

void Workers::RunThread(uint32_t worker, FunctionRef<Status(uint32_t worker)> work) {
  const std::string name = Format("{}{}", name_, worker);
  pthread_setname_np(pthread_self(), ("rowan-" + name).substr(0, 15).c_str());
  const Instruments* instruments = CurrentInstruments();
  if (instruments != nullptr) instruments->thread_begins(name.c_str());
  RunOne(worker, work);
  if (instruments != nullptr) instruments->thread_ends();
}

void Workers::RunOne(uint32_t worker, FunctionRef<Status(uint32_t worker)> work) {
  const Status status = OrOutOfMemory([&] { return work(worker); });
  if (!status.ok() && !failed_.exchange(true, std::memory_order_acq_rel)) failure_ = status;
}

}  // namespace rowan
