// SPDX-License-Identifier: GPL-2.0-only
#include "buffer/redo_portion.h"

#include <algorithm>
#include <cstring>

#include "base/assertions.h"
#include "wal/redo.h"

namespace rowan {
namespace {

constexpr size_t kBlockBytesMin = size_t{8} << 10;
constexpr size_t kBlockBytesMax = size_t{1} << 20;

}  // namespace

Status RedoPortion::Read() {
  // Pages were added in the order of their keys, so those that want a group are in that order, too.
  if (!std::is_sorted(wanted_.begin(), wanted_.end())) std::sort(wanted_.begin(), wanted_.end());
  const Status status =
      log_->Visit(wanted_, [this](std::span<const Wanted> wanted, const LogReader::Group& group) {
        return CopyGroup(wanted, group);
      });
  wanted_ = {};
  if (!status.ok()) pages_.clear();
  return status;
}

Status RedoPortion::CopyGroup(std::span<const Wanted> wanted, const LogReader::Group& group) {
  GroupParser parser(group.bytes);
  RecordView record;
  Status status;
  while (parser.Next(&record, &status)) {
    Page* page = PageOf(record.page.Packed(), wanted);
    if (page == nullptr) continue;
    const RedoEntry* entry = FindRedo(record.type, record.version);
    ROWAN_CHECK(entry != nullptr);  // the group is checked, and its records were known when found
    if (entry->pageless) continue;
    Record* copy = Copy(record, group.end);
    // Earlier records do not matter, and need not fit.
    const bool first = page->first == nullptr || entry->initialises_page;
    ROWAN_DCHECK(first || page->last->group_end <= group.end);
    (first ? page->first : page->last->next) = copy;
    page->last = copy;
  }
  return status;
}

RedoPortion::Page* RedoPortion::PageOf(uint64_t key, std::span<const Wanted> wanted) {
  const auto found = std::lower_bound(
      wanted.begin(), wanted.end(), key,
      [this](Wanted one, uint64_t other) { return pages_[one.purpose()].key < other; });
  if (found == wanted.end() || pages_[found->purpose()].key != key) return nullptr;
  return &pages_[found->purpose()];
}

RedoPortion::Record* RedoPortion::Copy(const RecordView& record, Lsn group_end) {
  const size_t bytes = (sizeof(Record) + record.body.size() + alignof(Record) - 1) /
                       alignof(Record) * alignof(Record);
  if (bytes > block_bytes_ - block_used_) {
    // Small at first: a session wants one page's records.
    block_bytes_ = std::max(bytes, std::clamp(2 * block_bytes_, kBlockBytesMin, kBlockBytesMax));
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(block_bytes_));
    block_used_ = 0;
  }
  ROWAN_DCHECK(block_used_ % alignof(Record) == 0 && block_used_ + bytes <= block_bytes_);
  std::byte* place = blocks_.back().get() + block_used_;
  block_used_ += bytes;
  auto* copy = new (place) Record{nullptr, group_end, static_cast<uint32_t>(record.body.size()),
                                  record.type, record.version};
  if (!record.body.empty()) std::memcpy(copy + 1, record.body.data(), record.body.size());
  return copy;
}

bool RedoPortion::Find(uint64_t key, const Record** first) const {
  const auto found =
      std::lower_bound(pages_.begin(), pages_.end(), key,
                       [](const Page& page, uint64_t other) { return page.key < other; });
  if (found == pages_.end() || found->key != key) return false;
  *first = found->first;
  return true;
}

}  // namespace rowan
