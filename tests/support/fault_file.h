// SPDX-License-Identifier: GPL-2.0-only
// One open handle of a FaultFileSystem. Thread safety: as io/file.h demands.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "io/atomic_write.h"
#include "io/file.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/simulated_inode.h"

namespace rowan {

class FaultFile final : public File {
 public:
  FaultFile(FaultFileSystem* owner, std::string path, FileOptions options,
            std::shared_ptr<SimulatedInode> inode, uint64_t generation);
  ~FaultFile() override;

  Status Read(uint64_t offset, MutableBytes buffer) override;
  Status Write(uint64_t offset, Bytes bytes) override;
  Status Sync(SyncMethod method) override;
  Status Lock() override;
  Result<uint64_t> Size() override;
  Status Truncate(uint64_t size_bytes) override;
  Status Allocate(uint64_t offset, uint64_t length) override;
  Status Punch(uint64_t offset, uint64_t length) override;
  [[nodiscard]] int descriptor() const override { return descriptor_; }
  [[nodiscard]] int write_flags() const override {
    return atomic_.load(std::memory_order_relaxed) ? kWriteAtomicFlag : 0;
  }
  void SetAtomic(bool atomic) override { atomic_.store(atomic, std::memory_order_relaxed); }
  [[nodiscard]] const std::string& path() const override { return path_; }

 private:
  using Power = FaultFileSystem::Power;
  using Verdict = FaultFileSystem::Verdict;

  [[nodiscard]] Status CheckUse(bool writing) const;
  [[nodiscard]] Status CheckTransfer(uint64_t offset, Bytes bytes) const;
  /// A change that the power loss caught is never certain to be durable.
  [[nodiscard]] SimulatedInode::Change ChangeFor(const Verdict& verdict) const;

  FaultFileSystem* const owner_;
  const std::string path_;
  const FileOptions options_;
  std::atomic<bool> atomic_;
  const std::shared_ptr<SimulatedInode> inode_;
  const uint64_t generation_;
  const int descriptor_;
  std::atomic<bool> locked_{false};  ///< this handle once got the lock
};

}  // namespace rowan
