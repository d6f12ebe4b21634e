// SPDX-License-Identifier: GPL-2.0-only
// The tree's redo records, body by body as btree/node_log.h describes them: what each makes of a
// page, and that a body or a page that is impossible is refused.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "btree/node_check.h"
#include "btree/node_edit.h"
#include "btree/node_split.h"
#include "btree/tree.h"
#include "tests/support/test_settings.h"
#include "wal/redo.h"

namespace rowan::btree_redo_test {
namespace {

const PageId kId{SpaceId(16), PageNumber(7)};
const IndexId kIndex{42};

/// A record's body, part by part.
class Body {
 public:
  Body& V(uint64_t number) {
    std::byte bytes[10];
    return Add({bytes, static_cast<size_t>(PutVarint(bytes, number) - bytes)});
  }
  Body& U8(uint8_t number) { return Add({reinterpret_cast<const std::byte*>(&number), 1}); }
  Body& U16(uint16_t number) {
    std::byte bytes[2];
    StoreLe<uint16_t>(bytes, number);
    return Add(bytes);
  }
  Body& U64(uint64_t number) {
    std::byte bytes[8];
    StoreLe<uint64_t>(bytes, number);
    return Add(bytes);
  }
  Body& Text(std::string_view text) { return Add(AsBytes(text)); }
  Body& Add(Bytes bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  [[nodiscard]] Bytes bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

using Entries = std::vector<std::pair<std::string, std::string>>;

class BtreeRedoTest : public ::testing::Test {
 protected:
  BtreeRedoTest() : page_(TestPageSizeBytes()) {
    RegisterTreeRedo();
    InitNode(page_, kId, kIndex, 0);
    const Entries start = {{"b", "one"}, {"d", "twofold"}, {"f", "xthree"}, {"h", "xfour"}};
    for (size_t slot = 0; slot < start.size(); ++slot) {
      EXPECT_TRUE(InsertEntry(page_, slot, AsBytes(start[slot].first), AsBytes(start[slot].second),
                              TxnId(5)));
    }
  }

  Status Redo(RecordType type, Bytes body) {
    const RedoEntry* entry = FindRedo(type);
    EXPECT_NE(entry, nullptr);
    return entry->apply(kId, page_, body);
  }
  Status Redo(RecordType type, const Body& body) { return Redo(type, body.bytes()); }
  [[nodiscard]] NodeView node() const { return NodeView(page_); }
  Entries Content() {
    EXPECT_EQ(CheckNode(page_), nullptr) << CheckNode(page_);
    Entries entries;
    KeyBuffer key;
    for (size_t slot = 0; slot < node().count(); ++slot) {
      AssembleKey(node(), slot, &key);
      entries.emplace_back(AsText(key), AsText(node().Value(slot)));
    }
    return entries;
  }

  std::vector<std::byte> page_;
};

TEST_F(BtreeRedoTest, RecordsThatDefineAPageSaySo) {
  for (const auto& [type, initialises] :
       std::vector<std::pair<RecordType, bool>>{{RecordType::kNodeInit, true},
                                                {RecordType::kNodeLoad, true},
                                                {RecordType::kNodeInsert, false},
                                                {RecordType::kNodeUpdate, false},
                                                {RecordType::kNodeRemove, false},
                                                {RecordType::kNodeTruncate, false},
                                                {RecordType::kNodeCompact, false},
                                                {RecordType::kNodeShorten, false}}) {
    EXPECT_EQ(FindRedo(type)->initialises_page, initialises);
    EXPECT_FALSE(FindRedo(type)->pageless);
  }
}

TEST_F(BtreeRedoTest, InitMakesAnEmptyNodeOfAnyBytes) {
  for (std::byte& byte : page_) byte = std::byte{0xA5};
  ASSERT_TRUE(Redo(RecordType::kNodeInit, Body().U64(99).U8(3)).ok());
  EXPECT_TRUE(node().HeaderIsSane());
  EXPECT_EQ(node().level(), 3);
  EXPECT_EQ(node().count(), 0u);
  EXPECT_TRUE(node().rightmost());
  EXPECT_EQ(PageIdOf(page_.data()), kId);
  EXPECT_EQ(PageIndexOf(page_.data()), IndexId(99));
}

TEST_F(BtreeRedoTest, InsertUpdateAndRemoveChangeOneEntry) {
  ASSERT_TRUE(Redo(RecordType::kNodeInsert, Body().V(1).V(9).V(2).Text("cc").Text("new")).ok());
  EXPECT_EQ(node().newest_change(), TxnId(9));
  EXPECT_EQ(node().last_insert_end(), 2);
  // "twofold": keeps "two" in front and "d" behind.
  ASSERT_TRUE(Redo(RecordType::kNodeUpdate, Body().V(2).V(7).V(3).V(1).Text("-time")).ok());
  EXPECT_EQ(node().newest_change(), TxnId(9)) << "an older transaction's change";
  ASSERT_TRUE(Redo(RecordType::kNodeRemove, Body().V(0)).ok());
  EXPECT_EQ(Content(),
            (Entries{{"cc", "new"}, {"d", "two-timed"}, {"f", "xthree"}, {"h", "xfour"}}));
}

TEST_F(BtreeRedoTest, CompactRemovesTheEntriesThatItsStepsName) {
  ASSERT_TRUE(Redo(RecordType::kNodeCompact, Body().V(2).V(0).V(2)).ok());
  EXPECT_EQ(Content(), (Entries{{"d", "twofold"}, {"h", "xfour"}}));
  EXPECT_EQ(node().garbage_bytes(), 0u);
}

TEST_F(BtreeRedoTest, ShortenCutsThePieceOutOfItsRuns) {
  // The flag 0x08 is in "x" (0x78), which becomes "p" (0x70); the first two entries are passed.
  ASSERT_TRUE(
      Redo(RecordType::kNodeShorten, Body().U8(8).U8(1).U8(3).V(2).V(2).V(1).V(0).V(1)).ok());
  EXPECT_EQ(Content(), (Entries{{"b", "one"}, {"d", "twofold"}, {"f", "pee"}, {"h", "pr"}}));
}

TEST_F(BtreeRedoTest, TruncateKeepsTheFirstEntriesAndSetsBounds) {
  const Body body = Body().V(2).V(31).V(kNodeHighKeyStored).V(0).Text("e");
  ASSERT_TRUE(Redo(RecordType::kNodeTruncate, body).ok());
  EXPECT_EQ(Content(), (Entries{{"b", "one"}, {"d", "twofold"}}));
  EXPECT_EQ(AsText(node().high_key()), "e");
  EXPECT_EQ(node().right(), PageNumber(31));
  EXPECT_FALSE(node().rightmost());
  // The fence bytes are just the prefix if the high key is not stored.
  ASSERT_TRUE(Redo(RecordType::kNodeTruncate, Body().V(1).V(31).V(0).V(1).Text("b")).ok());
  EXPECT_EQ(Content(), (Entries{{"b", "one"}}));
  EXPECT_FALSE(node().has_high_key());
  EXPECT_EQ(AsText(node().prefix()), "b");
  EXPECT_TRUE(node().Suffix(0).empty());
}

TEST_F(BtreeRedoTest, LoadGivesThePageOfTheImage) {
  std::vector<std::byte> image = page_;
  const size_t front = node_layout::kSlots - kPageHeaderBytes + 8 * node().count();
  Body body = Body().U64(kIndex.value()).U16(PageFlagsOf(image.data()));
  body.Add(Bytes(image).subspan(kPageHeaderBytes, front));
  body.Add(Bytes(image).last(node().heap_bytes()));
  for (std::byte& byte : page_) byte = std::byte{0xA5};
  ASSERT_TRUE(Redo(RecordType::kNodeLoad, body).ok());
  EXPECT_EQ(page_, image);
  // A byte more or less than header, slots and heap.
  EXPECT_TRUE(Redo(RecordType::kNodeLoad, Body().Add(body.bytes()).U8(0)).Is(Code::kCorrupt));
  for (size_t size = 0; size < body.bytes().size(); ++size) {
    ASSERT_TRUE(Redo(RecordType::kNodeLoad, body.bytes().first(size)).Is(Code::kCorrupt)) << size;
  }
}

TEST_F(BtreeRedoTest, WhatDoesNotFitThePageIsRefusedAndChangesNothing) {
  const std::string huge(TestPageSizeBytes(), 'h');
  struct Case {
    const char* what;
    RecordType type;
    Body body;
  };
  const std::vector<Case> cases = {
      {"too short", RecordType::kNodeInit, Body().U64(99)},
      {"too long", RecordType::kNodeInit, Body().U64(99).U8(0).U8(0)},
      {"behind the end", RecordType::kNodeInsert, Body().V(5).V(9).V(1).Text("k")},
      {"suffix cut off", RecordType::kNodeInsert, Body().V(1).V(9).V(3).Text("cc")},
      {"no room", RecordType::kNodeInsert, Body().V(1).V(9).V(2).Text("cc").Text(huge)},
      {"no such entry", RecordType::kNodeUpdate, Body().V(4).V(9).V(0).V(0)},
      {"keeps too much in front", RecordType::kNodeUpdate, Body().V(0).V(9).V(4).V(0)},
      {"keeps too much behind", RecordType::kNodeUpdate, Body().V(0).V(9).V(2).V(2)},
      {"keeps a wrapped number", RecordType::kNodeUpdate, Body().V(0).V(9).V(1).V(UINT64_MAX)},
      {"no room", RecordType::kNodeUpdate, Body().V(0).V(9).V(0).V(0).Text(huge)},
      {"no such entry", RecordType::kNodeRemove, Body().V(4)},
      {"empty", RecordType::kNodeRemove, Body()},
      {"more than there are", RecordType::kNodeTruncate, Body().V(5).V(0).V(0).V(0)},
      {"prefix cut off", RecordType::kNodeTruncate, Body().V(1).V(0).V(0).V(2).Text("b")},
      {"fence of a page", RecordType::kNodeTruncate,
       Body().V(1).V(0).V(kNodeHighKeyStored).V(0).Text(huge)},
      {"more than there are", RecordType::kNodeCompact, Body().V(5).V(0).V(1).V(1).V(1).V(1)},
      {"one twice", RecordType::kNodeCompact, Body().V(2).V(1).V(0)},
      {"behind the end", RecordType::kNodeCompact, Body().V(2).V(1).V(3)},
      {"fewer than it says", RecordType::kNodeCompact, Body().V(2).V(1)},
      {"no offset", RecordType::kNodeShorten, Body().U8(8).U8(0).U8(3).V(1).V(2).V(2)},
      {"no bytes", RecordType::kNodeShorten, Body().U8(8).U8(1).U8(0).V(1).V(2).V(2)},
      {"behind the end", RecordType::kNodeShorten, Body().U8(8).U8(1).U8(3).V(1).V(5).V(0)},
      {"too many", RecordType::kNodeShorten, Body().U8(8).U8(1).U8(3).V(1).V(2).V(3)},
      {"value too short", RecordType::kNodeShorten, Body().U8(8).U8(1).U8(3).V(1).V(0).V(1)},
      {"fewer than it says", RecordType::kNodeShorten, Body().U8(8).U8(1).U8(3).V(2).V(2).V(1)}};
  const std::vector<std::byte> before = page_;
  for (const Case& one : cases) {
    const Status status = Redo(one.type, one.body);
    EXPECT_TRUE(status.Is(Code::kCorrupt)) << one.what << " " << static_cast<int>(one.type);
    EXPECT_EQ(page_, before) << one.what << " " << static_cast<int>(one.type);
  }
}

TEST_F(BtreeRedoTest, APageWithImpossibleSizesIsRefused) {
  const std::vector<std::pair<RecordType, Body>> records = {
      {RecordType::kNodeInsert, Body().V(0).V(9).V(1).Text("a")},
      {RecordType::kNodeUpdate, Body().V(0).V(9).V(0).V(0).Text("v")},
      {RecordType::kNodeRemove, Body().V(0)},
      {RecordType::kNodeTruncate, Body().V(1).V(0).V(kNodeRightmost).V(0)},
      {RecordType::kNodeCompact, Body().V(1).V(0)},
      {RecordType::kNodeShorten, Body().U8(8).U8(1).U8(3).V(1).V(2).V(2)}};
  const std::vector<std::byte> good = page_;
  for (const auto& [type, body] : records) {
    for (const size_t field : {node_layout::kCount, node_layout::kHeapBytes}) {
      page_ = good;
      StoreLe<uint16_t>(page_.data() + field, UINT16_MAX);
      EXPECT_TRUE(Redo(type, body).Is(Code::kCorrupt)) << static_cast<int>(type);
    }
    page_ = good;
    EXPECT_TRUE(Redo(type, body).ok()) << static_cast<int>(type);
  }
}

}  // namespace
}  // namespace rowan::btree_redo_test
