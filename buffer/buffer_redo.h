// SPDX-License-Identifier: GPL-2.0-only
// The log records that are independent of a page's content: a whole page, and a run of bytes.
//
//   kPageImage  body: runs, each offset varint | length varint | bytes. The page is zero outside
//               the runs. Initialises the page.
//   kPageBytes  body: offset u16 | bytes, which overwrite the page from there on. Never the first
//               16 bytes: checksum, type, version, flags and LSN are not bytes to patch.
//
// Thread safety: RegisterBufferRedo once at start; the rest as MiniTxn.
#pragma once

#include "base/bytes.h"
#include "buffer/mini_txn.h"

namespace rowan {

/// Smallest offset that kPageBytes may name.
inline constexpr uint32_t kPageBytesOffsetMin = 16;

void RegisterBufferRedo();

/// Upper bound of what LogPageImage adds to a group.
uint32_t PageImageLogBytesMax(uint32_t page_size_bytes);
/// Logs the page as it is now. REQUIRES: `page` is held by `mini_txn`.
void LogPageImage(MiniTxn* mini_txn, const MutablePage& page);
/// Overwrites bytes of the page and logs that.
void LogPageBytes(MiniTxn* mini_txn, const MutablePage& page, uint32_t offset, Bytes bytes);

}  // namespace rowan
