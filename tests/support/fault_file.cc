// SPDX-License-Identifier: GPL-2.0-only
#include "tests/support/fault_file.h"

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>
#include "tests/support/quiet_memory.h"

namespace rowan {

FaultFile::FaultFile(FaultFileSystem* owner, std::string path, FileOptions options,
                     std::shared_ptr<SimulatedInode> inode, uint64_t generation)
    : owner_(owner),
      path_(std::move(path)),
      options_(options),
      atomic_(options.atomic),
      inode_(std::move(inode)),
      generation_(generation),
      descriptor_(owner->asynchronous_.load() ? owner->descriptors_.Add(this) : -1) {}

FaultFile::~FaultFile() {
  const QuietMemory quiet;
  if (descriptor_ >= 0) owner_->descriptors_.Remove(descriptor_);
  if (locked_.load(std::memory_order_relaxed)) owner_->Unlock(inode_.get(), this);
}

Status FaultFile::Lock() {
  const QuietMemory quiet;
  const Status usable = CheckUse(true);
  if (!usable.ok()) return usable;
  if (owner_->powered_off()) return Status(Code::kIoError, "power is off", EIO);
  if (!owner_->TryLock(inode_.get(), this)) {
    return Status(Code::kBusy, "another process has locked the file");
  }
  locked_.store(true, std::memory_order_relaxed);
  return Status::Ok();
}

Status FaultFile::CheckUse(bool writing) const {
  if (owner_->generation_.load() != generation_) {
    return Status(Code::kIoError, "the file was opened before the crash", EBADF);
  }
  if (writing && options_.read_only) {
    return Status(Code::kIoError, "the file was opened for reading", EBADF);
  }
  return Status::Ok();
}

Status FaultFile::CheckTransfer(uint64_t offset, Bytes bytes) const {
  if (!options_.direct) return Status::Ok();
  const uint64_t address = reinterpret_cast<uintptr_t>(bytes.data());
  if (offset % kDirectAlignment == 0 && bytes.size() % kDirectAlignment == 0 &&
      address % kDirectAlignment == 0) {
    return Status::Ok();
  }
  return Status(Code::kIoError, "direct transfer is not aligned", EINVAL);
}

SimulatedInode::Change FaultFile::ChangeFor(const Verdict& verdict) const {
  const bool through = options_.write_through && verdict.power == Power::kOn;
  return {.sequence = verdict.sequence,
          .durability =
              through ? SimulatedInode::Durability::kThrough : SimulatedInode::Durability::kCached,
          .untorn = atomic_.load(std::memory_order_relaxed)};
}

Status FaultFile::Read(uint64_t offset, MutableBytes buffer) {
  const QuietMemory quiet;
  Status status = CheckUse(false);
  if (status.ok()) status = CheckTransfer(offset, buffer);
  if (!status.ok()) return status;
  const Verdict verdict = owner_->Enter(FileCall::kRead, path_);
  if (verdict.faulty && verdict.fault.effect == InjectedFault::Effect::kShort) {
    (void)inode_->Read(offset, buffer.first(buffer.size() / 2));
  }
  if (!verdict.status.ok()) return verdict.status;
  if (inode_->Read(offset, buffer)) return Status::Ok();
  return Status(Code::kIoError, "read beyond the end of the file", 0);
}

Status FaultFile::Write(uint64_t offset, Bytes bytes) {
  const QuietMemory quiet;
  owner_->bytes_given_ += bytes.size();
  Status status = CheckUse(true);
  if (status.ok()) status = CheckTransfer(offset, bytes);
  if (status.ok() && atomic_.load(std::memory_order_relaxed) &&
      bytes.size() > owner_->atomic_unit_max_.load()) {
    status = Status(Code::kIoError, "write is too large to be untorn", EINVAL);
  }
  if (!status.ok()) return status;
  const Verdict verdict = owner_->Enter(FileCall::kWrite, path_);
  if (verdict.faulty && verdict.fault.effect == InjectedFault::Effect::kShort) {
    constexpr size_t kSector = 512;
    // All or nothing, also when it fails.
    if (atomic_.load(std::memory_order_relaxed)) return verdict.status;
    inode_->Write(offset, bytes.first(bytes.size() / 2 / kSector * kSector), ChangeFor(verdict));
    return verdict.status;
  }
  if (!verdict.status.ok() && verdict.power != Power::kCutNow) return verdict.status;
  if (verdict.faulty && verdict.fault.effect == InjectedFault::Effect::kDropWrite) {
    return verdict.status;
  }
  if (verdict.faulty && verdict.fault.effect == InjectedFault::Effect::kMisdirectWrite) {
    offset += verdict.fault.misdirect_bytes;
  }
  inode_->Write(offset, bytes, ChangeFor(verdict));
  return verdict.status;
}

Status FaultFile::Sync(SyncMethod) {
  const QuietMemory quiet;
  const Status usable = CheckUse(false);
  if (!usable.ok()) return usable;
  if (const uint32_t delay_us = owner_->sync_delay_us_.load(); delay_us > 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
  }
  const Verdict verdict = owner_->Enter(FileCall::kSync, path_);
  // Without power nothing is decided yet: the crash decides over all that is unsynced.
  if (verdict.power != Power::kOn) return verdict.status;
  if (verdict.status.ok()) {
    inode_->Sync();
  } else {
    owner_->FailSync(*inode_);
  }
  return verdict.status;
}

Result<uint64_t> FaultFile::Size() {
  const Status usable = CheckUse(false);
  if (!usable.ok()) return usable;
  if (owner_->powered_off()) return Status(Code::kIoError, "power is off", EIO);
  return inode_->Size();
}

Status FaultFile::Truncate(uint64_t size_bytes) {
  const QuietMemory quiet;
  const Status usable = CheckUse(true);
  if (!usable.ok()) return usable;
  const Verdict verdict = owner_->Enter(FileCall::kTruncate, path_);
  if (!verdict.status.ok() && verdict.power != Power::kCutNow) return verdict.status;
  inode_->Truncate(size_bytes, ChangeFor(verdict));
  return verdict.status;
}

Status FaultFile::Punch(uint64_t offset, uint64_t length) {
  const QuietMemory quiet;
  const Status usable = CheckUse(true);
  if (!usable.ok()) return usable;
  const Verdict verdict = owner_->Enter(FileCall::kPunch, path_);
  if (!verdict.status.ok() && verdict.power != Power::kCutNow) return verdict.status;
  // Until it is synced, any part of the old bytes may come back.
  inode_->Punch(offset, length, ChangeFor(verdict));
  return verdict.status;
}

Status FaultFile::Allocate(uint64_t offset, uint64_t length) {
  const QuietMemory quiet;
  const Status usable = CheckUse(true);
  if (!usable.ok()) return usable;
  const Verdict verdict = owner_->Enter(FileCall::kAllocate, path_);
  if (!verdict.status.ok() && verdict.power != Power::kCutNow) return verdict.status;
  inode_->Extend(offset + length, ChangeFor(verdict));
  return verdict.status;
}

}  // namespace rowan
