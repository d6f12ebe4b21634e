// SPDX-License-Identifier: GPL-2.0-only
// The log record that holds bytes of a carried file (storage/carried_file.h). Its body,
// little-endian:
//   offset size
//   0      4    id of the file, as in the control file (wal/carried_state.h)
//   4      1    1: what was appended at once ends here, so that the file may end here, too
//   5      8    where the bytes lie in the file
//   13     ...  the bytes
// Thread safety: plain functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace rowan {

inline constexpr size_t kCarriedHeaderBytes = 13;

struct CarriedPiece {
  uint32_t file = 0;
  bool ends = false;
  uint64_t offset = 0;
  Bytes bytes;
  [[nodiscard]] uint64_t end() const { return offset + bytes.size(); }
};

/// All but the bytes themselves. REQUIRES: kCarriedHeaderBytes bytes.
inline void StoreCarriedHeader(std::byte* target, const CarriedPiece& piece) {
  StoreLe<uint32_t>(target, piece.file);
  StoreLe<uint8_t>(target + 4, piece.ends ? 1 : 0);
  StoreLe<uint64_t>(target + 5, piece.offset);
}

/// False: the body is impossible.
[[nodiscard]] inline bool LoadCarriedPiece(Bytes body, CarriedPiece* piece) {
  if (body.size() < kCarriedHeaderBytes) return false;
  piece->file = LoadLe<uint32_t>(body.data());
  piece->ends = LoadLe<uint8_t>(body.data() + 4) != 0;
  piece->offset = LoadLe<uint64_t>(body.data() + 5);
  piece->bytes = body.subspan(kCarriedHeaderBytes);
  return piece->offset <= UINT64_MAX - piece->bytes.size();
}

}  // namespace rowan
