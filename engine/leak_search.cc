// SPDX-License-Identifier: GPL-2.0-only
#include "engine/leak_search.h"

#include <algorithm>
#include <iterator>

#include "space/space_pages.h"

namespace rowan {
namespace {

constexpr int kRounds = 3;
constexpr size_t kNamedMax = 10;

}  // namespace

Status LeakSearch::Run(const Walk& walk) {
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
    allocator_->pool()->ReportDamage({space_, lost[i]},
                                     "it is marked as in use, but nothing refers to it");
  }
  return Status(Code::kCorrupt, "pages are marked as in use that nothing refers to",
                lost.front().value());
}

Status LeakSearch::Round(const Walk& walk, std::vector<PageNumber>* lost, bool* quiet) {
  std::vector<bool> before;
  std::vector<bool> after;
  std::vector<bool> reached;
  Result<uint32_t> used = allocator_->CheckSpace(space_, &before);
  if (!used.ok()) return used.status();
  const Status status = walk(
      [&reached](PageNumber page) {
        if (page.value() >= reached.size()) reached.resize(page.value() + 1);
        reached[page.value()] = true;
      },
      quiet);
  if (!status.ok()) return status;
  used = allocator_->CheckSpace(space_, &after);
  if (!used.ok()) return used.status();
  const uint32_t group = GroupPages(allocator_->pool()->page_size_bytes());
  const size_t pages = std::min(before.size(), after.size());
  for (uint32_t number = 1; number < pages; ++number) {
    const bool known = number % group == 1 || (number < reached.size() && reached[number]);
    if (before[number] && after[number] && !known) lost->push_back(PageNumber(number));
  }
  return Status::Ok();
}

bool LeakSearch::MayBeOld(PageNumber page) const {
  if (space_ == kUndoSpace) return true;
  Result<PageGuard> guard =
      allocator_->pool()->Fix({space_, page}, LatchMode::kShared, FixHint::kSpeculative);
  return guard.ok() && PageTypeOf(guard->page()) == PageType::kBlob;
}

}  // namespace rowan
