// SPDX-License-Identifier: GPL-2.0-only
// Salvage: what one cursor skips in a damaged table, with RecoveryOptions::force. A scan that meets
// an unreadable page searches the whole file once and goes on with the next readable page; a row
// with an unreadable part is left out. Both are counted, so that the client learns what the answer
// lacks. Reads that lock rows for changes fail as always: nothing is changed on partial evidence.
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/function_ref.h"
#include "base/ids.h"
#include "base/status.h"
#include "btree/leaf_directory.h"
#include "engine/catalog/table.h"

namespace rowan {

class Salvage {
 public:
  [[nodiscard]] static bool IsDamage(const Status& status) {
    return status.Is(Code::kCorrupt) || status.Is(Code::kIoError);
  }

  /// Null until damage was met there.
  [[nodiscard]] const LeafDirectory* DetourOf(uint32_t index) const;
  /// Finds a way around the damage of an index. False: it is known already.
  Result<bool> FindDetour(Table* table, uint32_t index, FunctionRef<bool()> interrupted);
  void NoteRow();
  /// The next statement looks again.
  void Forget() { detours_.clear(); }

  /// What was skipped since the last call, as a sentence; empty: nothing.
  [[nodiscard]] std::string TakeReport(const Table& table);

 private:
  std::unordered_map<uint32_t, std::shared_ptr<const LeafDirectory>> detours_;
  std::vector<PageNumber> pages_;  ///< not yet reported
  uint64_t rows_ = 0;              ///< likewise
};

}  // namespace rowan
