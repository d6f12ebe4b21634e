// SPDX-License-Identifier: GPL-2.0-only
// Values to be written, assembled in a buffer that is used again and again: the same size as before
// costs one copy. Thread safety: that of the buffer.
#pragma once

#include <array>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "mvcc/row/row_header.h"

namespace rowan {

/// Makes `value` a header of this length, still to be stored, and the bytes behind it.
inline void PutBehindHeader(size_t header_bytes, Bytes bytes, std::vector<std::byte>* value) {
  value->resize(header_bytes + bytes.size());
  if (!bytes.empty()) std::memcpy(value->data() + header_bytes, bytes.data(), bytes.size());
}

/// Makes `value` that of a secondary entry.
inline void MakeSecondaryValue(const SecondaryHeader& header, Bytes payload,
                               std::vector<std::byte>* value) {
  std::array<std::byte, kSecondaryHeaderBytesMax> bytes;
  const size_t header_bytes =
      StoreSecondaryHeader(bytes.data(), header.creator, header.deleter, header.has_repeat);
  PutBehindHeader(header_bytes, payload, value);
  std::memcpy(value->data(), bytes.data(), header_bytes);
}

}  // namespace rowan
