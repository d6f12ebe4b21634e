// SPDX-License-Identifier: GPL-2.0-only
// Catalog: names for sentences.
#include <chrono>
#include <thread>

#include "base/format.h"
#include "engine/catalog/catalog.h"

namespace rowan {
namespace {

/// For the mutex, which is never held while waiting for the disk.
constexpr int kNameTries = 100;
constexpr std::chrono::milliseconds kNameTick{1};

const IndexDef* IndexIn(const TableDef& definition, IndexId index) {
  for (const IndexDef& candidate : definition.indexes) {
    if (candidate.id == index) return &candidate;
  }
  return nullptr;
}

}  // namespace

std::string Catalog::NameOfTableWith(IndexId index) const {
  const SharedLock lock(&mutex_);
  const auto table = indexes_.find(index);
  if (table == indexes_.end()) return {};
  const auto found = tables_.find(table->second);
  return found == tables_.end() ? std::string() : found->second.definition.name;
}

IndexNames Catalog::NamesOfIndex(IndexId index) const {
  const SharedLock lock(&mutex_);
  const auto table = indexes_.find(index);
  if (table == indexes_.end()) return {};
  const auto found = tables_.find(table->second);
  if (found == tables_.end()) return {};
  const TableDef& definition = found->second.definition;
  const IndexDef* const named = IndexIn(definition, index);
  if (named == nullptr) return {};
  return {definition.name, named->name};
}

std::string Catalog::NameOfIndex(IndexId index) const {
  const IndexNames names = NamesOfIndex(index);
  return names.index.empty() ? std::string()
                             : Format("index {} of table {}", names.index, names.table);
}

const TableDef* Catalog::DefinitionLocked(SpaceId space, IndexId index) const {
  const auto table = indexes_.find(index);
  const auto found = table == indexes_.end() ? tables_.end() : tables_.find(table->second);
  const bool shared = space < kFirstTableSpace;  // its pages may concern any table
  if (found != tables_.end() && (shared || found->second.definition.space == space)) {
    return &found->second.definition;
  }
  if (shared) return nullptr;
  for (const auto& [id, entry] : tables_) {
    if (entry.definition.space == space) return &entry.definition;
  }
  return nullptr;
}

DamagedObject Catalog::NamesOf(SpaceId space, IndexId index) const {
  // The caller may hold latches that come after the mutex in their order.
  for (int tries = 1; !mutex_.TryLockShared(); ++tries) {
    if (tries == kNameTries) return {};
    std::this_thread::sleep_for(kNameTick);
  }
  DamagedObject names;
  if (const TableDef* definition = DefinitionLocked(space, index)) {
    names.table = definition->name;
    if (const IndexDef* named = IndexIn(*definition, index)) {
      names.index = named->name;
      names.can_be_rebuilt = !named->clustered;
    }
  }
  mutex_.UnlockShared();
  return names;
}

}  // namespace rowan
