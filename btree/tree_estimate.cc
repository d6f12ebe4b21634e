// SPDX-License-Identifier: GPL-2.0-only
// Estimates from a few descents: range sizes for the optimizer, page and entry counts.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "btree/descent.h"
#include "btree/node.h"
#include "btree/tree.h"

namespace rowan {
namespace {

/// Random paths from root to leaf that Statistics averages over.
constexpr uint32_t kSamples = 12;
/// Leaves between those at the ends of a range that EstimateRange counts one after the other.
constexpr uint32_t kCountedLeaves = 10;
/// Leaves spread over a longer range whose fill it also samples.
constexpr uint32_t kRangeSamples = 6;

/// Where one end of a long range lies.
struct RangeEnd {
  std::vector<ChildChoice> path;  ///< root first, level 1 last
  PageNumber leaf;
  uint64_t slot = 0;
  uint64_t count = 0;
};

Status FindEnd(const Tree& tree, const DescentTarget& target, RangeEnd* end) {
  Descent descent(tree);
  descent.TrackPath(&end->path);
  PageGuard guard;
  const Status status = descent.ToLeaf(target, LatchMode::kShared, &guard);
  if (!status.ok()) return status;
  const NodeView leaf({guard.page(), tree.pool()->page_size_bytes()});
  end->leaf = guard.id().page;
  end->count = leaf.count();
  end->slot = target.aim == Aim::kLast ? end->count : SearchNode(leaf.page(), target.key).slot;
  return Status::Ok();
}

/// Entries below one child of the node at `depth` of the path, judged by both paths down.
double EntriesPerChild(const RangeEnd& low, const RangeEnd& high, size_t depth,
                       double leaf_entries) {
  double entries = std::max(1.0, leaf_entries);
  for (size_t d = depth + 1; d < low.path.size(); ++d) {
    entries *= (low.path[d].children + high.path[d].children) / 2.0;
  }
  return entries;
}

/// Share of a subtree that lies left of the end, whose path continues at `depth`.
double ShareLeftOf(const RangeEnd& end, size_t depth) {
  const auto entries = static_cast<double>(std::max<uint64_t>(1, end.count));
  double share = static_cast<double>(end.slot) / entries;
  for (size_t d = end.path.size(); d-- > depth;) {
    share = (end.path[d].index + share) / end.path[d].children;
  }
  return share;
}

/// Where a range begins, and what the leaf there has of it.
struct RangeStart {
  uint16_t slot = 0;
  LeafRank rank;
};

RangeStart StartIn(const Tree& tree, const std::byte* leaf, Bytes low, Bytes high) {
  const Bytes page(leaf, tree.pool()->page_size_bytes());
  RangeStart start;
  start.slot = SearchNode(page, low).slot;
  start.rank = UnlatchedRank(page, tree.index(), start.slot, high);
  return start;
}

/// False: it takes a latch to say.
bool TryFindStart(const Tree& tree, Bytes low, Bytes high, Ancestors* path, RangeStart* start) {
  Descent descent(tree);
  descent.Remember(path);
  PageNumber number;
  OptimisticPage leaf;
  if (!descent.TryToLeafUnlatched(low, &number, &leaf)) return false;
  *start = StartIn(tree, leaf.page, low, high);
  return start->rank.is_leaf && leaf.Validate();
}

Status FindStart(const Tree& tree, Bytes low, Bytes high, Ancestors* path, RangeStart* start) {
  if (TryFindStart(tree, low, high, path, start)) return Status::Ok();
  PageGuard leaf;
  const Status status = Descent(tree).ToLeaf({Aim::kOwner, low}, LatchMode::kShared, &leaf);
  if (status.ok()) *start = StartIn(tree, leaf.page(), low, high);
  return status;
}

}  // namespace

Result<uint64_t> Tree::EstimateRange(Bytes low, Bytes high) {
  Ancestors path;
  return EstimateRange(low, high, &path);
}

Result<uint64_t> Tree::EstimateRange(Bytes low, Bytes high, Ancestors* path) {
  if (!high.empty() && CompareBytes(low, high) >= 0) return uint64_t{0};
  RangeStart start;
  const Status status = FindStart(*this, low, high, path, &start);
  if (!status.ok()) return status;
  const LeafRank& rank = start.rank;
  const uint64_t in_first = rank.below - std::min<size_t>(rank.below, start.slot);
  if (rank.reaches) return in_first;
  const LeafRun behind = CountLeaves(rank.right, high);
  return behind.reached_end ? in_first + behind.entries : EstimateLongRange(low, high, behind);
}

/// By the paths to both ends. `seen`: leaves in it.
Result<uint64_t> Tree::EstimateLongRange(Bytes low, Bytes high, LeafRun seen) {
  RangeEnd from;
  RangeEnd to;
  Status status = FindEnd(*this, {Aim::kOwner, low}, &from);
  if (!status.ok()) return status;
  status = FindEnd(*this, {high.empty() ? Aim::kLast : Aim::kOwner, high}, &to);
  if (!status.ok()) return status;
  if (from.path.size() != to.path.size()) return from.count + to.count;  // grown in between
  size_t depth = 0;
  while (depth < from.path.size() && from.path[depth].index == to.path[depth].index) ++depth;
  if (depth == from.path.size()) return from.count + to.count;
  // Leaves differ in fill: sample a few more in between.
  const SampleStart start{depth == 0 ? root_ : from.path[depth - 1].child, from.path[depth].index,
                          static_cast<uint16_t>(to.path[depth].index + 1)};
  seen.entries += from.count + to.count;
  seen.leaves += 2;
  const double leaf_entries = MeanLeafEntries(start, from.leaf.value(), seen);
  const double per_child = EntriesPerChild(from, to, depth, leaf_entries);
  const double position_from = from.path[depth].index + ShareLeftOf(from, depth + 1);
  const double position_to = to.path[depth].index + ShareLeftOf(to, depth + 1);
  const double entries = std::max(1.0, (position_to - position_from) * per_child);
  return static_cast<uint64_t>(std::llround(entries));
}

Result<TreeStatistics> Tree::Statistics() {
  Random random(uint64_t{index_.value()} * 0x9E3779B97F4A7C15ull + root_.value());
  TreeStatistics statistics;
  std::vector<double> children;  // sum over the samples, by depth
  double entries = 0;
  uint32_t good_samples = 0;
  for (uint32_t sample = 0; sample < kSamples; ++sample) {
    std::vector<ChildChoice> path;
    uint64_t leaf_entries = 0;
    const Status status = SamplePath({root_}, random.Next(), &path, &leaf_entries);
    if (status.Is(Code::kRestart)) continue;
    if (!status.ok()) return status;
    if (path.size() != children.size()) {  // first sample, or the tree's height changed
      children.assign(path.size(), 0);
      entries = 0;
      good_samples = 0;
    }
    for (size_t depth = 0; depth < path.size(); ++depth) children[depth] += path[depth].children;
    entries += static_cast<double>(leaf_entries);
    ++good_samples;
    if (path.empty()) break;  // one leaf: exact
  }
  if (good_samples == 0) return Status(Code::kBusy);
  double nodes = 1;
  double inner = 0;
  for (const double sum : children) {
    inner += nodes;
    nodes *= sum / good_samples;
  }
  statistics.levels = static_cast<uint32_t>(children.size() + 1);
  statistics.inner_pages = static_cast<uint64_t>(std::llround(inner));
  statistics.leaf_pages = static_cast<uint64_t>(std::llround(nodes));
  statistics.entries = static_cast<uint64_t>(std::llround(nodes * entries / good_samples));
  return statistics;
}

Status Tree::SampleLeaf(uint64_t seed, std::vector<std::byte>* first_key) {
  std::vector<ChildChoice> path;
  uint64_t entries = 0;
  const Status status = SamplePath({root_}, seed, &path, &entries);
  if (!status.ok()) return status;
  const PageNumber page = path.empty() ? root_ : path.back().child;
  Result<PageGuard> guard = pool()->Fix(Id(page), LatchMode::kShared, FixHint::kSpeculative);
  if (!guard.ok()) return guard.status();
  const Bytes bytes(guard->page(), pool()->page_size_bytes());
  const ChildChoice look = UnlatchedChild(bytes, index_, 0);
  const NodeView leaf(bytes);
  if (!look.is_node || !leaf.is_leaf() || leaf.count() == 0) return Status(Code::kRestart);
  first_key->resize(leaf.KeyLength(0));
  leaf.CopyKey(0, first_key->data());
  return Status::Ok();
}

/// From a leaf on to the one where the entries below `high` end.
Tree::LeafRun Tree::CountLeaves(PageNumber first, Bytes high) {
  LeafRun run;
  PageNumber next = first;
  while (!run.reached_end && run.leaves <= kCountedLeaves) {
    OptimisticPage page;
    if (!pool()->FixOptimistic(Id(next), FixHint::kSpeculative, &page).ok()) return run;
    const LeafRank rank = UnlatchedRank({page.page, pool()->page_size_bytes()}, index_, 0, high);
    if (!page.Validate() || !rank.is_leaf) return run;  // split or merged
    run.entries += rank.below;
    run.reached_end = rank.reaches;
    ++run.leaves;
    next = rank.right;
  }
  return run;
}

/// Over the leaves seen and some more. A leaf that cannot be sampled is left out.
double Tree::MeanLeafEntries(const SampleStart& start, uint64_t seed, const LeafRun& seen) {
  Random random(seed);
  LeafRun all = seen;
  for (uint32_t i = 0; i < kRangeSamples; ++i) {
    std::vector<ChildChoice> path;
    uint64_t entries = 0;
    if (!SamplePath(start, random.Next(), &path, &entries).ok()) continue;
    all.entries += entries;
    ++all.leaves;
  }
  return static_cast<double>(all.entries) / all.leaves;
}

/// kRestart when a writer interfered.
Status Tree::SamplePath(const SampleStart& start, uint64_t seed, std::vector<ChildChoice>* path,
                        uint64_t* leaf_entries) {
  Random random(seed);
  const uint32_t page_bytes = pool()->page_size_bytes();
  OptimisticPage page;
  Status status = pool()->FixOptimistic(Id(start.page), FixHint::kSpeculative, &page);
  if (!status.ok()) return status;
  for (uint32_t depth = 0; depth < kLevelsMax; ++depth) {
    const Bytes bytes(page.page, page_bytes);
    const ChildChoice look = UnlatchedChild(bytes, index_, 0);
    if (!look.is_node) return Status(Code::kRestart);  // no longer ours
    if (look.level == 0) {
      *leaf_entries = UnlatchedUse(bytes).count;
      return page.Validate() ? Status::Ok() : Status(Code::kRestart);
    }
    const uint64_t first = depth == 0 ? std::min(start.first, look.children) : 0;
    const uint64_t last = depth == 0 ? std::min(start.last, look.children) : look.children;
    const uint64_t choices = last > first ? last - first : 1;
    const uint64_t index = first + random.Below(choices);
    const ChildChoice choice = UnlatchedChild(bytes, index_, index);
    if (!page.Validate()) return Status(Code::kRestart);
    path->push_back(choice);
    OptimisticPage child;
    status = pool()->FixOptimistic(Id(choice.child), FixHint::kSpeculative, &child);
    if (!page.Validate()) return Status(Code::kRestart);
    if (!status.ok()) return status;
    page = child;
  }
  return ReportDamage(root_, "it leads to no leaf");
}

}  // namespace rowan
