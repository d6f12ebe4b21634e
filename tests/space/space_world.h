// SPDX-License-Identifier: GPL-2.0-only
// A small instance for tests of space/ and btree/: control file, log, pool and allocator over the
// fault double, with the start-up steps of a real one: repair, redo, checkpoint. Pages whose redo
// does not fit are set aside: they must turn out to be free (they were freed later in the log).
// Thread safety: the owner's thread, except what the parts themselves allow.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "buffer/buffer_pool.h"
#include "buffer/buffer_redo.h"
#include "buffer/mini_txn.h"
#include "io/space_files.h"
#include "space/page_allocator.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/test_settings.h"
#include "wal/control_file.h"
#include "wal/log.h"
#include "wal/log_reader.h"
#include "wal/redo.h"

namespace rowan {

class SpaceWorld {
 public:
  struct Options {
    uint32_t page_bytes = TestPageSizeBytes();
    uint32_t pool_pages = TestPoolPages();
    uint64_t log_bytes = uint64_t{16} << 20;
    bool background = true;
    uint32_t file_pages_max = UINT32_MAX;
    DoublewriteMode doublewrite = DoublewriteMode::kOn;
  };
  static constexpr SpaceId kSpace{16};

  SpaceWorld(FaultFileSystem* file_system, Options options)
      : file_system_(file_system), options_(options) {
    RegisterBufferRedo();
    RegisterSpaceRedo();
  }
  ~SpaceWorld() { Kill(); }

  Status Create() {
    Status status = file_system_->CreateFolder(kFolder);
    if (status.ok()) status = file_system_->SyncDirectory("/");
    if (!status.ok()) return status;
    ControlData data;
    data.page_size_bytes = options_.page_bytes;
    data.epoch = 1;
    data.instance_id[0] = 7;
    auto control = ControlFile::Create(file_system_, kFolder, data);
    if (!control.ok()) return control.status();
    control_ = std::move(*control);
    MakeFiles();
    status = OpenAll(kNoLsn);
    if (!status.ok()) return status;
    if (options_.background) pool_->StartBackground();
    return allocator_->CreateSpace(kSpace);
  }

  /// Starts an existing instance, with recovery.
  Status Start() {
    Kill();
    auto control = ControlFile::Open(file_system_, kFolder);
    if (!control.ok()) return control.status();
    control_ = std::move(*control);
    Status status = control_->Update([](ControlData& data) { ++data.epoch; });
    if (!status.ok()) return status;
    MakeFiles();
    status = files_->Open(kSpace);
    if (!status.ok()) return status;
    Lsn end;
    status = ScanLog([](const LogReader::Group&) { return Status::Ok(); }, &end);
    if (!status.ok()) return status;
    status = OpenAll(end);
    if (status.ok()) status = pool_->RepairFromDoublewrite();
    Lsn again;
    if (status.ok()) {
      status = ScanLog([this, end](const LogReader::Group& group) {
        return group.end <= end ? RedoGroup(group) : Status::Ok();
      }, &again);
    }
    pool_->EndRedo();
    if (status.ok()) status = CheckSuspended();
    if (status.ok()) status = pool_->FlushAndCheckpoint();
    if (status.ok() && options_.background) pool_->StartBackground();
    return status.ok() ? allocator_->OpenSpace(kSpace) : status;
  }

  /// Drops everything without writing anything on purpose.
  void Kill() {
    allocator_.reset();
    if (pool_) pool_->Close();
    pool_.reset();
    log_.reset();
    files_.reset();
    control_.reset();
    suspended_.clear();
  }

  BufferPool& pool() { return *pool_; }
  Log& log() { return *log_; }
  PageAllocator& allocator() { return *allocator_; }
  SpaceFiles& files() { return *files_; }
  const Options& options() const { return options_; }

 private:
  static constexpr const char* kFolder = "/instance";

  void MakeFiles() {
    files_ = std::make_unique<SpaceFiles>(
        file_system_,
        SpaceFiles::Options{.folder = kFolder,
                            .page_size_bytes = options_.page_bytes,
                            .pages_max = options_.file_pages_max});
  }

