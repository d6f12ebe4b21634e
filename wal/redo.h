// SPDX-License-Identifier: GPL-2.0-only
// Record type and version -> redo function. The log knows nothing about page contents: each owner
// has a RegisterXxxRedo, which engine/ calls once at startup. Read-only afterwards.
//
// Redo contract: a function is called only when page LSN < group end LSN, with the page as it was
// when the record was logged and held exclusively; it makes exactly the change that the original
// operation made, and returns kCorrupt when the body or page is impossible (never crashes on
// garbage).
#pragma once

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "wal/group.h"

namespace rowan {

/// `page` is the whole page with its header; `body` as logged.
using RedoFunction = Status (*)(PageId id, MutableBytes page, Bytes body);

struct RedoEntry {
  RedoFunction apply = nullptr;
  /// The record defines the whole page: what is on disk, if anything, need not be read.
  bool initialises_page = false;
  /// The record names no page; recovery handles it by type.
  bool pageless = false;
  /// Of the type's body. Each version, from 0 on, is registered separately while logs may still
  /// contain it; records are written with one of them.
  uint8_t version = 0;
};

void RegisterRedo(RecordType type, RedoEntry entry);
/// nullptr when this version of the type is not registered: a newer build wrote the record.
const RedoEntry* FindRedo(RecordType type, uint8_t version = 0);

}  // namespace rowan
