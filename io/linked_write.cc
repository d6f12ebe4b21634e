// SPDX-License-Identifier: GPL-2.0-only
#include "io/linked_write.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assertions.h"
#include "base/instruments.h"
#include "base/logging.h"
#include "io/full_disk_log.h"
#include "io/posix_file.h"
#include "io/resource_shortage.h"

namespace rowan {
namespace {

constexpr uint32_t kEntries = 4;
/// Marks of the two requests in their answers.
constexpr uint64_t kWriteMark = 1;
constexpr uint64_t kSyncMark = 2;
/// More goes through plain calls: one request's length is 32 bits.
constexpr size_t kLinkedBytesMax = size_t{1} << 30;

Status LinkFailed(const File& file, const char* call, uint64_t offset, int64_t answer) {
  const int error = static_cast<int>(-answer);
  LogFailedCall(call, file.path(), offset, error);
  return StatusFromErrno(error, "io_uring cannot write or sync file");
}

Status WriteAndSyncPlainly(File* file, uint64_t offset, Bytes bytes) {
  const Status status = file->Write(offset, bytes);
  if (!status.ok()) return status;
  return file->Sync(SyncMethod::kFdatasync);
}

}  // namespace

Result<std::unique_ptr<LinkedWriter>> LinkedWriter::Make(FileSystem* file_system,
                                                         std::string* refusal) {
  Result<std::unique_ptr<AsyncQueue>> queue =
      file_system->MakeQueue(QueueKind::kUring, kEntries, refusal);
  if (!queue.ok()) return queue.status();
  return std::unique_ptr<LinkedWriter>(new LinkedWriter(std::move(queue).value()));
}

int LinkedWriter::SubmitBoth(bool* linked) {
  ShortageWait wait("A linked write");
  int submitted = 0;
  while (submitted < 2) {
    const int taken = queue_->SubmitAndWait(2);
    if (taken > 0) {
      submitted += taken;
      *linked = *linked && taken == 2;
      continue;
    }
    if (taken == -EINTR) continue;
    const int error = taken == 0 ? EAGAIN : -taken;
    const bool passing = error == EBUSY || IsResourceShortage(error);
    if (passing && wait.Again(error)) continue;
    LogError("io_uring refused a linked write: {} (errno {}). Plain calls are used from now on.",
             std::strerror(error), error);
    refused_ = true;
    break;
  }
  return submitted;
}

LinkedWriter::Answers LinkedWriter::Run() {
  Answers answers;
  for (int unanswered = SubmitBoth(&answers.linked); unanswered > 0;) {
    int error;
    do {
      error = queue_->Wait(1);
    } while (error == -EINTR || error == -EAGAIN);
    ROWAN_CHECK(error == 0);  // the buffer is with the kernel: there is no safe way to go on
    QueueAnswer answer;
    for (; queue_->Take(&answer); --unanswered) {
      (answer.mark == kWriteMark ? answers.write : answers.sync) = answer.result;
    }
  }
  return answers;
}

Status LinkedWriter::WriteAndSync(File* file, uint64_t offset, Bytes bytes) {
  ROWAN_CHECK(file->descriptor() >= 0);
  if (refused_ || bytes.size() > kLinkedBytesMax) return WriteAndSyncPlainly(file, offset, bytes);
  queue_->Prepare({.kind = QueueRequest::Kind::kWrite,
                   .descriptor = file->descriptor(),
                   .offset = offset,
                   .data = const_cast<std::byte*>(bytes.data()),
                   .size_bytes = static_cast<uint32_t>(bytes.size()),
                   .write_flags = file->write_flags(),
                   .linked = true,
                   .mark = kWriteMark});
  queue_->Prepare(
      {.kind = QueueRequest::Kind::kSyncData, .descriptor = file->descriptor(), .mark = kSyncMark});
  Answers answers;
  {
    const FileWait instrumented(file->instrument(), FileWaitKind::kSync, bytes.size());
    answers = Run();
  }
  const bool synced = answers.sync == 0;
  if (!synced && answers.sync != -ECANCELED) {
    // Also if the write has to be redone.
    return LinkFailed(*file, "io_uring fdatasync", offset, answers.sync);
  }
  if (answers.write < 0 && answers.write != -EINTR && answers.write != -ECANCELED &&
      !IsResourceShortage(static_cast<int>(-answers.write))) {
    return LinkFailed(*file, "io_uring write", offset, answers.write);
  }
  // What was not written, or not taken by the kernel at all, goes through plain calls; the sync
  // must then be repeated, because it was cancelled or came too early.
  const size_t done = answers.write < 0 ? 0 : static_cast<size_t>(answers.write);
  if (done < bytes.size()) return WriteAndSyncPlainly(file, offset + done, bytes.subspan(done));
  // A chain ends with its submission: if the two were taken one by one, the sync may have overtaken
  // the write.
  return synced && answers.linked ? Status::Ok() : file->Sync(SyncMethod::kFdatasync);
}

}  // namespace rowan
