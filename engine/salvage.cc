// SPDX-License-Identifier: GPL-2.0-only
#include "engine/salvage.h"

#include <algorithm>
#include <utility>

#include "base/counters.h"
#include "base/format.h"

namespace rowan {
namespace {

/// Named in a sentence; the others are counted.
constexpr size_t kPagesNamed = 20;

}  // namespace

const LeafDirectory* Salvage::DetourOf(uint32_t index) const {
  const auto found = detours_.find(index);
  return found == detours_.end() ? nullptr : found->second.get();
}

Result<bool> Salvage::FindDetour(Table* table, uint32_t index, FunctionRef<bool()> interrupted) {
  if (DetourOf(index) != nullptr) return false;
  Result<std::shared_ptr<const LeafDirectory>> built =
      LeafDirectory::Build(&table->index(index)->tree, interrupted);
  if (!built.ok()) return built.status();
  if (detours_.empty()) {  // each lists all of the file
    pages_ = (*built)->unreadable();
    AddCounter(Counter::kSalvagePagesSkipped, pages_.size());
  }
  detours_[index] = std::move(built).value();
  return true;
}

void Salvage::NoteRow() {
  ++rows_;
  AddCounter(Counter::kSalvageRowsSkipped);
}

std::string Salvage::TakeReport(const Table& table) {
  if (pages_.empty() && rows_ == 0) return {};
  std::string named;
  for (size_t i = 0; i < std::min(pages_.size(), kPagesNamed); ++i) {
    named += Format("{}{}", i == 0 ? " " : ", ", pages_[i].value());
  }
  if (pages_.size() > kPagesNamed) named += ", ...";
  std::string report = Format(
      "Table '{}' is damaged: {} pages of its file that cannot be read were passed over{}{}, and "
      "{} rows besides. The result lacks what is in them.",
      table.name(), pages_.size(), pages_.empty() ? "" : ":", named, rows_);
  pages_.clear();
  rows_ = 0;
  return report;
}

}  // namespace rowan
