// SPDX-License-Identifier: GPL-2.0-only
// A kernel that stays short of memory for good: asynchronous requests end with an error after the
// patience that a shortage is given, which costs nothing in simulated time.
#include <gtest/gtest.h>

#include <vector>

#include "io/linked_write.h"
#include "io/write_batch.h"
#include "tests/simulation/scheduler.h"
#include "tests/support/fault_file_system.h"

namespace rowan {
namespace {

using simulation::Scheduler;

constexpr uint32_t kForEver = UINT32_MAX;
constexpr QueueFault kShortages[] = {QueueFault::kSubmitAgain, QueueFault::kSubmitNoMemory,
                                     QueueFault::kAnswerNoMemory};
constexpr uint32_t kWrites = 20;

void ExpectAnEnd(IoBackend backend, QueueFault fault) {
  SCOPED_TRACE(QueueFaultName(fault));
  FaultFileSystem files(1);
  files.SetAsynchronous(true);
  const std::unique_ptr<File> file = files.Open("db/data", {.create = true}).value();
  const auto batch = MakeWriteBatch(&files, backend, 4, nullptr).value();
  files.queue_faults()->Inject(fault, kForEver);
  const std::vector<std::byte> bytes(512);
  for (uint32_t i = 0; i < kWrites; ++i) batch->Submit(file.get(), i * 512, bytes).Ignore();
  EXPECT_TRUE(batch->WaitAll().Is(Code::kIoError));
}

TEST(ShortageTest, ABatchEndsWithAnErrorWhenAShortageDoesNotPass) {
  Scheduler::Run({.seed = 1}, [] {
    for (const QueueFault fault : kShortages) {
      ExpectAnEnd(IoBackend::kUring, fault);
      ExpectAnEnd(IoBackend::kLibaio, fault);
    }
  });
}

TEST(ShortageTest, ALinkedWriteGoesOnWithPlainCalls) {
  Scheduler::Run({.seed = 1}, [] {
    for (const QueueFault fault : kShortages) {
      SCOPED_TRACE(QueueFaultName(fault));
      FaultFileSystem files(1);
      files.SetAsynchronous(true);
      const std::unique_ptr<File> file = files.Open("db/log", {.create = true}).value();
      std::string refusal;
      const auto writer = LinkedWriter::Make(&files, &refusal).value();
      files.queue_faults()->Inject(fault, kForEver);
      const std::vector<std::byte> bytes(512);
      EXPECT_TRUE(writer->WriteAndSync(file.get(), 0, bytes).ok());
    }
  });
}

}  // namespace
}  // namespace rowan
