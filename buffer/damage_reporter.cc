// SPDX-License-Identifier: GPL-2.0-only
#include "buffer/damage_reporter.h"

#include "base/format.h"
#include "base/logging.h"

namespace rowan {
namespace {

constexpr const char* kTheRestWorks = "Statements that need it fail; the rest works.";

/// Advice for damage to a table's page.
std::string TableAdvice(const DamagedObject& owner) {
  if (owner.can_be_rebuilt) {
    return Format("{} Dropping the index and adding it again mends it.", kTheRestWorks);
  }
  return Format("{} Copy the rows that can be read into a new table, or restore a backup.",
                kTheRestWorks);
}

}  // namespace

std::string DamageReporter::OwnerOf(PageId id, IndexId index) const {
  if (IsTemporary(id.space)) return Format("It is of temporary tables. {}", kTheRestWorks);
  const DamagedObject owner = namer_ ? namer_(id.space, index) : DamagedObject{};
  std::string names;
  if (!owner.index.empty()) {
    names = Format("index '{}' of table '{}'", owner.index, owner.table);
  } else if (!owner.table.empty()) {
    names = Format("table '{}'", owner.table);
  }
  if (id.space == kUndoSpace) {
    return Format("It is of the undo space{}{}. {}", names.empty() ? "" : " and has changes of ",
                  names, kTheRestWorks);
  }
  if (id.space == kSystemSpace) {
    return Format("It is of the catalog of all tables. {}", kTheRestWorks);
  }
  if (names.empty()) return kTheRestWorks;
  return Format("It is of {}. {}", names, TableAdvice(owner));
}

void DamageReporter::Report(PageId id, std::string_view what, IndexId index) const {
  LogError("Page {} of {} is damaged: {}. {}", id.page.value(), files_->PathOf(id.space), what,
           OwnerOf(id, index));
}

}  // namespace rowan
