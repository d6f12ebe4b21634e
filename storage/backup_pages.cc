// SPDX-License-Identifier: GPL-2.0-only
#include "storage/backup_pages.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/crc32c.h"
#include "base/format.h"
#include "buffer/page/page_header.h"
#include "io/space_files.h"

namespace rowan {
namespace {

namespace layout = backup_delta_layout;
using layout::RunKind;

Result<std::unique_ptr<File>> Create(const BackupPages::Space& space, const std::string& name) {
  return space.file_system->Open(space.folder + "/" + name, {.create = true, .exclusive = true});
}

/// Adjacent pages that are treated alike.
struct Run {
  RunKind kind = RunKind::kEnd;  ///< kEnd: left out
  size_t count = 0;
};

/// The run that `images` begins with. For each page, `kind_of` says how its image is treated.
template <typename KindOf>
Run NextRun(Bytes images, size_t page_size, KindOf kind_of) {
  Run run{kind_of(images.first(page_size)), 1};
  while ((run.count + 1) * page_size <= images.size() &&
         kind_of(images.subspan(run.count * page_size, page_size)) == run.kind) {
    ++run.count;
  }
  return run;
}

class BackupFile : public BackupPages {
 public:
  BackupFile(const Space& space, std::unique_ptr<File> file)
      : BackupPages(SpaceFileName(space.space)), space_(space), file_(std::move(file)) {}

  Status Add(PageNumber first, Bytes images) override {
    const size_t page_size = space_.page_size_bytes;
    const auto kind_of = [](Bytes page) {
      return IsAllZero(page) ? RunKind::kZeros : RunKind::kPages;
    };
    for (size_t at = 0; at < images.size();) {
      const Run run = NextRun(images.subspan(at), page_size, kind_of);
      const Bytes bytes = images.subspan(at, run.count * page_size);
      if (run.kind == RunKind::kPages) {
        const Status status =
            file_->Write(WriteCause::kBackup, first.value() * uint64_t{page_size} + at, bytes);
        if (!status.ok()) return status;
        AddCounter(Counter::kBackupPagesWritten, run.count);
      }
      at += bytes.size();
    }
    return Status::Ok();
  }

  Status Finish() override { return file_->Sync(SyncMethod::kFsync); }

 private:
  const Space space_;
  const std::unique_ptr<File> file_;
};

class BackupDelta : public BackupPages {
 public:
  BackupDelta(const Space& space, std::unique_ptr<File> file)
      : BackupPages(BackupDeltaName(space.space)), space_(space), file_(std::move(file)) {}

  Status WriteHeader() {
    std::array<std::byte, layout::kHeaderBytes> header{};
    std::memcpy(header.data(), layout::kMagic, layout::kMagicBytes);
    StoreLe<uint32_t>(header.data() + layout::kSpaceOffset, space_.space.value());
    StoreLe<uint32_t>(header.data() + layout::kPageSizeOffset, space_.page_size_bytes);
    StoreLe<uint32_t>(header.data() + layout::kPagesOffset, space_.pages);
    std::memcpy(header.data() + layout::kInstanceOffset, space_.instance_id.data(),
                space_.instance_id.size());
    StoreLe<uint64_t>(header.data() + layout::kSinceOffset, space_.since.value());
    StoreLe<uint32_t>(header.data() + layout::kCrcOffset, Crc32c(header));
    return Append(header);
  }

  Status Add(PageNumber first, Bytes images) override {
    const size_t page_size = space_.page_size_bytes;
    const auto kind_of = [this](Bytes page) {
      if (IsAllZero(page)) return RunKind::kZeros;
      return PageLsnOf(page.data()) > space_.since ? RunKind::kPages : RunKind::kEnd;
    };
    for (size_t at = 0; at < images.size();) {
      const Run run = NextRun(images.subspan(at), page_size, kind_of);
      const Bytes bytes = images.subspan(at, run.count * page_size);
      const Status status =
          AppendRun(run, PageNumber(first.value() + static_cast<uint32_t>(at / page_size)), bytes);
      if (!status.ok()) return status;
      at += bytes.size();
    }
    return Status::Ok();
  }

  Status Finish() override {
    const Status status = AppendRunHeader({RunKind::kEnd, 0}, PageNumber(0));
    if (!status.ok()) return status;
    return file_->Sync(SyncMethod::kFsync);
  }

 private:
  Status AppendRun(const Run& run, PageNumber first, Bytes pages) {
    if (run.kind == RunKind::kEnd) return Status::Ok();
    const Status status = AppendRunHeader(run, first);
    if (!status.ok() || run.kind == RunKind::kZeros) return status;
    AddCounter(Counter::kBackupPagesWritten, run.count);
    return Append(pages);
  }

  Status AppendRunHeader(const Run& run, PageNumber first) {
    std::array<std::byte, layout::kRunBytes> header{};
    StoreLe<uint32_t>(header.data() + layout::kRunKindOffset, static_cast<uint32_t>(run.kind));
    StoreLe<uint32_t>(header.data() + layout::kRunFirstOffset, first.value());
    StoreLe<uint32_t>(header.data() + layout::kRunCountOffset, static_cast<uint32_t>(run.count));
    StoreLe<uint32_t>(header.data() + layout::kRunCrcOffset,
                      Crc32c(Bytes(header).first(layout::kRunCrcOffset)));
    return Append(header);
  }

  Status Append(Bytes bytes) {
    const Status status = file_->Write(WriteCause::kBackup, end_, bytes);
    end_ += bytes.size();
    return status;
  }

  const Space space_;
  const std::unique_ptr<File> file_;
  uint64_t end_ = 0;
};

}  // namespace

Result<std::unique_ptr<BackupPages>> MakeBackupFile(const BackupPages::Space& space) {
  Result<std::unique_ptr<File>> file = Create(space, SpaceFileName(space.space));
  if (!file.ok()) return file.status();
  const Status status = file.value()->Truncate(uint64_t{space.pages} * space.page_size_bytes);
  if (!status.ok()) return status;
  return std::unique_ptr<BackupPages>(new BackupFile(space, std::move(file).value()));
}

std::string BackupDeltaName(SpaceId space) { return Format("space_{}.delta", space.value()); }

Result<std::unique_ptr<BackupPages>> MakeBackupDelta(const BackupPages::Space& space) {
  Result<std::unique_ptr<File>> file = Create(space, BackupDeltaName(space.space));
  if (!file.ok()) return file.status();
  auto delta = std::make_unique<BackupDelta>(space, std::move(file).value());
  const Status status = delta->WriteHeader();
  if (!status.ok()) return status;
  return std::unique_ptr<BackupPages>(std::move(delta));
}

}  // namespace rowan
