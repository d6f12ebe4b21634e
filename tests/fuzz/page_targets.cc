// SPDX-License-Identifier: GPL-2.0-only
// Targets that work on a page: tree nodes, undo pages, and log records applied to any page.
#include <algorithm>
#include <cstring>

#include "btree/node.h"
#include "btree/node_check.h"
#include "btree/node_search.h"
#include "buffer/page/page_header.h"
#include "mvcc/undo/undo_page.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/sample_instance.h"
#include "wal/group.h"
#include "wal/redo.h"

namespace rowan {
namespace {

/// A page of exactly the sample's size: reading beyond it is seen by the address sanitizer.
FuzzInput PageOf(Bytes input) {
  FuzzInput page(kFuzzPageBytes);
  std::copy_n(input.begin(), std::min<size_t>(input.size(), page.size()), page.begin());
  return page;
}

/// What follows the page in the input.
Bytes RestOf(Bytes input) {
  return input.size() > kFuzzPageBytes ? input.subspan(kFuzzPageBytes) : Bytes();
}

void UseSoundNode(Bytes page) {
  const NodeView node(page);
  std::vector<std::byte> key(node.page().size());
  for (size_t slot = 0; slot < node.count(); ++slot) {
    (void)node.CopyKey(slot, key.data());
    (void)node.Value(slot);
    if (node.is_leaf()) (void)node.EntryAt(slot);
  }
  for (size_t child = 0; !node.is_leaf() && child < node.ChildCount(); ++child) {
    (void)node.Child(child);
  }
}

void UseUndoPayload(const UndoRecordInPage& record) {
  TxnHeader header;
  (void)ParseTxnHeader(record, &header);
  FuzzRowUndo(record.payload);
}

}  // namespace

void FuzzNode(Bytes input) {
  const FuzzInput page = PageOf(input);
  const Bytes key =
      RestOf(input).empty() ? input.first(std::min<size_t>(input.size(), 40)) : RestOf(input);
  // A reader without a latch may meet any bytes.
  (void)SearchNode(page, key);
  const IndexId index = PageIndexOf(page.data());
  for (const Aim aim : {Aim::kOwner, Aim::kBefore, Aim::kFirst, Aim::kLast}) {
    (void)UnlatchedChooseChild(page, index, aim, key);
  }
  (void)UnlatchedChild(page, index, 3);
  (void)UnlatchedUse(page);
  (void)UnlatchedCovers(page, key);
  std::vector<std::byte> separator;
  UnlatchedCopyKey(page, static_cast<uint16_t>(key.size()), &separator);
  if (CheckNode(page) == nullptr) UseSoundNode(page);
}

/// Input: a page, then one log group; its records are applied whatever page they name.
void FuzzRedo(Bytes input) {
  (void)SampleInstance::Get();  // an engine registers the redo functions
  FuzzInput page = PageOf(input);
  const Bytes group = RestOf(input);
  if (group.size() < kGroupHeaderBytes) return;
  GroupParser parser(group);
  RecordView record;
  Status status;
  while (parser.Next(&record, &status)) {
    const RedoEntry* entry = FindRedo(record.type);
    if (entry == nullptr || entry->pageless) continue;
    (void)entry->apply(record.page, page, record.body);
  }
}

void FuzzUndoPage(Bytes input) {
  const FuzzInput page = PageOf(input);
  const size_t end = std::min<size_t>(UndoFreeOf(page.data()), page.size());
  UndoRecordInPage record;
  size_t offset = UndoRecordsBegin(page.data());
  while (offset < end && ParseUndoRecord(page.data(), offset, end, &record) && record.length > 0) {
    UseUndoPayload(record);
    offset += record.length;
  }
  for (size_t at = end; at > UndoRecordsBegin(page.data());) {
    const size_t before = UndoRecordBefore(page.data(), at);
    if (before == 0 || before >= at) break;
    if (ParseUndoRecord(page.data(), before, at, &record)) UseUndoPayload(record);
    at = before;
  }
  FuzzInput directory = page;
  (void)PutDirectorySlot(directory, LoadLe<uint32_t>(page.data()) % 300, RestOf(input));
}

}  // namespace rowan
