// SPDX-License-Identifier: GPL-2.0-only
#include "btree/insert_pattern.h"

#include <algorithm>

namespace rowan {
namespace {

/// A stream must put this many entries, and this large a part of the leaf, in a row: short bursts
/// at random places, where splits would leave leaves emptier, rarely do.
constexpr int kTrendRun = 8;
constexpr size_t kTrendShare = 4;
/// Sessions that insert into one stream overtake each other by up to this many places; in a leaf of
/// few entries that proves nothing.
constexpr int kBeside = 4;
constexpr size_t kBesideShare = 16;

/// How far up from the last insert, whose slot is 0: 1 is directly after it, 0 directly before it.
int StepFromLast(const NodeView& node, size_t slot) {
  return static_cast<int>(slot) - static_cast<int>(node.last_insert_end()) + 1;
}

bool IsBeside(const NodeView& node, size_t slot) {
  if (node.last_insert_end() == 0) return false;
  const int limit = std::min(kBeside, static_cast<int>(node.count() / kBesideShare));
  const int step = StepFromLast(node, slot);
  return step >= -limit && step <= 1 + limit;
}

}  // namespace

InsertPlace InsertPlaceOf(const NodeView& node, size_t slot) {
  const size_t behind = node.last_insert_end();
  if (behind == 0) return InsertPlace::kUnknown;
  if (slot == behind) return InsertPlace::kAscending;
  if (slot + 1 == behind) return InsertPlace::kDescending;
  if (slot == 0) return InsertPlace::kLeft;
  return slot == node.count() ? InsertPlace::kRight : InsertPlace::kElsewhere;
}

int8_t InsertRunAfter(const NodeView& node, size_t slot) {
  const int run = node.insert_run();
  if (!IsBeside(node, slot)) return static_cast<int8_t>(run / 4);
  // Over n inserts the steps add up to the distance from the first to the last one: n in an
  // ascending stream, none in a descending one, whatever the order in between. Hence the sum is n
  // or -n.
  const int sum = run + 2 * StepFromLast(node, slot) - 1;
  return static_cast<int8_t>(std::clamp(sum, -INT8_MAX, INT8_MAX));
}

InsertTrend InsertTrendAt(const NodeView& node, size_t slot) {
  // At the right end of the tree a few sessions may insert slightly out of order.
  if (node.rightmost() && slot > 0 && slot * 16 >= node.count() * 15) {
    return InsertTrend::kAscending;
  }
  if (!IsBeside(node, slot)) return InsertTrend::kNone;
  const int least =
      std::max(kTrendRun, static_cast<int>(std::min<size_t>(node.count() / kTrendShare, 100)));
  if (node.insert_run() >= least && slot > 0) return InsertTrend::kAscending;
  if (node.insert_run() <= -least && slot < node.count()) return InsertTrend::kDescending;
  return InsertTrend::kNone;
}

}  // namespace rowan
