// SPDX-License-Identifier: GPL-2.0-only
// The piece that values of a leaf may lose when the layer above no longer needs it: the same for
// each.
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <vector>

namespace rowan {

class NodeView;

/// `bytes` bytes from `offset` on, and the bits `flags` of the first byte, which say that they
/// exist.
struct ValueCut {
  uint8_t flags = 0;
  uint8_t offset = 1;  ///< at least 1
  uint8_t bytes = 0;
};

/// Adjacent entries of a leaf.
struct SlotRun {
  uint16_t first = 0;
  uint16_t count = 0;
};
using SlotRuns = std::vector<SlotRun>;

/// Where a leaf's values may be cut (mvcc/ supplies the rule). Called under the exclusive leaf
/// latch, before a leaf is split. Must not latch or wait.
struct ValueShortener {
  /// Appends ascending runs; their values are long enough for the cut and have its flags.
  using Find = void (*)(void* context, const NodeView& leaf, SlotRuns* runs);
  Find find = nullptr;
  ValueCut cut;
};

}  // namespace rowan
