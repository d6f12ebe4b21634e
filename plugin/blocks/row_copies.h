// SPDX-License-Identifier: GPL-2.0-only
// RowCopies: stored rows kept beyond their batch, each of which can be replaced by another one.
// Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "engine/row_codec.h"

namespace rowan {

/// Where one is; invalid after RowCopies::Clear.
struct RowCopy {
  size_t offset = 0;
  uint32_t room = 0;  ///< bytes; 0: there is no row
  uint32_t key_bytes = 0;
  uint32_t value_bytes = 0;
  uint32_t extra_bytes = 0;
};

class RowCopies {
 public:
  /// `extra`: kept with the row.
  void Keep(Bytes key, Bytes value, Bytes extra, RowCopy* copy) {
    const size_t bytes = key.size() + value.size() + extra.size();
    if (bytes > copy->room) {
      // What is left behind by rows that grow is less than what is kept.
      copy->room = static_cast<uint32_t>(std::max<size_t>(bytes, size_t{2} * copy->room));
      copy->offset = bytes_.size();
      bytes_.resize(bytes_.size() + copy->room);
    }
    std::byte* target = bytes_.data() + copy->offset;
    for (const Bytes part : {key, value, extra}) {
      if (!part.empty()) std::memcpy(target, part.data(), part.size());
      target += part.size();
    }
    copy->key_bytes = static_cast<uint32_t>(key.size());
    copy->value_bytes = static_cast<uint32_t>(value.size());
    copy->extra_bytes = static_cast<uint32_t>(extra.size());
  }
  [[nodiscard]] Bytes KeyOf(const RowCopy& copy) const {
    return {bytes_.data() + copy.offset, copy.key_bytes};
  }
  [[nodiscard]] Bytes ValueOf(const RowCopy& copy) const {
    return {bytes_.data() + copy.offset + copy.key_bytes, copy.value_bytes};
  }
  [[nodiscard]] Bytes ExtraOf(const RowCopy& copy) const {
    return {bytes_.data() + copy.offset + copy.key_bytes + copy.value_bytes, copy.extra_bytes};
  }
  [[nodiscard]] size_t bytes() const { return bytes_.size(); }
  void Clear() { bytes_.clear(); }

 private:
  ByteBuffer bytes_;
};

}  // namespace rowan
