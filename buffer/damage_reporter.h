// SPDX-License-Identifier: GPL-2.0-only
// DamageReporter: the one place that tells the operator what is damaged. Its sentence names the
// page, the file, what is wrong, its table and index, what still works and what to do. Names are
// known far above the pages: the owner of the pool supplies a function that finds them.
// Thread safety: Report from any thread, whatever latches it holds; SetNamer before the first one.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/ids.h"
#include "base/status.h"
#include "io/space_files.h"

namespace rowan {

/// The owner of a page; unknown names are empty.
struct DamagedObject {
  std::string table;
  std::string index;
  bool can_be_rebuilt = false;  ///< the index has nothing that the rest of its table lacks
};

/// Finds the names; without an index, or with another table's: those of the space. Called with
/// latches held: it must not wait for a latch that may be held while a page is read.
using DamageNamer = std::function<DamagedObject(SpaceId space, IndexId index)>;

class DamageReporter {
 public:
  explicit DamageReporter(const SpaceFiles* files) : files_(files) {}

  void SetNamer(DamageNamer namer) { namer_ = std::move(namer); }
  /// Logs that the page is damaged. `what`: a clause like "it is not a node of its index". `index`:
  /// the index of the page or of its contents; kNoIndex: unknown.
  void Report(PageId id, std::string_view what, IndexId index) const;

 private:
  [[nodiscard]] std::string OwnerOf(PageId id, IndexId index) const;

  const SpaceFiles* const files_;
  DamageNamer namer_;
};

}  // namespace rowan
