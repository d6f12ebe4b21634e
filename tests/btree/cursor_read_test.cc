// SPDX-License-Identifier: GPL-2.0-only
// Walks over leaves that are not in the pool.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "btree/bulk_builder.h"
#include "btree/cursor.h"
#include "btree/tree.h"
#include "tests/buffer/hooked_file_system.h"
#include "tests/storage/storage_fixture.h"
#include "tests/support/fault_file_system.h"

namespace rowan::cursor_read_test {
namespace {

constexpr uint32_t kPoolPages = 64;
/// About five times the pool.
const uint32_t kEntries = 5 * kPoolPages * TestPageSizeBytes() / 120;

class CursorReadTest : public ::testing::Test {
 protected:
  static constexpr IndexId kIndex{42};

  CursorReadTest() {
    RegisterTreeRedo();
    EXPECT_TRUE(storage_.Create().ok());
    EXPECT_TRUE(storage_.allocator().CreateSpace(kFirstTableSpace).ok());
    Result<PageNumber> root = Tree::Create(&storage_.allocator(), kFirstTableSpace, kIndex);
    EXPECT_TRUE(root.ok()) << root.status().message();
    root_ = *root;
    MakeTree();
    BulkBuilder builder(tree_.get());
    for (uint32_t i = 0; i < kEntries; ++i) {
      EXPECT_TRUE(builder.Add(AsBytes(Key(i)), AsBytes(std::string(100, 'v')), TxnId(1)).ok());
    }
    EXPECT_TRUE(builder.Finish().ok());
  }
  static StorageOptions Options() {
    StorageOptions options = StorageFixture::SmallOptions();
    options.log.capacity_bytes = uint64_t{16} << 20;
    options.buffer.pool_bytes = uint64_t{kPoolPages} * options.page_size_bytes;
    options.background = false;
    return options;
  }
  void MakeTree() {
    tree_ = std::make_unique<Tree>(&storage_.allocator(), kFirstTableSpace, root_, kIndex);
  }
  /// Nothing is in the pool afterwards.
  void Restart() {
    tree_.reset();
    ASSERT_TRUE(storage_.pool().FlushAndCheckpoint().ok());
    ASSERT_TRUE(storage_.Start().ok());
    ASSERT_TRUE(storage_.allocator().OpenSpace(kFirstTableSpace).ok());
    MakeTree();
  }
  static std::string Key(uint32_t number) {
    std::string digits = std::to_string(number);
    return std::string(8 - digits.size(), '0') + digits;
  }
  Status Insert(const std::string& key) {
    MiniTxn mini_txn(&storage_.pool());
    Status status = mini_txn.Start(2 * storage_.page_size());
    if (!status.ok()) return status;
    LeafPosition position;
    status = tree_->FindForWrite(&mini_txn, AsBytes(key), &position);
    if (!status.ok()) return status;
    status = tree_->InsertAt(&mini_txn, position, AsBytes(key), AsBytes("new"), TxnId(5));
    if (status.ok()) mini_txn.Commit();
    return status;
  }
  /// Stands on the last entry of its leaf.
  std::string ToEndOfLeaf(Cursor* cursor) {
    EXPECT_TRUE(cursor->SeekAtLeast(AsBytes(Key(1000))).ok());
    cursor->MoveTo(static_cast<uint16_t>(cursor->leaf_entries() - 1));
    return std::string(AsText(cursor->key()));
  }

  FaultFileSystem disk_{1};
  HookedFileSystem hooked_{&disk_};
  StorageFixture storage_{&hooked_, Options()};
  PageNumber root_;
  std::unique_ptr<Tree> tree_;
};

TEST_F(CursorReadTest, WritersOfALeafDoNotWaitForTheReadOfItsNeighbour) {
  for (const bool before_the_neighbour : {true, false}) {
    Restart();
    Cursor cursor(tree_.get());
    const std::string last = ToEndOfLeaf(&cursor);
    // Into the leaf that the cursor comes from: behind all its entries, or before them.
    const std::string key = before_the_neighbour ? last + "x" : Key(1000) + "x";
    std::atomic<bool> reading{false};
    std::future<Status> inserted;
    hooked_.SetReadHook([&](const std::string&, Bytes) {
      if (reading.exchange(true)) return;
      inserted = std::async(std::launch::async, [&] { return Insert(key); });
      EXPECT_EQ(inserted.wait_for(std::chrono::seconds(60)), std::future_status::ready);
    });
    EXPECT_TRUE(cursor.Next().ok());
    ASSERT_TRUE(reading);
    EXPECT_TRUE(inserted.get().ok());
    const std::string expected =
        before_the_neighbour ? key : Key(static_cast<uint32_t>(std::stoul(last)) + 1);
    EXPECT_EQ(AsText(cursor.key()), expected);
    hooked_.SetReadHook({});
    uint32_t behind = 1;
    while (cursor.Next().ok()) ++behind;
    const auto rest = kEntries - 1 - static_cast<uint32_t>(std::stoul(last.substr(0, 8)));
    EXPECT_EQ(behind, rest + (before_the_neighbour ? 1 : 0));
  }
}

enum class Walk { kForward, kBackward, kForwardLookingAgain };

/// From an entry to the next leaf in the walk's direction.
Status ToNextLeaf(Walk walk, Cursor* cursor) {
  const bool forward = walk != Walk::kBackward;
  cursor->MoveTo(forward ? static_cast<uint16_t>(cursor->leaf_entries() - 1) : uint16_t{0});
  const std::string last(AsText(cursor->key()));
  cursor->Unlatch();
  Status status = cursor->Step(forward ? Direction::kForward : Direction::kBackward);
  if (status.ok() && walk == Walk::kForwardLookingAgain) {
    // As who locks the gap between the leaves.
    cursor->Unlatch();
    status = cursor->SeekAtLeast(AsBytes(last + '\0'));
  }
  return status;
}

TEST_F(CursorReadTest, ALongWalkLeavesInThePoolWhatOthersUse) {
  for (const Walk walk : {Walk::kForward, Walk::kBackward, Walk::kForwardLookingAgain}) {
    Restart();
    std::vector<PageId> used;
    uint64_t missing = 0;
    const auto use = [&] {
      for (const PageId page : used) {
        missing += storage_.pool().IsResident(page) ? 0 : 1;
        EXPECT_TRUE(storage_.pool().Fix(page, LatchMode::kShared).ok());
      }
    };
    Cursor cursor(tree_.get());
    Status status = walk == Walk::kBackward ? cursor.SeekLast() : cursor.SeekFirst();
    for (uint32_t leaves = 0; status.ok(); ++leaves) {
      if (leaves < kPoolPages / 10) used.push_back({kFirstTableSpace, cursor.leaf()});
      if (leaves < kPoolPages || leaves % kPoolPages == 0) use();
      status = ToNextLeaf(walk, &cursor);
    }
    EXPECT_TRUE(status.Is(Code::kEndOfRange));
    EXPECT_EQ(missing, 0u) << static_cast<int>(walk);
  }
}

}  // namespace
}  // namespace rowan::cursor_read_test
