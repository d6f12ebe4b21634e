// SPDX-License-Identifier: GPL-2.0-only
// RowsAhead: the rows that will be looked up next, by a scan of a secondary index or by a list of
// keys. Once a look-up had to wait for a read, the leaves of those to come are read at once, many
// at a time, while the look-ups go on in their order. It ends when what it would ask for is in the
// pool; while a filter throws most entries away without a look-up it waits.
//
// Of a scan it knows the entries that have been copied: none, if it locks row by row. All it does
// are hints. Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/function_ref.h"
#include "buffer/buffer_pool.h"
#include "mvcc/row/version_cursor.h"

namespace rowan {

class RowsAhead {
 public:
  /// The look-ups to come that are known, by their numbers.
  using Known = VersionCursor::CopiedAhead;

  /// A look-up had to wait for a read.
  void Begin() {
    if (!active_) batch_ = 0;
    active_ = true;
    in_the_pool_ = 0;
  }
  [[nodiscard]] bool active() const { return active_; }

  /// Where a known look-up leads; no page: unknown.
  using LeafOf = FunctionRef<PageId(size_t position)>;
  /// Before the look-up `known.position`. REQUIRES: active().
  void Ask(BufferPool* pool, const Known& known, LeafOf leaf_of);

 private:
  [[nodiscard]] bool FewAreLookedUp(const Known& known);

  bool active_ = false;
  uint32_t batch_ = 0;        ///< the next two are of this batch; 0: none
  size_t asked_ = 0;          ///< entries before this one were asked for
  size_t position_ = 0;       ///< of the last look-up
  uint32_t looked_up_ = 0;    ///< of the entries met lately
  uint32_t passed_ = 0;       ///< those without a look-up
  uint32_t in_the_pool_ = 0;  ///< entries in a row whose leaf was there
};

}  // namespace rowan
