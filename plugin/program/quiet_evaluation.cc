// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/program/quiet_evaluation.h"

#include "sql/item.h"
#include "sql/sql_class.h"

namespace rowan {
namespace {

/// Never instantiated: reaches whether a cache has its value.
class CacheState : public Item_cache {
 public:
  static bool HasValue(const Item_cache* cache) { return cache->*(&CacheState::value_cached); }
};

}  // namespace

QuietEvaluation::QuietEvaluation(THD* thd) : thd_(thd) { thd_->push_internal_handler(this); }

QuietEvaluation::~QuietEvaluation() { thd_->pop_internal_handler(); }

void QuietEvaluation::Watch(Item* item) {
  WalkItem(item, enum_walk::PREFIX, [this](Item* part) {
    if (part->type() != Item::CACHE_ITEM) return false;
    auto* const cache = down_cast<Item_cache*>(part);
    if (!CacheState::HasValue(cache)) empty_.push_back(cache);
    return false;
  });
}

bool QuietEvaluation::End() {
  if (!any_) return true;
  for (Item_cache* cache : empty_) cache->clear();
  return false;
}

}  // namespace rowan
