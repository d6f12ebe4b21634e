// SPDX-License-Identifier: GPL-2.0-only
#include "storage/recovery.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <span>
#include <utility>

#include "base/assertions.h"
#include "base/format.h"
#include "base/logging.h"
#include "base/mutex.h"
#include "base/workers.h"
#include "io/placed_file.h"
#include "wal/group.h"
#include "wal/log.h"
#include "wal/log_read_ahead.h"
#include "wal/redo.h"

namespace rowan {
namespace {

/// Hands the pages of a stretch to the workers, a portion at a time.
class SharedPages {
 public:
  /// Portions as large as a worker gathers at a time, and small enough that the workers end
  /// together.
  SharedPages(std::vector<uint64_t> pages, const RedoBacklog& backlog, uint64_t portion_bytes_max,
              uint32_t workers)
      : pages_(std::move(pages)) {
    constexpr size_t kPortionsOfAWorker = 8;
    const size_t portion_pages_max =
        std::max(RedoWorker::kBatchPages, pages_.size() / workers / kPortionsOfAWorker);
    uint64_t bytes = 0;
    for (size_t i = 0; i < pages_.size(); ++i) {
      const RedoBacklog::Page* page = backlog.Find(pages_[i]);
      const uint64_t more = page == nullptr ? 0 : page->record_bytes;
      const size_t first = ends_.empty() ? 0 : ends_.back();
      if (i > first && (i - first == portion_pages_max || bytes + more > portion_bytes_max)) {
        ends_.push_back(i);
        bytes = 0;
      }
      bytes += more;
    }
    ends_.push_back(pages_.size());
  }

  std::span<const uint64_t> Next() {
    const size_t portion = next_.fetch_add(1, std::memory_order_relaxed);
    if (portion >= ends_.size()) return {};
    const size_t first = portion == 0 ? 0 : ends_[portion - 1];
    return std::span(pages_).subspan(first, ends_[portion] - first);
  }
  /// The other workers need not go on.
  void Give(const Status& status) {
    const MutexLock guard(&mutex_);
    KeepFirst(&status_, status);
    next_.store(ends_.size(), std::memory_order_relaxed);
  }
  void Add(std::vector<RedoWorker::Failure> failures) {
    const MutexLock guard(&mutex_);
    failures_.insert(failures_.end(), failures.begin(), failures.end());
  }
  [[nodiscard]] Status status() const {
    const MutexLock guard(&mutex_);
    return status_;
  }
  [[nodiscard]] std::vector<RedoWorker::Failure> failures() const {
    const MutexLock guard(&mutex_);
    return failures_;
  }

