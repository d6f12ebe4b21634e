// SPDX-License-Identifier: GPL-2.0-only
#include "engine/catalog/limits.h"

#include "btree/tree.h"
#include "mvcc/row/row_header.h"

namespace rowan {

size_t KeyBytesMax(uint32_t page_size_bytes) { return Tree::MaxKeyBytes(page_size_bytes); }

size_t RowBytesMax(uint32_t page_size_bytes) {
  return Tree::MaxEntryBytes(page_size_bytes) - kClusteredHeaderBytes;
}

size_t EntryBytesMax(uint32_t page_size_bytes) {
  return Tree::MaxEntryBytes(page_size_bytes) - kRepeatBytes - kSecondaryHeaderBytesMax;
}

}  // namespace rowan
