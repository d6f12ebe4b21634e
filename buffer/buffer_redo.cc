// SPDX-License-Identifier: GPL-2.0-only
// Logging and redoing page images and byte runs. See buffer_redo.h.
#include "buffer/buffer_redo.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/assertions.h"
#include "buffer/page/page_header.h"
#include "wal/redo.h"

namespace rowan {
namespace {

/// Zeros shorter than this stay inside a run: two varints for a new run cost up to six bytes.
constexpr size_t kGapMin = 8;
/// Offset and length varints of a run, each below 64 Ki + 1.
constexpr size_t kRunHeaderMax = 6;

using Run = std::pair<size_t, size_t>;  ///< offset, length

/// Non-zero stretches of the page, joined over short gaps.
std::vector<Run> FindRuns(Bytes page) {
  std::vector<Run> runs;
  for (size_t i = 0; i < page.size(); ++i) {
    if (page[i] == std::byte{0}) continue;
    if (!runs.empty() && i - (runs.back().first + runs.back().second) < kGapMin) {
      runs.back().second = i + 1 - runs.back().first;
    } else {
      runs.emplace_back(i, 1);
    }
  }
  return runs;
}

Status RedoPageImage(PageId id, MutableBytes page, Bytes body) {
  std::fill(page.begin(), page.end(), std::byte{0});
  const std::byte* position = body.data();
  const std::byte* const end = position + body.size();
  while (position < end) {
    uint64_t offset = 0;
    uint64_t length = 0;
    position = GetVarint(position, end, &offset);
    if (position != nullptr) position = GetVarint(position, end, &length);
    if (position == nullptr || offset > page.size() || length > page.size() - offset ||
        length > static_cast<uint64_t>(end - position)) {
      return Status(Code::kCorrupt, "a page image record is malformed", id.page.value());
    }
    std::memcpy(page.data() + offset, position, length);
    position += length;
  }
  return Status::Ok();
}

Status RedoPageBytes(PageId id, MutableBytes page, Bytes body) {
  if (body.size() < 2) {
    return Status(Code::kCorrupt, "a page bytes record is malformed", id.page.value());
  }
  const size_t offset = LoadLe<uint16_t>(body.data());
  const Bytes bytes = body.subspan(2);
  if (offset < kPageBytesOffsetMin || offset + bytes.size() > page.size()) {
    return Status(Code::kCorrupt, "a page bytes record leaves the page", id.page.value());
  }
  if (!bytes.empty()) std::memcpy(page.data() + offset, bytes.data(), bytes.size());
  return Status::Ok();
}

}  // namespace

void RegisterBufferRedo() {
  RegisterRedo(RecordType::kPageImage, {.apply = RedoPageImage, .initialises_page = true});
  RegisterRedo(RecordType::kPageBytes, {.apply = RedoPageBytes});
}

uint32_t PageImageLogBytesMax(uint32_t page_size_bytes) {
  // Each run but the first is preceded by a gap of at least kGapMin bytes, more than its header.
  return static_cast<uint32_t>(page_size_bytes + kRunHeaderMax + 1 + 3 * kVarintBytesMax);
}

void LogPageImage(MiniTxn* mini_txn, const MutablePage& page) {
  const Bytes bytes(page.bytes, mini_txn->pool()->page_size_bytes());
  const std::vector<Run> runs = FindRuns(bytes);
  size_t body_size = 0;
  for (const auto& [offset, length] : runs) {
    body_size += VarintSize(offset) + VarintSize(length) + length;
  }
  std::byte* body = mini_txn->Log(RecordType::kPageImage, page, body_size);
  for (const auto& [offset, length] : runs) {
    body = PutVarint(body, offset);
    body = PutVarint(body, length);
    std::memcpy(body, page.bytes + offset, length);
    body += length;
  }
}

void LogPageBytes(MiniTxn* mini_txn, const MutablePage& page, uint32_t offset, Bytes bytes) {
  ROWAN_CHECK(offset >= kPageBytesOffsetMin);
  ROWAN_CHECK(offset + bytes.size() <= mini_txn->pool()->page_size_bytes());
  std::memcpy(page.bytes + offset, bytes.data(), bytes.size());
  std::byte* body = mini_txn->Log(RecordType::kPageBytes, page, 2 + bytes.size());
  StoreLe<uint16_t>(body, static_cast<uint16_t>(offset));
  std::memcpy(body + 2, bytes.data(), bytes.size());
}

}  // namespace rowan
