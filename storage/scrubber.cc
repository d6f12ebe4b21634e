// SPDX-License-Identifier: GPL-2.0-only
#include "storage/scrubber.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/counters.h"
#include "base/format.h"
#include "base/logging.h"
#include "io/resource_shortage.h"
#include "space/space_pages.h"

namespace rowan {
namespace {

constexpr size_t kScrubBatchBytes = size_t{256} << 10;
/// A write of a page takes some milliseconds, on a slow disk some hundred.
constexpr int kScrubTries = 100;
constexpr std::chrono::milliseconds kScrubPause{5};
/// What was not read while the device was busy is not made up for.
constexpr double kAllowanceSecondsMax = 1;
/// Of rowan_io_capacity: the device is busy when others make more calls than this share.
constexpr double kBusyShare = 0.1;
constexpr double kNanosPerSecond = 1e9;

double SecondsSince(uint64_t nanos) {
  return static_cast<double>(MonotonicNanos() - nanos) / kNanosPerSecond;
}

}  // namespace

Scrubber::Scrubber(Storage* storage)
    : storage_(storage),
      bytes_per_second_(storage->options().scrub_bytes_per_second),
      buffer_(kScrubBatchBytes),
      round_began_nanos_(MonotonicNanos()) {}

uint64_t Scrubber::TakeOthersCalls() {
  uint64_t calls = 0;
  for (const Counter counter : {Counter::kPagesRead, Counter::kPagesReadAhead,
                                Counter::kPagesWritten, Counter::kLogSyncs}) {
    calls += ReadCounter(counter);
  }
  return calls - std::exchange(others_calls_, calls);
}

void Scrubber::Step(const std::atomic<bool>& stopping) {
  const auto rate = static_cast<double>(bytes_per_second_.load(std::memory_order_relaxed));
  if (rate == 0 || storage_->options().read_only) return;
  if (storage_->redoing() || storage_->stopped()) return;
  const auto calls = static_cast<double>(TakeOthersCalls());
  const uint64_t now = MonotonicNanos();
  const double seconds =
      static_cast<double>(now - std::exchange(stepped_nanos_, now)) / kNanosPerSecond;
  const double capacity = storage_->options().buffer.io_capacity_pages_per_second;
  if (seconds > kAllowanceSecondsMax * 10 || calls > capacity * kBusyShare * seconds) return;
  allowance_bytes_ = std::min(allowance_bytes_ + rate * seconds,
                              std::max(rate * kAllowanceSecondsMax, double{kScrubBatchBytes}));
  while (allowance_bytes_ >= kScrubBatchBytes && !stopping.load(std::memory_order_relaxed)) {
    allowance_bytes_ -= kScrubBatchBytes;
    if (ReadSome()) return;
  }
}

void Scrubber::BeginRound() {
  Result<std::vector<SpaceId>> files = storage_->files()->ListFiles();
  spaces_ = files.ok() ? std::move(files).value() : std::vector<SpaceId>();
  // Not always the same ones first: a server that is restarted often gets to all of them, too.
  if (!spaces_.empty()) {
    std::rotate(spaces_.begin(), spaces_.begin() + MonotonicNanos() / 1000 % spaces_.size(),
                spaces_.end());
  }
  uint64_t pages = 0;
  for (const SpaceId space : spaces_) {
    const Result<uint32_t> count = storage_->files()->PageCount(space);
    if (count.ok()) pages += count.value();
  }
  const MutexLock guard(&mutex_);
  figures_.pages_done = 0;
  figures_.pages_total = pages;
  round_began_nanos_ = MonotonicNanos();
}

bool Scrubber::EnterSpace() {
  for (; !spaces_.empty(); spaces_.erase(spaces_.begin())) {
    const SpaceId space = spaces_.front();
    if (!storage_->files()->IsLive(space) || storage_->damaged()->Contains(space)) continue;
    const Result<uint32_t> pages = storage_->files()->PageCount(space);
    if (!pages.ok()) continue;  // dropped meanwhile
    // With a damaged header every page is judged.
    const Result<uint32_t> with_bits = storage_->allocator()->PagesWithBits(space);
    space_pages_ = std::min(pages.value(), with_bits.ok() ? with_bits.value() : UINT32_MAX);
    if (space_pages_ == 0) continue;
    next_page_ = 0;
    return true;
  }
  return false;
}

bool Scrubber::ReadSome() {
  if (spaces_.empty()) BeginRound();
  if (space_pages_ == 0 && !EnterSpace()) return EndRound();
  const SpaceId space = spaces_.front();
  const size_t page_size = storage_->options().page_size_bytes;
  const auto count =
      std::min(static_cast<uint32_t>(buffer_.size() / page_size), space_pages_ - next_page_);
  const MutableBytes images = buffer_.span().first(count * page_size);
  const PageId first{space, PageNumber(next_page_)};
  Result<SpaceFiles::Location> location = storage_->files()->Locate(first, SpaceFiles::Use::kRead);
  const bool whole = location.ok() && location->file->Read(location->offset, images).ok();
  for (uint32_t i = 0; i < count; ++i) {
    const PageId page{space, PageNumber(next_page_ + i)};
    const MutableBytes image = images.subspan(i * page_size, page_size);
    const Status read = whole ? Status::Ok() : storage_->files()->ReadPage(page, image);
    if (read.ok()) {
      CheckPage(page, image);
    } else if (!read.Is(Code::kNotFound) && !IsResourceShortage(read)) {
      RepairOrReport(page,
                     Format("it cannot be read: {} (error {})", read.message(), read.detail()));
    }
  }
  AddCounter(Counter::kScrubPagesRead, count);
  next_page_ += count;
  {
    const MutexLock guard(&mutex_);
    figures_.pages_done += count;
  }
  if (next_page_ < space_pages_) return false;
  space_pages_ = 0;
  spaces_.erase(spaces_.begin());
  return spaces_.empty() && EndRound();
}

bool Scrubber::EndRound() {
  const MutexLock guard(&mutex_);
  ++figures_.rounds;
  return true;
}

void Scrubber::CheckPage(PageId page, MutableBytes image) {
  std::string wrong = storage_->pool()->WrongWith(image, page);
  if (!wrong.empty() && StaysWrong(page, image, &wrong)) RepairOrReport(page, wrong);
}

bool Scrubber::IsFree(PageId page, Bytes image) {
  const PageNumber bitmap = BitmapPage(page.page.value() / GroupPages(image.size()), image.size());
  if (page.page == bitmap || page.page == PageNumber(0)) return false;
  const Result<bool> used = storage_->allocator()->IsAllocated(page, FixHint::kSpeculative);
  // Under a damaged bitmap page, zeros tell nothing.
  return used.ok() ? !used.value() : IsAllZero(image);
}

bool Scrubber::StaysWrong(PageId page, MutableBytes image, std::string* wrong) {
  for (int i = 0; i < kScrubTries; ++i) {
    // A page not in use may never have been written. One that is changed is written again.
    if (IsFree(page, image) || storage_->pool()->IsDirty(page)) return false;
    std::this_thread::sleep_for(kScrubPause);
    if (!storage_->files()->ReadPage(page, image).ok()) return false;  // the next round tells
    *wrong = storage_->pool()->WrongWith(image, page);
    if (wrong->empty()) return false;
  }
  return true;
}

void Scrubber::RepairOrReport(PageId page, const std::string& wrong) {
  const std::string path = storage_->files()->PathOf(page.space);
  const bool has_bit = storage_->allocator()->IsAllocated(page, FixHint::kSpeculative).ok();
  const Status held = has_bit ? storage_->allocator()->FixInUse(page).status()
                              : storage_->pool()->Fix(page, LatchMode::kShared).status();
  if (held.ok()) return Repair(page, path, wrong);
  // Freed or dropped in the meantime, or waiting for what redo has kept for it.
  if (!held.Is(Code::kCorrupt) && !held.Is(Code::kIoError)) return;
  AddCounter(Counter::kScrubPagesDamaged);
  NoteFinding(Format("Page {} of '{}' is damaged: {}.", page.page.value(), path, wrong));
}

void Scrubber::Repair(PageId page, const std::string& path, const std::string& wrong) {
  const Result<PageGuard> guard =
      storage_->pool()->Fix(page, LatchMode::kExclusive, FixHint::kSpeculative);
  if (!guard.ok()) return;  // freed since
  // Below the tail, so that the next flush of everything writes it although nothing is logged.
  storage_->pool()->MarkDirty(guard.value(), storage_->log()->tail() - 1);
  AddCounter(Counter::kScrubPagesRewritten);
  NoteFinding(
      Format("Page {} of '{}' was damaged on disk: {}. The buffer pool has it whole and "
             "writes it again.",
             page.page.value(), path, wrong));
}

void Scrubber::NoteFinding(std::string sentence) {
  LogWarning("Scrubbing: {}", sentence);
  const MutexLock guard(&mutex_);
  figures_.last_finding = std::move(sentence);
}

ScrubFigures Scrubber::Figures() const {
  const MutexLock guard(&mutex_);
  ScrubFigures figures = figures_;
  figures.bytes_per_second = bytes_per_second_.load(std::memory_order_relaxed);
  figures.round_seconds = static_cast<uint64_t>(SecondsSince(round_began_nanos_));
  return figures;
}

}  // namespace rowan
