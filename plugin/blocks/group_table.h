// SPDX-License-Identifier: GPL-2.0-only
// GroupTable: numbers groups by their keys, which are byte strings, in the order in which they are
// first met. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "engine/row_codec.h"

namespace rowan {

class GroupTable {
 public:
  GroupTable() : slots_(kSlotsMin, 0) {}

  /// The number of the group; `*is_new`: it was not met before.
  uint32_t Find(Bytes key, bool* is_new);
  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(groups_.size()); }
  [[nodiscard]] size_t bytes() const {
    return keys_.size() + groups_.size() * sizeof(Group) + slots_.size() * sizeof(uint32_t);
  }
  void Clear();

 private:
  static constexpr size_t kSlotsMin = 64;
  struct Group {
    uint64_t hash;
    size_t key_offset;
    size_t key_bytes;
  };
  [[nodiscard]] bool Has(uint32_t group, uint64_t hash, Bytes key) const;
  void Grow();

  std::vector<uint32_t> slots_;  ///< 0: free; else the group's number plus 1
  std::vector<Group> groups_;
  ByteBuffer keys_;
};

}  // namespace rowan
