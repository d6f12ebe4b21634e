// SPDX-License-Identifier: GPL-2.0-only
// The files behind PageLsns: opening them, appending to the journal, folding. See
// page_lsns.h.
#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/atomic_max.h"
#include "base/counters.h"
#include "base/format.h"
#include "base/logging.h"
#include "buffer/page/page_lsns.h"
#include "io/resource_shortage.h"

namespace rowan {
namespace {

/// Bytes of pages written per byte of the new base: that costs a hundredth of them.
constexpr uint64_t kPageBytesPerBaseByte = 100;
/// With fewer entries no fold is worth its syncs: a journal of a mebibyte.
constexpr uint64_t kFoldEntriesMin = 65536;
/// Each start adds a journal; more than this are folded, whatever their size.
constexpr uint64_t kJournalFilesMax = 16;

/// The number in `rowan.page_lsns.<number>`.
std::optional<uint64_t> ParseJournalName(std::string_view name) {
  const std::string prefix = std::string(kPageLsnsFileName) + ".";
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

/// By page, each once, with its largest LSN.
void SortAndJoin(std::vector<PageLsnEntry>* versions) {
  std::sort(versions->begin(), versions->end(), [](const PageLsnEntry& a, const PageLsnEntry& b) {
    return a.page != b.page ? a.page < b.page : a.lsn > b.lsn;
  });
  const auto same = [](const PageLsnEntry& a, const PageLsnEntry& b) { return a.page == b.page; };
  versions->erase(std::unique(versions->begin(), versions->end(), same), versions->end());
  versions->shrink_to_fit();
}

ChunkKey EntryChunkOf(const PageLsnEntry& version) {
  const PageId id = PageId::Unpack(version.page);
  return {id.space, id.page.value() / kPagesPerChunk};
}

uint64_t CountChunks(const std::vector<PageLsnEntry>& versions) {
  uint64_t count = 0;
  for (size_t i = 0; i < versions.size(); ++i) {
    if (i == 0 || EntryChunkOf(versions[i]) != EntryChunkOf(versions[i - 1])) ++count;
  }
  return count;
}

}  // namespace

std::string PageLsns::BasePath() const { return files_->folder() + "/" + kPageLsnsFileName; }

std::string PageLsns::JournalPath(uint64_t number) const {
  return Format("{}.{}", BasePath(), number);
}

Result<std::vector<uint64_t>> PageLsns::ListJournals() const {
  Result<std::vector<std::string>> names = file_system_->List(files_->folder());
  if (!names.ok()) return names.status();
  std::vector<uint64_t> numbers;
  for (const std::string& name : names.value()) {
    if (const std::optional<uint64_t> number = ParseJournalName(name)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Status PageLsns::RemoveJournals(const std::vector<uint64_t>& numbers) {
  for (const uint64_t number : numbers) {
    const Status status = file_system_->Remove(JournalPath(number));
    if (!status.ok() && !status.Is(Code::kNotFound)) return status;
  }
  return Status::Ok();
}

Status PageLsns::MakeEmptyBase() {
  const std::string path = BasePath() + ".tmp";
  Result<std::unique_ptr<File>> file = file_system_->Open(path, {.create = true});
  if (!file.ok()) return file.status();
  PageLsnBaseWriter writer(std::move(file).value(), origin_.instance);
  const Status status = writer.Finish();
  if (!status.ok()) return status;
  return Install(path);
}

Status PageLsns::Install(const std::string& path) {
  Status status = file_system_->Rename(path, BasePath());
  if (!status.ok()) return status;
  status = file_system_->SyncDirectory(files_->folder());
  if (!status.ok()) return status;
  return OpenBase(BasePath());
}

Status PageLsns::OpenBase(const std::string& path) {
  auto on_disk = std::make_shared<OnDisk>();
  Result<std::unique_ptr<File>> file = file_system_->Open(path, {.read_only = true, .spare = true});
  if (file.ok()) {
    Result<std::unique_ptr<PageLsnBase>> base =
        PageLsnBase::Open(std::move(file).value(), origin_.instance);
    if (base.status().Is(Code::kNewerFormat)) return base.status();
    if (base.ok()) on_disk->base = std::move(base).value();
  }
  if (on_disk->base == nullptr) {
    LogWarning(
        "'{}' cannot be read: of pages written before this start it goes unnoticed that "
        "they went back to an older state.",
        path);
  }
  rewrite_.store(on_disk->base == nullptr || on_disk->base->outdated());
  base_slots_.store(on_disk->base == nullptr ? 0 : on_disk->base->slots());
  recent_chunks_.store(0);
  const ExclusiveLock lock(&mutex_);
  on_disk_ = std::move(on_disk);
  return Status::Ok();
}

Status PageLsns::Open(const Origin& origin) {
  origin_ = origin;
  const Status named = TakeFormerNames();
  if (!named.ok()) return named;
  const Result<bool> exists = file_system_->Exists(BasePath());
  if (!exists.ok()) return exists.status();
  Result<std::vector<uint64_t>> numbers = ListJournals();
  if (!numbers.ok()) return numbers.status();
  const Status removed = file_system_->Remove(BasePath() + ".tmp");  // of a fold cut short
  if (!removed.ok() && !removed.Is(Code::kNotFound)) return removed;
  if (!numbers->empty()) {
    const MutexLock guard(&file_mutex_);
    next_journal_ = numbers->back() + 1;
  }
  if (!exists.value()) {
    if (origin.expected) {
      LogWarning(
          "'{}' is missing and begins anew: pages that went back to an older state before "
          "this start are not noticed.",
          BasePath());
    }
    const Status status = RemoveJournals(numbers.value());
    if (!status.ok()) return status;
    return MakeEmptyBase();
  }
  Status status = OpenBase(BasePath());
  if (!status.ok()) return status;
  std::vector<PageLsnEntry> versions;
  status = ReadJournals(numbers.value(), &versions);
  if (!status.ok()) return status;
  journal_entries_.store(versions.size());
  journal_files_.store(numbers->size());
  recent_chunks_.store(CountChunks(versions));
  const ExclusiveLock lock(&mutex_);
  auto on_disk = std::const_pointer_cast<OnDisk>(on_disk_);  // not shared yet
  on_disk->recent = std::move(versions);
  return Status::Ok();
}

Status PageLsns::ReadJournals(const std::vector<uint64_t>& numbers,
                              std::vector<PageLsnEntry>* versions) {
  for (const uint64_t number : numbers) {
    const Status status =
        PageLsnJournal::Read(file_system_, JournalPath(number), origin_.instance, versions);
    if (status.Is(Code::kNewerFormat) || IsResourceShortage(status)) return status;
    if (!status.ok()) LogWarning("'{}' cannot be read.", JournalPath(number));
  }
  const Status status = DropDeadSpaces(versions);
  SortAndJoin(versions);
  return status;
}

Status PageLsns::DropDeadSpaces(std::vector<PageLsnEntry>* versions) const {
  Result<std::vector<SpaceId>> spaces = files_->ListFiles();
  if (!spaces.ok()) return spaces.status();
  const std::unordered_set<SpaceId> present(spaces->begin(), spaces->end());
  std::erase_if(*versions, [&present](const PageLsnEntry& version) {
    return !present.contains(PageId::Unpack(version.page).space);
  });
  return Status::Ok();
}

Status PageLsns::AppendLocked(const Copies& copies) {
  if (journal_ == nullptr) {
    Result<std::unique_ptr<PageLsnJournal>> made =
        PageLsnJournal::Create(file_system_, JournalPath(next_journal_), origin_.instance);
    if (!made.ok()) return made.status();
    ++next_journal_;
    journal_files_.fetch_add(1);
    journal_ = std::move(made).value();
    const Status status = file_system_->SyncDirectory(files_->folder());
    if (!status.ok()) return status;
  }
  const Status status = journal_->Append(copies);
  if (!status.ok()) return status;
  journal_entries_.fetch_add(copies.size());
  NoteAppended(copies, next_journal_ - 1);
  return status;
}

Status PageLsns::Write(Copies copies) {
  // The sync did nothing for a space dropped meanwhile, whose file may reappear after a crash: only
  // what is live now was live, and synced, then.
  std::erase_if(copies, [this](const PageLsnEntry& version) {
    return !files_->IsLive(PageId::Unpack(version.page).space);
  });
  if (copies.empty()) return Status::Ok();
  const MutexLock guard(&file_mutex_);
  const Status status = AppendLocked(copies);
  if (!status.Is(Code::kNoSpace) && !IsResourceShortage(status)) return status;
  if (!std::exchange(full_logged_, true)) {
    LogWarning(
        "The disk is too full for '{}' to grow: of some pages it may go unnoticed that they "
        "went back to an older state.",
        BasePath());
  }
  PutBack(copies);
  return Status::Ok();
}

void PageLsns::NoteAppended(const Copies& copies, uint64_t journal) const {
  const SharedLock lock(&mutex_);
  for (size_t i = 0; i < copies.size(); ++i) {
    const ChunkKey key = EntryChunkOf(copies[i]);
    if (i == 0 || key != EntryChunkOf(copies[i - 1])) chunks_.NoteJournal(key, journal);
  }
}

void PageLsns::PutBack(const Copies& copies) {
  const ExclusiveLock lock(&mutex_);
  for (const PageLsnEntry& version : copies) {
    const ChunkKey key = EntryChunkOf(version);
    PageLsnChunk* chunk = chunks_.Find(key);
    if (chunk != nullptr) {
      MarkChanged(key, chunk, PageId::Unpack(version.page).page.value() % kPagesPerChunk);
      RaiseTo(&chunk->lsns[PageId::Unpack(version.page).page.value() % kPagesPerChunk],
              version.lsn);
    } else if (files_->IsLive(key.space)) {
      chunks_.MarkKeptChanged(key, version);
      ListChanged(key);
    }
  }
}

bool PageLsns::WantsFold() const {
  const uint64_t entries = journal_entries_.load();
  if (entries < fold_not_before_.load()) return false;
  if (rewrite_.load() || journal_files_.load() > kJournalFilesMax) return true;
  uint64_t chunks = 0;
  uint64_t waiting_bytes = entries * sizeof(PageLsnEntry);
  {
    const SharedLock lock(&mutex_);
    chunks = chunks_.chunks() + chunks_.kept_chunks();
    waiting_bytes = std::max(waiting_bytes, chunks_.kept_bytes());
  }
  if (waiting_bytes >= journal_bytes_max_.load()) return true;
  // What memory and journals have may be in the base, too: better fold too seldom than too often.
  chunks += base_slots_.load() + recent_chunks_.load();
  return entries >= kFoldEntriesMin &&
         entries * files_->page_size_bytes() >= kPageBytesPerBaseByte * chunks * kPageLsnSlotBytes;
}

Status PageLsns::Fold(FunctionRef<bool()> interrupted) {
  Result<std::vector<uint64_t>> numbers = Status(Code::kNotFound);
  const uint64_t entries = [&] {
    const MutexLock guard(&file_mutex_);
    journal_.reset();  // the next checkpoint begins a new one
    numbers = ListJournals();
    return journal_entries_.load();
  }();
  const std::string path = BasePath() + ".tmp";
  const auto fold = [&]() -> Status {
    if (!numbers.ok()) return numbers.status();
    std::vector<PageLsnEntry> versions;
    const Status read = ReadJournals(numbers.value(), &versions);
    if (!read.ok()) return read;
    const Status folded = FoldInto(path, interrupted, versions);
    if (!folded.ok()) return folded;
    const Status installed = Install(path);
    if (!installed.ok() || numbers->empty()) return installed;
    const ExclusiveLock lock(&mutex_);
    chunks_.NoteFolded(numbers->back());
    return installed;
  };
  const Status status = fold();
  if (!status.ok()) {
    file_system_->Remove(path).Ignore();  // there may be none
    if (status.Is(Code::kInterrupted)) return status;
    fold_not_before_.store(2 * std::max(entries, kFoldEntriesMin));
    LogWarning("'{}' cannot be folded now: {} (error {}). Its journals grow meanwhile.", BasePath(),
               status.message(), status.detail());
    return status;
  }
  journal_entries_.fetch_sub(entries);
  journal_files_.fetch_sub(numbers->size());
  // If even the new one is unreadable, do not rewrite it at once.
  fold_not_before_.store(rewrite_.load() ? kFoldEntriesMin : 0);
  return RemoveJournals(numbers.value());
}

Status PageLsns::FoldInto(const std::string& path, FunctionRef<bool()> interrupted,
                          const std::vector<PageLsnEntry>& versions) {
  Result<std::vector<SpaceId>> spaces = files_->ListFiles();
  if (!spaces.ok()) return spaces.status();
  const std::unordered_set<SpaceId> present(spaces->begin(), spaces->end());
  std::shared_ptr<const OnDisk> on_disk;
  {
    const SharedLock lock(&mutex_);
    on_disk = on_disk_;
  }
  Result<std::unique_ptr<File>> file = file_system_->Open(path, {.create = true, .spare = true});
  if (!file.ok()) return file.status();
  PageLsnBaseWriter writer(std::move(file).value(), origin_.instance);
  const std::vector<ChunkKey> keys =
      on_disk->base == nullptr ? std::vector<ChunkKey>() : on_disk->base->Keys();
  auto key = keys.begin();
  auto entry = versions.begin();
  while (key != keys.end() || entry != versions.end()) {
    if (interrupted()) return Status(Code::kInterrupted);
    const bool from_base =
        key != keys.end() && (entry == versions.end() || *key <= EntryChunkOf(*entry));
    const ChunkKey next = from_base ? *key++ : EntryChunkOf(*entry);
    ChunkLsns lsns{};
    if (from_base) (void)on_disk->base->Read(next, &lsns);  // damage is logged there
    for (; entry != versions.end() && EntryChunkOf(*entry) == next; ++entry) {
      Lsn& lsn = lsns[PageId::Unpack(entry->page).page.value() % kPagesPerChunk];
      lsn = std::max(lsn, entry->lsn);
    }
    const Status status = present.contains(next.space) ? writer.Add(next, lsns) : Status::Ok();
    if (!status.ok()) return status;
  }
  return writer.Finish();
}

Result<uint32_t> PageLsns::Check(SpaceId space) {
  std::shared_ptr<const OnDisk> on_disk;
  {
    const SharedLock lock(&mutex_);
    on_disk = on_disk_;
  }
  uint32_t damaged = 0;
  if (on_disk->base == nullptr) return damaged;
  ChunkLsns lsns;
  for (const ChunkKey key : on_disk->base->KeysOf(space)) {
    if (on_disk->base->Read(key, &lsns) != PageLsnBase::Found::kDamaged) continue;
    ++damaged;
    rewrite_.store(true);
    const SharedLock lock(&mutex_);
    PageLsnChunk* chunk = chunks_.Find(key);
    for (uint32_t page = 0; chunk != nullptr && page < kPagesPerChunk; ++page) {
      if (chunk->lsns[page].load(std::memory_order_relaxed) != kNoLsn)
        MarkChanged(key, chunk, page);
    }
  }
  return damaged;
}

}  // namespace rowan
