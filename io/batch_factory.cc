// SPDX-License-Identifier: GPL-2.0-only
// Chooses a backend by trying it: a kernel's version does not tell whether it permits io_uring.
#include "base/format.h"
#include "io/queue_batch.h"
#include "io/thread_batch.h"
#include "io/write_batch.h"

namespace rowan {
namespace {

/// The kernel's limit for one ring.
constexpr uint32_t kDepthMax = 4096;

Result<std::unique_ptr<WriteBatch>> Try(FileSystem* file_system, IoBackend backend, uint32_t depth,
                                        std::string* refusal) {
  switch (backend) {
    case IoBackend::kUring: return MakeQueueBatch(file_system, QueueKind::kUring, depth, refusal);
    case IoBackend::kLibaio: return MakeQueueBatch(file_system, QueueKind::kLibaio, depth, refusal);
    case IoBackend::kThreads: return MakeThreadBatch(depth);
    case IoBackend::kAuto: break;
  }
  return Status(Code::kInvalidArgument, "not one backend");
}

}  // namespace

const char* IoBackendName(IoBackend backend) {
  switch (backend) {
    case IoBackend::kAuto: return "auto";
    case IoBackend::kUring: return "uring";
    case IoBackend::kLibaio: return "libaio";
    case IoBackend::kThreads: return "threads";
  }
  return "unknown";
}

Result<std::unique_ptr<WriteBatch>> MakeWriteBatch(FileSystem* file_system, IoBackend backend,
                                                   uint32_t depth, std::string* reason) {
  std::string ignored;
  if (reason == nullptr) reason = &ignored;
  if (depth == 0 || depth > kDepthMax) {
    *reason = Format("The depth of an I/O batch must be from 1 to {}, not {}.", kDepthMax, depth);
    return Status(Code::kInvalidArgument, "bad depth of an I/O batch");
  }
  std::string refusal;
  if (backend != IoBackend::kAuto) {
    auto batch = Try(file_system, backend, depth, &refusal);
    *reason = batch.ok() ? Format("Using {} as configured.", IoBackendName(backend))
                         : Format("{}.", refusal);
    return batch;
  }
  std::string refusals;
  for (const IoBackend candidate : {IoBackend::kUring, IoBackend::kLibaio}) {
    auto batch = Try(file_system, candidate, depth, &refusal);
    if (batch.ok()) {
      *reason = Format("Using {}{}.", IoBackendName(candidate),
                       refusals.empty() ? ", the first choice" : " because" + refusals);
      return batch;
    }
    refusals += (refusals.empty() ? " " : " and ") + refusal;
  }
  *reason = Format("Using threads because{}.", refusals);
  return MakeThreadBatch(depth);
}

}  // namespace rowan
