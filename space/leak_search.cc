// SPDX-License-Identifier: GPL-2.0-only
#include "space/leak_search.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "space/space_pages.h"

namespace rowan {
namespace {

constexpr int kRounds = 3;
/// Pages that are met twice are met twice in every walk; they are reported when this many walks
/// were quiet, and waited for that long.
constexpr int kQuietRounds = 2;
constexpr int kRoundsMax = 6;
constexpr size_t kNamedMax = 10;

/// A bit per page.
using PageBits = std::vector<uint64_t>;

/// Whether it was set before.
bool Set(PageBits* bits, PageNumber page) {
  const size_t word = page.value() / 64;
  const uint64_t bit = uint64_t{1} << (page.value() % 64);
  if (word >= bits->size()) bits->resize(word + 1);
  const bool was_set = ((*bits)[word] & bit) != 0;
  (*bits)[word] |= bit;
  return was_set;
}

void AddPages(size_t word, uint64_t bits, std::vector<PageNumber>* pages) {
  for (; bits != 0; bits &= bits - 1) {
    pages->emplace_back(static_cast<uint32_t>(word * 64) +
                        static_cast<uint32_t>(std::countr_zero(bits)));
  }
}

/// Pages that both the earlier rounds and this one found.
std::vector<PageNumber> InBoth(const std::vector<PageNumber>& before,
                               const std::vector<PageNumber>& now) {
  std::vector<PageNumber> both;
  std::set_intersection(before.begin(), before.end(), now.begin(), now.end(),
                        std::back_inserter(both));
  return both;
}

}  // namespace

Status LeakSearch::Run(Walk walk) {
  Found found;
  int quiet_rounds = 0;
  const auto goes_on = [&](int round) {
    if (round < kRounds) return true;
    return !found.shared.empty() && quiet_rounds < kQuietRounds && round < kRoundsMax;
  };
  for (int round = 0; goes_on(round); ++round) {
    Found now;
    bool quiet = false;
    const Status status = Round(walk, &now, &quiet);
    if (!status.ok()) return status;
    quiet_rounds += quiet ? 1 : 0;
    if (!quiet) std::erase_if(now.lost, [this](PageNumber page) { return MayBeOld(page); });
    const bool first = round == 0;
    found.lost = first ? now.lost : InBoth(found.lost, now.lost);
    found.shared = first ? now.shared : InBoth(found.shared, now.shared);
    if (found.lost.empty() && found.shared.empty()) return Status::Ok();
    if (quiet && found.shared.empty()) break;
  }
  // With concurrent writers a freed page may have been met again in its next use.
  if (quiet_rounds < kQuietRounds) found.shared.clear();
  if (!found.shared.empty()) {
    return Report(found.shared, "more than one index or value has it",
                  "pages are in more than one index or value");
  }
  if (found.lost.empty()) return Status::Ok();
  return Report(found.lost, "it is marked as in use, but nothing refers to it",
                "pages are marked as in use that nothing refers to");
}

Status LeakSearch::Report(const std::vector<PageNumber>& pages, const char* what,
                          const char* summary) {
  for (size_t i = 0; i < std::min(pages.size(), kNamedMax); ++i) {
    allocator_->pool()->ReportDamage({space_, pages[i]}, what).Ignore();
  }
  return Status(Code::kCorrupt, summary, pages.front().value());
}

Status LeakSearch::Round(Walk walk, Found* found, bool* quiet) {
  PageBits before;
  PageBits after;
  PageBits reached;
  PageBits shared;
  Result<uint32_t> used = allocator_->CheckSpace(space_, &before);
  if (!used.ok()) return used.status();
  const Status status = walk(
      [&](PageNumber page) {
        if (Set(&reached, page)) Set(&shared, page);
      },
      quiet);
  if (!status.ok()) return status;
  used = allocator_->CheckSpace(space_, &after);
  if (!used.ok()) return used.status();
  const size_t words = std::min(before.size(), after.size());
  reached.resize(std::max(reached.size(), words));
  for (size_t word = 0; word < words; ++word) {
    AddPages(word, before[word] & after[word] & ~reached[word], &found->lost);
  }
  const uint32_t group = GroupPages(allocator_->pool()->page_size_bytes());
  std::erase_if(found->lost, [group](PageNumber page) {  // these describe the space
    return page.value() == 0 || page.value() % group == 1;
  });
  for (size_t word = 0; word < shared.size(); ++word) {
    AddPages(word, shared[word], &found->shared);
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
