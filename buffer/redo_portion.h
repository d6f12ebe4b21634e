// SPDX-License-Identifier: GPL-2.0-only
// RedoPortion: copies of the log records of some pages, gathered from the log in one pass, however
// far apart. RedoBacklog knows where they are; see there.
// Thread safety: one thread fills it; then any may read.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/assertions.h"
#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "wal/group.h"
#include "wal/log_groups.h"

namespace rowan {

class RedoPortion {
 public:
  /// The body follows.
  struct Record {
    Record* next;  ///< of the same page, as in the log
    Lsn group_end;
    uint32_t body_bytes;
    RecordType type;
    uint8_t version;

    [[nodiscard]] Bytes body() const {
      return {reinterpret_cast<const std::byte*>(this + 1), body_bytes};
    }
  };
  /// What a wanted record takes at most besides its body.
  static constexpr size_t kOverheadBytes = sizeof(Record) + sizeof(LogGroups::Wanted) + 8;
  static constexpr size_t kPagesMax = size_t{1} << LogGroups::Wanted::kPurposeBits;

  /// The log outlives the portion.
  explicit RedoPortion(const LogGroups* log) : log_(log) {}

  /// The next wanted groups are for this page. REQUIRES: `key` is larger than the previous ones, of
  /// which there are fewer than kPagesMax.
  void AddPage(uint64_t key) {
    ROWAN_DCHECK(pages_.size() < kPagesMax && (pages_.empty() || pages_.back().key < key));
    pages_.push_back({key, nullptr, nullptr});
  }
  /// The page has records in the group that starts here. Call in log order.
  void Want(Lsn group_start) {
    ROWAN_DCHECK(!pages_.empty());
    wanted_.push_back(log_->Want(group_start, static_cast<uint32_t>(pages_.size() - 1)));
  }
  /// Reads what is wanted. kStopped: see LogGroups::Visit. Then the portion is empty.
  Status Read();

  /// False: the page is not in the portion. Else the first of its records.
  [[nodiscard]] bool Find(uint64_t key, const Record** first) const;

 private:
  struct Page {
    uint64_t key;
    Record* first;
    Record* last;
  };
  using Wanted = LogGroups::Wanted;  // with the place of the page in pages_

  /// The page with this key; null if it does not want the group.
  Page* PageOf(uint64_t key, std::span<const Wanted> wanted);
  Status CopyGroup(std::span<const Wanted> wanted, const LogReader::Group& group);
  Record* Copy(const RecordView& record, Lsn group_end);

  const LogGroups* const log_;
  std::vector<Page> pages_;
  std::vector<Wanted> wanted_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  size_t block_used_ = 0;   ///< of the last block
  size_t block_bytes_ = 0;  ///< its size
};

}  // namespace rowan
