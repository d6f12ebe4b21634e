// SPDX-License-Identifier: GPL-2.0-only
// FaultQueue: an AsyncQueue over simulated files that does what a kernel may do: takes a part of
// what is submitted or nothing, starts requests at once or only when they are waited for, in any
// order, answers with less than was asked for, and cuts links. Which of it happens, QueueFaults
// says. Not thread-safe, as AsyncQueue.
#pragma once

#include <deque>
#include <vector>

#include "base/random.h"
#include "io/async_queue.h"
#include "tests/support/descriptor_table.h"
#include "tests/support/queue_faults.h"

namespace rowan {

class FaultQueue final : public AsyncQueue {
 public:
  struct Below {
    DescriptorTable* descriptors;
    QueueFaults* faults;
  };
  FaultQueue(Below below, QueueKind kind, uint32_t entries, uint64_t seed)
      : below_(below), kind_(kind), entries_(entries), random_(seed) {}
  ~FaultQueue() override;

  void Prepare(const QueueRequest& request) override;
  int Submit() override;
  int SubmitAndWait(uint32_t answers) override;
  int Wait(uint32_t answers) override;
  bool Take(QueueAnswer* answer) override;

 private:
  /// Requests that one Submit took with the links between them, or a single one.
  using Chain = std::vector<QueueRequest>;

  [[nodiscard]] size_t Unanswered() const;
  /// 0 or the -errno with which a Submit fails.
  int RefuseSubmit();
  void RunOneChain();
  int64_t Run(const QueueRequest& request, bool in_chain);
  int64_t Transfer(const QueueRequest& request, uint32_t size_bytes);

  const Below below_;
  const QueueKind kind_;
  const uint32_t entries_;
  Random random_;
  bool refuses_ = false;  ///< for good
  std::deque<QueueRequest> prepared_;
  std::vector<Chain> taken_;
  std::vector<QueueAnswer> answers_;
};

}  // namespace rowan