 private:
  const std::vector<uint64_t> pages_;
  std::vector<size_t> ends_;  ///< of the portions
  std::atomic<size_t> next_{0};
  mutable Mutex mutex_{LatchRank::kRedoPages};
  Status status_ ROWAN_GUARDED_BY(mutex_);
  std::vector<RedoWorker::Failure> failures_ ROWAN_GUARDED_BY(mutex_);
};

void Work(RedoWorker* worker, const std::atomic<bool>& abandoned, SharedPages* pages) {
  std::vector<RedoWorker::Failure> failures;
  for (;;) {
    const std::span<const uint64_t> portion = pages->Next();
    if (portion.empty()) break;
    const Status status = abandoned.load(std::memory_order_acquire)
                              ? Status(Code::kInterrupted, "redo is abandoned")
                              : worker->Run(portion, &failures);
    if (!status.ok()) pages->Give(status);
  }
  pages->Add(std::move(failures));
}

}  // namespace

Status Recovery::Scan() {
  Result<std::unique_ptr<LogReader>> reader =
      LogReader::Open(file_system_, folder_, control_, control_.checkpoint_lsn);
  if (!reader.ok()) return reader.status();
  LogReadAhead ahead(reader->get());
  LogReader::Group group;
  Status status;
  bool gather = true;
  statistics_.stretches = 1;
  while ((status = ahead.Next(&group)).ok()) {
    const Status scanned = ScanGroup(group, gather);
    if (!scanned.ok()) return scanned;
    if (!gather) continue;
    gathered_end_ = group.end;
    gather = !Full();
  }
  if (!status.Is(Code::kEndOfRange)) return status;
  backlog_.Finish();
  end_ = (*reader)->end();
  carried_->EndScan(end_);
  if (gather) gathered_end_ = end_;
  ROWAN_DCHECK(end_ >= begin() && gathered_end_ <= end_);
  Result<std::unique_ptr<LogGroups>> groups =
      LogGroups::Open(file_system_, folder_, control_, {std::max(begin(), Log::kFirstLsn), end_});
  if (!groups.ok()) return groups.status();
  log_groups_ = std::move(groups).value();
  backlog_.SetLog(log_groups_.get());
  return Status::Ok();
}

Status Recovery::ScanGroup(const LogReader::Group& group, bool gather) {
  GroupParser parser(group.bytes);
  RecordView record;
  Status status;
  ++statistics_.groups;
  while (parser.Next(&record, &status)) {
    ++statistics_.records;
    const RedoEntry* entry = FindRedo(record.type, record.version);
    if (entry == nullptr) {
      LogError(
          "The redo log holds a record of unknown type {}, version {}, at LSN {}: it was "
          "written by a newer version of Rowan. Nothing was changed.",
          static_cast<unsigned>(record.type), record.version, group.start.value());
      return Status(Code::kNewerFormat, "unknown redo record type or version");
    }
    NoteSpace(record.page.space);
    if (record.type == RecordType::kSpaceDropped) dropped_.insert(record.page.space);
    if (record.type == RecordType::kCarriedBytes) {
      const Status noted = carried_->Note(record.body, group.start);
      if (!noted.ok()) return noted;
    }
    if (gather && !entry->pageless) backlog_.Add(record, group.start, group.end);
  }
  return status;
}

void Recovery::NoteSpace(SpaceId space) {
  if (space == last_spaces_[0] || space == last_spaces_[1]) return;
  last_spaces_ = {last_spaces_[1], space};
  spaces_.insert(space);
}

Status Recovery::GatherGroup(const LogReader::Group& group) {
  GroupParser parser(group.bytes);
  RecordView record;
  Status status;
  while (parser.Next(&record, &status)) {
    if (!FindRedo(record.type, record.version)->pageless) Gather(record, group);
  }
  return status;
}

void Recovery::Gather(const RecordView& record, const LogReader::Group& group) {
  if (dropped_.contains(record.page.space)) return;
  // What kept it from being redone belonged to its former life.
  if (!suspended_.empty() && FindRedo(record.type, record.version)->initialises_page) {
    suspended_.erase(record.page.Packed());
  }
  backlog_.Add(record, group.start, group.end);
}

Status Recovery::GatherStretch() {
  Result<std::unique_ptr<LogReader>> reader =
      LogReader::Open(file_system_, folder_, control_, gathered_end_);
  if (!reader.ok()) return reader.status();
  ROWAN_DCHECK(gathered_end_ < end_);
  ++statistics_.stretches;
  backlog_.Clear();
  LogReadAhead ahead(reader->get());
  LogReader::Group group;
  Status status;
  do {
    status = ahead.Next(&group);
    if (!status.ok()) break;
    status = GatherGroup(group);
    if (!status.ok()) return status;
    gathered_end_ = group.end;
  } while (gathered_end_ < end_ && !Full());
  backlog_.Finish();
  AddKept();
  if (!status.Is(Code::kEndOfRange)) return status;
  gathered_end_ = end_;  // groups without records may follow the last group that has some
  return Status::Ok();
}

Status Recovery::CheckPlaces(SpaceFiles* files) const {
  if (options_.force) return Status::Ok();  // it waits
  for (const SpaceId space : spaces_) {
    if (files->IsLive(space) || dropped_.contains(space) || damaged_->Contains(space)) continue;
    const Status status = files->Open(space);
    if (!IsPlaceMissing(status)) continue;  // others are judged when their pages are redone
    LogError(
        "The file '{}' is missing, and the redo log has changes of it. Nothing was changed; mount "
        "its disk and start again. rowan_force_recovery = 1 serves the others until it is there.",
        files->PlaceOf(space));
    return status;
  }
  return Status::Ok();
}

Status Recovery::Repair(BufferPool* pool, SpaceFiles* files, ControlFile* control_file) {
  pool_ = pool;
  files_ = files;
  control_file_ = control_file;
  kept_.RemoveDrafts();
  if (kept_.empty()) {
    const Status noted = NoteFeature(false);
    if (!noted.ok()) return noted;
  }
  for (const SpaceId space : kept_.broken()) {
    const Status marked = MarkDamaged(
        space,
        Format("'{}' is damaged, which has changes that its pages lack.", kept_.PathOf(space)));
    if (!marked.ok()) return marked;
  }
  // After a clean shutdown, every page in that file has reached its place.
  if (control_.clean_shutdown) {
    const Status emptied = pool->EmptyDoublewrite();
    if (!emptied.ok()) return emptied;
  }
  return pool->RepairFromDoublewrite(
      {.keep =
           [this](PageId page, Bytes image) {
             damaged_->SetWaits(page.space, true);
             return kept_.AddImage(page, image);
           },
       .end =
           [this] {
             const Status sealed = kept_.Seal();
             return sealed.ok() && !kept_.empty() ? NoteFeature(true) : sealed;
           },
       .has_changes_in_log =
           [this](SpaceId space) { return spaces_.contains(space) && !dropped_.contains(space); },
       .unreadable = options_.force});
}

Status Recovery::Redo() {
  ROWAN_DCHECK(pool_ != nullptr && files_ != nullptr && log_groups_ != nullptr);
  ROWAN_DCHECK(gathered_end_ <= end_ && !finished());
  for (const SpaceId space : dropped_) {
    // The crash came between the log record and the rename of the file.
    const Status status = files_->Drop(space);
    if (!status.ok() && !status.Is(Code::kNotFound)) return status;
    pool_->ForgetSpace(space);
    damaged_->SetWaits(space, false);
    const Status removed = kept_.Remove(space);
    if (!removed.ok()) return removed;
  }
  AddKept();
  pool_->BeginRedo(&backlog_);
  Status status = LookForMissing();
  if (!status.ok()) return status;
  while (gathered_end_ < end_) {
    status = RedoPages(backlog_.PendingPages());
    if (!status.ok()) return status;
    // The next stretch replaces these lists.
    std::vector<uint64_t> left;
    for (const auto& [page, failure] : suspended_) left.push_back(page);
    status = KeepAside(left);
    if (!status.ok()) return status;
    ROWAN_DCHECK(gathered_end_ < end_);
    status = GatherStretch();
    if (!status.ok()) return status;
    status = LookForMissing();
    if (!status.ok()) return status;
  }
  return RedoFirst();
}

Status Recovery::RedoFirst() {
  // Pages in the pool from an earlier stretch would be found there without their missing changes.
  // The system space holds what opening needs, and damage in it must be known before any session is
  // served.
  std::vector<uint64_t> pages = backlog_.PendingPages();
  std::erase_if(pages, [this](uint64_t key) {
    const PageId page = PageId::Unpack(key);
    return page.space != kSystemSpace && !pool_->IsResident(page);
  });
  return RedoPages(std::move(pages));
}

Status Recovery::Finish(PageAllocator* allocator, Try which) {
  ROWAN_DCHECK(pool_ != nullptr && gathered_end_ == end_);
  ROWAN_DCHECK(!finished());
  Status status = RedoPages(PagesToTry());
  ++tries_;
  if (!status.ok()) return status;
  status = CheckSuspended(allocator, true);
  if (!status.ok()) return status;
  std::vector<uint64_t> waiting;
  for (const auto& [page, failure] : suspended_) {
    const RedoBacklog::Page* listed = backlog_.Find(page);
    if (listed != nullptr && !listed->kept_only()) waiting.push_back(page);
  }
  waits_.store(!waiting.empty(), std::memory_order_release);
  if (waits() && which != Try::kLast) {
    return Status(Code::kBusy, "a page to redo cannot be read");
  }
  status = KeepAside(waiting);
  if (status.Is(Code::kStopped)) return status;
  if (!status.ok()) return Status(Code::kBusy, "what pages lack cannot be kept");
  statistics_.records_applied = backlog_.records_applied();
  EndRedo();
  for (const SpaceId space : damaged_->Waiting()) {
    if (PendingOf(space).empty()) damaged_->SetWaits(space, false);
  }
  log_groups_.reset();
  finished_.store(true, std::memory_order_release);
  return status;
}

Status Recovery::RedoPages(const std::vector<uint64_t>& keys) {
  if (keys.empty()) return Status::Ok();
  ROWAN_DCHECK(std::is_sorted(keys.begin(), keys.end()));
  statistics_.pages += keys.size();
  const uint64_t memory = std::max(
      options_.memory_bytes_max / 4,
      options_.memory_bytes_max - std::min(options_.memory_bytes_max, backlog_.MemoryBytes()));
  const uint64_t portion_bytes_max = memory / options_.workers;
  SharedPages pages(keys, backlog_, portion_bytes_max, options_.workers);
  Workers workers("redo-", options_.workers);
  const Status status = workers.Run([&](uint32_t /*worker*/) {
    RedoWorker worker(pool_, options_.workers, portion_bytes_max);
    Work(&worker, abandoned_, &pages);
    return pages.status();
  });
  if (!status.ok()) return status;
  for (const uint64_t key : keys) suspended_.erase(key);
  for (const RedoWorker::Failure& failure : pages.failures()) {
    // What has been dropped since lacks nothing any more.
    const bool waits = damaged_->Waits(PageId::Unpack(failure.page).space);
    if (waits || !failure.status.Is(Code::kNotFound)) suspended_[failure.page] = failure.status;
  }
  return Status::Ok();
}

Status Recovery::LookForMissing() {
  SpaceId last{0};
  for (const uint64_t key : backlog_.PendingPages()) {
    const SpaceId space = PageId::Unpack(key).space;
    if (space == last) continue;
    last = space;
    if (files_->IsLive(space) || dropped_.contains(space)) continue;
    if (damaged_->Contains(space) || damaged_->Waits(space)) continue;
    const Status status = CheckMissing(space);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status Recovery::CheckMissing(SpaceId space) {
  const Status opened = files_->Open(space);
  if (opened.ok()) return opened;
  const std::string path = files_->PathOf(space);
  if (!opened.Is(Code::kNotFound) && !options_.force) {
    LogError(
        "The file '{}' cannot be opened ({}, error {}), and the redo log has changes of it. "
        "Make it readable and start again; rowan_force_recovery = 1 serves the others until it "
        "can be read.",
        path, opened.message(), opened.detail());
    return opened;
  }
  LogError(
      "The file '{}' is missing or cannot be opened ({}), and the redo log has changes of it. They "
      "wait for it: its table can be used once the file is back.",
      path, opened.message());
  damaged_->SetWaits(space, true);
  return Status::Ok();
}

Status Recovery::MarkDamaged(SpaceId space, const std::string& why) {
  // What the log has for its other pages must not be lost with it.
  Status status = KeepAside(PendingOf(space));
  if (!status.ok()) return status;
  LogError("{} Its table can only be dropped, or read with rowan_force_recovery.", why);
  status = damaged_->Mark(space, why);
  if (!status.ok()) return status;
  if (on_damage_) on_damage_(space);
  // They are not visible any more, except to read what is left.
  for (const uint64_t page : PendingOf(space)) {
    if (!options_.force) backlog_.Remove(backlog_.Find(page));
  }
  return status;
}

Status Recovery::ResolveSuspended(PageAllocator* allocator) {
  ROWAN_DCHECK(pool_ != nullptr && gathered_end_ == end_);
  return CheckSuspended(allocator, false);
}

Status Recovery::CheckSuspended(PageAllocator* allocator, bool serving) {
  for (auto next = suspended_.begin(); next != suspended_.end();) {
    const auto suspended = next++;
    const PageId page = PageId::Unpack(suspended->first);
    const Result<bool> judged = CheckPage(allocator, page, suspended->second, serving);
    if (!judged.ok()) return judged.status();
    if (!judged.value()) continue;
    RedoBacklog::Page* listed = backlog_.Find(suspended->first);
    if (listed != nullptr && !damaged_->Contains(page.space)) backlog_.Remove(listed);
    suspended_.erase(suspended);
  }
  return Status::Ok();
}

Result<bool> Recovery::CheckPage(PageAllocator* allocator, PageId id, const Status& failure,
                                 bool serving) {
  if (damaged_->Contains(id.space)) return true;
  if (!files_->IsLive(id.space)) return !damaged_->Waits(id.space);
  const Result<bool> allocated = allocator->IsAllocated(id);
  if (allocated.status().Is(Code::kStopped)) return allocated.status();
  if (allocated.ok() && !allocated.value()) return true;
  // Checked last: a thread that has allocated it since initialised it before the bitmap could be
  // read.
  if (serving && backlog_.Find(id.Packed()) == nullptr) return true;
  if (!files_->IsLive(id.space)) return !damaged_->Waits(id.space);
  const Status unreadable = allocated.ok() ? failure : allocated.status();
  const bool forced_undo = options_.force && id.space == kUndoSpace;
  // Only damage says anything about the page. If it was unreadable for another reason, it may be
  // whole.
  if (!unreadable.Is(Code::kCorrupt) && !forced_undo) {
    if (told_.insert(id.space).second) TellWaiting(id, unreadable);
    if (!serving && !IsTable(id.space)) return unreadable;
    return false;
  }
  // Read once more for the log message, in case the page itself is wrong.
  (void)pool_->Fix(id, LatchMode::kShared);
  const std::string why =
      Format("Page {} of '{}' is damaged: the redo log could not be applied to it.",
             id.page.value(), files_->PathOf(id.space));
  if (IsTable(id.space)) {
    const Status marked = MarkDamaged(id.space, why);
    if (!marked.ok()) return marked;
    return true;
  }
  if (forced_undo) {
    LogError("{} It stays as it is, because rowan_force_recovery says so.", why);
    return true;
  }
  LogError("{} The instance is not opened, so that nothing is lost; restore it from a backup.",
           why);
  return Status(Code::kCorrupt, "redo does not fit a page", id.page.value());
}

void Recovery::TellWaiting(PageId page, const Status& failure) const {
  LogError("Page {} of '{}' cannot be read ({}, error {}), and the redo log has changes of it. {}",
           page.page.value(), files_->PathOf(page.space), failure.message(), failure.detail(),
           IsTable(page.space)
               ? "They are kept until it can be read; statements that need the page "
                 "fail until then."
               : "Rowan needs it: make the file readable and start again.");
}

}  // namespace rowan