  Status OpenAll(Lsn log_end) {
    LogOptions log_options;
    log_options.folder = kFolder;
    log_options.capacity_bytes = options_.log_bytes;
    log_options.buffer_bytes = uint64_t{1} << 20;
    log_options.sync_method = LogSyncMethod::kFdatasync;
    auto log = Log::Open(file_system_, log_options, control_.get(), log_end, [] {});
    if (!log.ok()) return log.status();
    log_ = std::move(*log);
    BufferOptions pool_options;
    pool_options.page_size_bytes = options_.page_bytes;
    pool_options.pool_bytes = uint64_t{options_.page_bytes} * options_.pool_pages;
    pool_options.doublewrite = options_.doublewrite;
    pool_options.background = options_.background;
    pool_options.io_backend = IoBackend::kThreads;
    auto pool = BufferPool::Open(pool_options, files_.get(), file_system_, log_.get(),
                                 control_.get());
    if (!pool.ok()) return pool.status();
    pool_ = std::move(*pool);
    allocator_ = std::make_unique<PageAllocator>(pool_.get(), control_->data().instance_id);
    return Status::Ok();
  }

  template <typename Visit>
  Status ScanLog(Visit visit, Lsn* end) {
    const Lsn start = std::max(control_->data().checkpoint_lsn, Log::kFirstLsn);
    auto reader = LogReader::Open(file_system_, kFolder, control_->data(), start);
    if (!reader.ok()) return reader.status();
    LogReader::Group group;
    Status status;
    while ((status = (*reader)->Next(&group)).ok()) {
      const Status visited = visit(group);
      if (!visited.ok()) return visited;
    }
    *end = (*reader)->end();
    return status.Is(Code::kEndOfRange) ? Status::Ok() : status;
  }

  Status RedoGroup(const LogReader::Group& group) {
    GroupParser parser(group.bytes);
    RecordView record;
    Status status;
    std::vector<PageGuard> held;
    while (parser.Next(&record, &status)) {
      const RedoEntry* entry = FindRedo(record.type, record.version);
      if (entry == nullptr) return Status(Code::kNewerFormat, "record type");
      if (entry->pageless) continue;
      const uint64_t packed = record.page.Packed();
      if (entry->initialises_page) suspended_.erase(packed);
      if (suspended_.contains(packed)) continue;
      auto found = std::find_if(held.begin(), held.end(), [&record](const PageGuard& guard) {
        return guard.id() == record.page;
      });
      if (found == held.end()) {
        Result<PageGuard> guard =
            entry->initialises_page
                ? pool_->FixNew(record.page)
                : pool_->Fix(record.page, LatchMode::kExclusive, FixHint::kSpeculative);
        if (!guard.ok()) {
          suspended_.insert(packed);
          continue;
        }
        held.push_back(std::move(*guard));
        found = held.end() - 1;
      }
      if (!entry->initialises_page && PageLsnOf(found->page()) >= group.end) continue;
      const MutableBytes page(found->mutable_page(), options_.page_bytes);
      if (!entry->apply(record.page, page, record.body).ok()) suspended_.insert(packed);
    }
    for (const PageGuard& guard : held) {
      if (PageLsnOf(guard.page()) < group.end) pool_->MarkRedone(guard, group.start, group.end);
    }
    return status;
  }

  Status CheckSuspended() {
    for (const uint64_t packed : suspended_) {
      Result<bool> allocated = allocator_->IsAllocated(PageId::Unpack(packed));
      if (!allocated.ok()) return allocated.status();
      if (*allocated) return Status(Code::kCorrupt, "redo does not fit a page");
    }
    return Status::Ok();
  }

  FaultFileSystem* const file_system_;
  const Options options_;
  std::unique_ptr<ControlFile> control_;
  std::unique_ptr<SpaceFiles> files_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<BufferPool> pool_;
  std::unique_ptr<PageAllocator> allocator_;
  std::set<uint64_t> suspended_;
};

}  // namespace rowan
