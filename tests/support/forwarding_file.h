// SPDX-License-Identifier: GPL-2.0-only
// ForwardingFile: a file that leaves everything to another one, for doubles that change one call.
// Thread safety: that of the file below.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "io/file.h"

namespace rowan {

class ForwardingFile : public File {
 public:
  explicit ForwardingFile(std::unique_ptr<File> below) : below_(std::move(below)) {}

  Status Read(uint64_t offset, MutableBytes buffer) override {
    return below_->Read(offset, buffer);
  }
  Status Write(uint64_t offset, Bytes bytes) override { return below_->Write(offset, bytes); }
  Status Sync(SyncMethod method) override { return below_->Sync(method); }
  Status Lock() override { return below_->Lock(); }
  Result<uint64_t> Size() override { return below_->Size(); }
  Status Truncate(uint64_t size_bytes) override { return below_->Truncate(size_bytes); }
  Status Allocate(uint64_t offset, uint64_t length) override {
    return below_->Allocate(offset, length);
  }
  Status Punch(uint64_t offset, uint64_t length) override { return below_->Punch(offset, length); }
  [[nodiscard]] int descriptor() const override { return below_->descriptor(); }
  void SetAtomic(bool atomic) override { below_->SetAtomic(atomic); }
  [[nodiscard]] const std::string& path() const override { return below_->path(); }

 private:
  const std::unique_ptr<File> below_;
};

}  // namespace rowan
