// SPDX-License-Identifier: GPL-2.0-only
// Reserving and committing the pool's memory with mmap, mprotect and madvise. See frame_arena.h.
#include "buffer/frame_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

#include "base/assertions.h"
#include "base/page_size.h"
#include "buffer/huge_memory.h"

namespace rowan {
namespace {

constexpr size_t kSystemPageBytes = 4096;

void* ReserveAddresses(size_t bytes) {
  void* mapping =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return mapping == MAP_FAILED ? nullptr : mapping;
}

size_t RoundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

/// Makes part of a reserved range readable and writable. `start` is system-page aligned.
bool Commit(void* start, size_t bytes) {
  if (::mprotect(start, bytes, PROT_READ | PROT_WRITE) != 0) return false;
  // Advice only: without huge pages everything works, slower.
  (void)::madvise(start, bytes, MADV_HUGEPAGE);
  (void)::madvise(start, bytes, MADV_DONTDUMP);
  return true;
}

}  // namespace

Result<std::unique_ptr<FrameArena>> FrameArena::Create(uint32_t page_size_bytes, uint32_t frames,
                                                       uint32_t frames_max) {
  ROWAN_CHECK(IsPageSize(page_size_bytes));
  std::unique_ptr<FrameArena> arena(new FrameArena());
  arena->page_shift_ = static_cast<uint32_t>(std::countr_zero(page_size_bytes));
  uint64_t reserved = std::max(frames, frames_max);
  Status status = arena->Reserve(static_cast<uint32_t>(reserved));
  // The process may get less address space than it wants.
  while (!status.ok() && reserved > frames) {
    reserved = std::max<uint64_t>(frames, reserved / 2);
    status = arena->Reserve(static_cast<uint32_t>(reserved));
  }
  if (!status.ok()) return status;
  status = arena->Grow(frames);
  if (!status.ok()) return status;
  return arena;
}

FrameArena::~FrameArena() {
  if (page_mapping_ != nullptr) ::munmap(page_mapping_, page_mapping_bytes_);
  if (headers_ != nullptr) ::munmap(headers_, header_mapping_bytes_);
}

Status FrameArena::Reserve(uint32_t frames) {
  const size_t page_bytes = (size_t{frames} << page_shift_) + kHugePageBytes;
  const size_t header_bytes = RoundUp(size_t{frames} * sizeof(Frame), kSystemPageBytes);
  void* pages = ReserveAddresses(page_bytes);
  if (pages == nullptr) {
    return Status(Code::kOutOfMemory, "the buffer pool's address range was refused");
  }
  void* headers = ReserveAddresses(header_bytes);
  if (headers == nullptr) {
    ::munmap(pages, page_bytes);
    return Status(Code::kOutOfMemory, "the frame headers' address range was refused");
  }
  page_mapping_ = pages;
  page_mapping_bytes_ = page_bytes;
  header_mapping_bytes_ = header_bytes;
  headers_ = static_cast<Frame*>(headers);
  pages_ = reinterpret_cast<std::byte*>(RoundUp(reinterpret_cast<size_t>(pages), kHugePageBytes));
  frames_max_ = frames;
  return Status::Ok();
}

Status FrameArena::Grow(uint32_t frames) {
  ROWAN_CHECK(frames <= frames_max_);
  const uint32_t ever = frames_ever_.load(std::memory_order_relaxed);
  if (frames <= ever) return Status::Ok();
  auto* header_start = reinterpret_cast<std::byte*>(headers_);
  const size_t header_old = RoundUp(size_t{ever} * sizeof(Frame), kSystemPageBytes);
  const size_t header_new = RoundUp(size_t{frames} * sizeof(Frame), kSystemPageBytes);
  if (header_new > header_old && !Commit(header_start + header_old, header_new - header_old)) {
    return Status(Code::kOutOfMemory, "the system has no memory for more frame headers");
  }
  if (!Commit(page(ever), size_t{frames - ever} << page_shift_)) {
    return Status(Code::kOutOfMemory, "the system has no memory for a larger buffer pool");
  }
  frames_ever_.store(frames, std::memory_order_release);
  return Status::Ok();
}

void FrameArena::Shrink(uint32_t frames) {
  const uint32_t ever = frames_ever_.load(std::memory_order_relaxed);
  if (frames >= ever) return;
  // A failure keeps the memory, which is harmless.
  (void)::madvise(page(frames), size_t{ever - frames} << page_shift_, MADV_DONTNEED);
}

}  // namespace rowan
