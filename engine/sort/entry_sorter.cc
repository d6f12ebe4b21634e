// SPDX-License-Identifier: GPL-2.0-only
#include "engine/sort/entry_sorter.h"

#include <algorithm>
#include <utility>

#include "base/assertions.h"
#include "base/format.h"

namespace rowan {
namespace {

constexpr char kNamePrefix[] = "rowan.sort_";
/// Small, so that tests with a few hundred rows sort through files, too.
constexpr size_t kSortMemoryBytesMin = size_t{2} << 10;
constexpr size_t kReadChunkBytesMin = size_t{16} << 10;
constexpr size_t kReadChunkBytesMax = size_t{1} << 20;

}  // namespace

/// Sorted entries of a lane: those in memory, or a run of its file with its window in memory.
class EntrySorter::Source {
 public:
  explicit Source(const SortLane* in_memory) : lane_(in_memory) {}
  Source(const SortLane* lane, const SortLane::Run& run, size_t chunk_bytes)
      : lane_(lane),
        file_(lane->file()),
        position_(run.begin),
        end_(run.end),
        chunk_bytes_(chunk_bytes) {}

  /// Makes the first entry, or the next one, the current one. False at the end.
  Result<bool> Load() {
    if (file_ == nullptr) return LoadFromMemory();
    begin_ += entry_bytes_;
    entry_bytes_ = 0;
    if (position_ == end_ && begin_ == window_.size()) return false;
    Status status = Require(SortLane::kHeaderBytes);
    if (!status.ok()) return status;
    const size_t bytes = SortLane::StoredBytes(SortLane::Parse(window_.data() + begin_));
    status = Require(bytes);
    if (!status.ok()) return status;
    entry_bytes_ = bytes;
    entry_ = SortLane::Parse(window_.data() + begin_);
    head_ = SortLane::HeadOf(entry_.key);
    return true;
  }
  [[nodiscard]] const IndexEntry& entry() const { return entry_; }
  /// Heap order: the one with the smallest key on top.
  static bool After(const Source* left, const Source* right) {
    if (left->head_ != right->head_) return left->head_ > right->head_;
    return CompareBytes(left->entry_.key, right->entry_.key) > 0;
  }

 private:
  bool LoadFromMemory() {
    if (next_ == lane_->entries_in_memory()) return false;
    entry_ = lane_->EntryInMemory(next_);
    head_ = lane_->HeadInMemory(next_++);
    return true;
  }
  /// Makes `bytes` of the current entry readable.
  Status Require(size_t bytes) {
    if (window_.size() - begin_ >= bytes) return Status::Ok();
    window_.erase(window_.begin(), window_.begin() + static_cast<ptrdiff_t>(begin_));
    begin_ = 0;
    const size_t kept = window_.size();
    const uint64_t wanted = std::max(chunk_bytes_, bytes) - kept;
    const uint64_t count = std::min(wanted, end_ - position_);
    if (kept + count < bytes) return Status(Code::kCorrupt, "a sort file ends in an entry");
    window_.resize(kept + count);
    const Status status = file_->Read(position_, MutableBytes(window_).subspan(kept));
    position_ += count;
    return status;
  }

  const SortLane* const lane_;
  File* const file_ = nullptr;  ///< null: in memory
  size_t next_ = 0;             ///< in memory
  uint64_t position_ = 0;       ///< of the first byte after the window
  const uint64_t end_ = 0;
  const size_t chunk_bytes_ = 0;
  std::vector<std::byte> window_;
  size_t begin_ = 0;  ///< of the current entry in the window
  size_t entry_bytes_ = 0;
  uint64_t head_ = 0;
  IndexEntry entry_;
};

EntrySorter::EntrySorter(FileSystem* files, const std::string& folder, const std::string& name,
                         size_t memory_bytes, uint32_t lanes) {
  ROWAN_CHECK(lanes > 0);
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    const std::string path = folder + "/" + kNamePrefix + name;
    lanes_.push_back(std::make_unique<SortLane>(
        files, lane == 0 ? path : Format("{}_lane{}", path, lane), memory_bytes / lanes));
  }
}

EntrySorter::~EntrySorter() = default;

Status EntrySorter::RemoveLeftovers(FileSystem* files, const std::string& folder) {
  Result<std::vector<std::string>> names = files->List(folder);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (!name.starts_with(kNamePrefix)) continue;
    const Status status = files->Remove(folder + "/" + name);
    if (!status.ok() && !status.Is(Code::kNotFound)) return status;
  }
  return Status::Ok();
}

uint64_t EntrySorter::entries() const {
  uint64_t entries = 0;
  for (const auto& lane : lanes_) entries += lane->entries();
  return entries;
}

uint64_t EntrySorter::runs() const {
  uint64_t runs = 0;
  for (const auto& lane : lanes_) runs += lane->runs().size();
  return runs;
}

Status EntrySorter::StartReading() {
  for (const auto& lane : lanes_) {
    Status status = lane->Finish();
    if (!status.ok()) return status;
    status = AddSource(std::make_unique<Source>(lane.get()));
    if (!status.ok()) return status;
    const size_t runs = std::max<size_t>(1, lane->runs().size());
    const size_t chunk_bytes =
        std::clamp(lane->memory_bytes() / runs, kReadChunkBytesMin, kReadChunkBytesMax);
    for (const SortLane::Run& run : lane->runs()) {
      status = AddSource(std::make_unique<Source>(lane.get(), run, chunk_bytes));
      if (!status.ok()) return status;
    }
  }
  std::make_heap(heap_.begin(), heap_.end(), Source::After);
  return Status::Ok();
}

Status EntrySorter::AddSource(std::unique_ptr<Source> source) {
  Result<bool> loaded = source->Load();
  if (!loaded.ok()) return loaded.status();
  if (!*loaded) return Status::Ok();
  heap_.push_back(source.get());
  sources_.push_back(std::move(source));
  return Status::Ok();
}

/// Moves the top source, whose entry has become larger, to its place.
void EntrySorter::SinkTop() {
  const size_t count = heap_.size();
  Source* const sinking = heap_[0];
  size_t at = 0;
  for (size_t child = 1; child < count; child = 2 * at + 1) {
    if (child + 1 < count && Source::After(heap_[child], heap_[child + 1])) ++child;
    if (!Source::After(sinking, heap_[child])) break;
    heap_[at] = heap_[child];
    at = child;
  }
  heap_[at] = sinking;
}

Result<bool> EntrySorter::Next(IndexEntry* entry) {
  if (std::exchange(top_was_read_, false)) {
    Result<bool> loaded = heap_[0]->Load();
    if (!loaded.ok()) return loaded.status();
    if (!*loaded) {
      heap_[0] = heap_.back();
      heap_.pop_back();
    }
    if (!heap_.empty()) SinkTop();
  }
  if (heap_.empty()) return false;
  top_was_read_ = true;
  *entry = heap_[0]->entry();
  return true;
}

std::unique_ptr<EntrySorter> SortSpace::NewSorter(const std::string& name, size_t memory_bytes,
                                                  uint32_t lanes) const {
  return std::make_unique<EntrySorter>(files, folder, name,
                                       std::max(kSortMemoryBytesMin, memory_bytes), lanes);
}

}  // namespace rowan
