// SPDX-License-Identifier: GPL-2.0-only
#include "wal/sync_strategy.h"

#include <utility>

#include "base/assertions.h"
#include "io/linked_write.h"

namespace rowan {
namespace {

class SeparateSync final : public SyncStrategy {
 public:
  explicit SeparateSync(SyncMethod sync) : sync_(sync) {}
  [[nodiscard]] LogSyncMethod method() const override {
    return sync_ == SyncMethod::kFsync ? LogSyncMethod::kFsync : LogSyncMethod::kFdatasync;
  }
  [[nodiscard]] Kind kind() const override { return Kind::kSeparate; }
  Status Sync(File* file) override { return file->Sync(sync_); }

 private:
  const SyncMethod sync_;
};

class ThroughSync final : public SyncStrategy {
 public:
  explicit ThroughSync(bool direct) : direct_(direct) {}
  [[nodiscard]] LogSyncMethod method() const override {
    return direct_ ? LogSyncMethod::kDirectDsync : LogSyncMethod::kDsync;
  }
  [[nodiscard]] Kind kind() const override { return Kind::kThrough; }
  [[nodiscard]] FileOptions open_options() const override {
    FileOptions options;
    options.direct = direct_;
    options.write_through = true;
    return options;
  }
  Status Sync(File* file) override { return file->Sync(SyncMethod::kFdatasync); }
  Status WriteAndSync(File* file, uint64_t offset, Bytes bytes) override {
    return file->Write(offset, bytes);
  }

 private:
  const bool direct_;
};

class UringSync final : public SyncStrategy {
 public:
  explicit UringSync(std::unique_ptr<LinkedWriter> writer) : writer_(std::move(writer)) {}
  [[nodiscard]] LogSyncMethod method() const override { return LogSyncMethod::kUring; }
  [[nodiscard]] Kind kind() const override { return Kind::kCombined; }
  Status Sync(File* file) override { return file->Sync(SyncMethod::kFdatasync); }
  Status WriteAndSync(File* file, uint64_t offset, Bytes bytes) override {
    if (file->descriptor() >= 0) return writer_->WriteAndSync(file, offset, bytes);
    return SyncStrategy::WriteAndSync(file, offset, bytes);
  }

 private:
  const std::unique_ptr<LinkedWriter> writer_;
};

}  // namespace

Result<std::unique_ptr<SyncStrategy>> MakeSyncStrategy(FileSystem* file_system,
                                                       LogSyncMethod method, std::string* reason) {
  ROWAN_CHECK(method != LogSyncMethod::kAuto);
  std::unique_ptr<SyncStrategy> strategy;
  switch (method) {
    case LogSyncMethod::kFsync:
      strategy = std::make_unique<SeparateSync>(SyncMethod::kFsync);
      break;
    case LogSyncMethod::kAuto:
    case LogSyncMethod::kFdatasync:
      strategy = std::make_unique<SeparateSync>(SyncMethod::kFdatasync);
      break;
    case LogSyncMethod::kDsync:
    case LogSyncMethod::kDirectDsync:
      strategy = std::make_unique<ThroughSync>(method == LogSyncMethod::kDirectDsync);
      break;
    case LogSyncMethod::kUring: {
      Result<std::unique_ptr<LinkedWriter>> writer = LinkedWriter::Make(file_system, reason);
      if (!writer.ok()) return writer.status();
      strategy = std::make_unique<UringSync>(std::move(writer).value());
      break;
    }
  }
  return strategy;
}

}  // namespace rowan
