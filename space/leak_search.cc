// SPDX-License-Identifier: GPL-2.0-only
#include "space/leak_search.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "space/space_pages.h"

namespace rowan {
namespace {

constexpr int kRounds = 3;
constexpr size_t kNamedMax = 10;

}  // namespace

Status LeakSearch::Run(Walk walk) {
  std::vector<PageNumber> lost;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<PageNumber> missed;
    bool quiet = false;
    const Status status = Round(walk, &missed, &quiet);
    if (!status.ok()) return status;
    if (!quiet) std::erase_if(missed, [this](PageNumber page) { return MayBeOld(page); });
    std::vector<PageNumber> both;
    std::set_intersection(lost.begin(), lost.end(), missed.begin(), missed.end(),
                          std::back_inserter(both));
    lost = round == 0 ? missed : both;
    if (lost.empty()) return Status::Ok();
    if (quiet) break;
  }
  for (size_t i = 0; i < std::min(lost.size(), kNamedMax); ++i) {
    allocator_->pool()
        ->ReportDamage({space_, lost[i]}, "it is marked as in use, but nothing refers to it")
        .Ignore();
  }
  return Status(Code::kCorrupt, "pages are marked as in use that nothing refers to",
                lost.front().value());
}

Status LeakSearch::Round(Walk walk, std::vector<PageNumber>* lost, bool* quiet) {
  // A bit per page in each.
  std::vector<uint64_t> before;
  std::vector<uint64_t> after;
  std::vector<uint64_t> reached;
  Result<uint32_t> used = allocator_->CheckSpace(space_, &before);
  if (!used.ok()) return used.status();
  const Status status = walk(
      [&reached](PageNumber page) {
        const size_t word = page.value() / 64;
        if (word >= reached.size()) reached.resize(word + 1);
        reached[word] |= uint64_t{1} << (page.value() % 64);
      },
      quiet);
  if (!status.ok()) return status;
  used = allocator_->CheckSpace(space_, &after);
  if (!used.ok()) return used.status();
  const size_t words = std::min(before.size(), after.size());
  reached.resize(std::max(reached.size(), words));
  const uint32_t group = GroupPages(allocator_->pool()->page_size_bytes());
  for (size_t word = 0; word < words; ++word) {
    uint64_t missed = before[word] & after[word] & ~reached[word];
    for (; missed != 0; missed &= missed - 1) {
      const auto bit = static_cast<uint32_t>(std::countr_zero(missed));
      const auto number = static_cast<uint32_t>(word * 64) + bit;
      const bool describes_space = number == 0 || number % group == 1;
      if (!describes_space) lost->push_back(PageNumber(number));
    }
  }
  return Status::Ok();
}

bool LeakSearch::MayBeOld(PageNumber page) const {
  if (space_ == kUndoSpace) return true;
  Result<PageGuard> guard =
      allocator_->pool()->Fix({space_, page}, LatchMode::kShared, FixHint::kSpeculative);
  if (!guard.ok()) return false;
  if (PageTypeOf(guard->page()) == PageType::kBlob) return true;
  return PageTypeOf(guard->page()) == PageType::kTreeNode &&
         std::find(indexes_.begin(), indexes_.end(), PageIndexOf(guard->page())) == indexes_.end();
}

}  // namespace rowan
