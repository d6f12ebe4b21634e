// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/blocks/stored_key.h"

#include "plugin/blocks/incomplete_dates.h"

namespace rowan {
namespace {

void AppendTo(const void* bytes, size_t size, ByteBuffer* target) {
  const auto* first = static_cast<const std::byte*>(bytes);
  target->insert(target->end(), first, first + size);
}

}  // namespace

void StoredKey::Read(Batch* batch, Selection* rows) {
  values_.clear();
  for (const ValueId id : ids_) {
    values_.push_back(&batch->Read(id, rows));
    PutIncompleteDatesAside(batch->plan().TypeOf(id).kind, *values_.back(), batch, rows);
  }
}

void StoredKey::Encode(const BatchPlan& plan, RowNumber row, ByteBuffer* key) const {
  key->clear();
  for (size_t i = 0; i < ids_.size(); ++i) {
    const ValueVector& values = *values_[i];
    const bool is_null = values.has_nulls() && values.nulls()[row] != 0;
    key->push_back(static_cast<std::byte>(is_null ? 0 : 1));
    if (is_null) continue;
    switch (plan.TypeOf(ids_[i]).kind) {
      case ValueKind::kBytes: {
        const Bytes text = values.As<Bytes>()[row];
        const auto size = static_cast<uint32_t>(text.size());
        AppendTo(&size, sizeof(size), key);
        AppendTo(text.data(), text.size(), key);
        break;
      }
      case ValueKind::kWideDecimal: AppendTo(&values.As<Wide>()[row], sizeof(Wide), key); break;
      default: AppendTo(&values.As<uint64_t>()[row], sizeof(uint64_t), key);
    }
  }
}

}  // namespace rowan
