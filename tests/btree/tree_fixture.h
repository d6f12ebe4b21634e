// SPDX-License-Identifier: GPL-2.0-only
// One tree in a small instance, with the put and remove of a user: find, change or make room,
// again. Thread safety: Put and Remove from any thread, the rest by the owner.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "btree/bulk_builder.h"
#include "btree/cursor.h"
#include "btree/tree.h"
#include "tests/buffer/hooked_file_system.h"
#include "tests/space/space_fixture.h"

namespace rowan {

class TreeFixture {
 public:
  static constexpr IndexId kIndex{42};

  /// Leaves of some sixty short entries: three levels soon.
  static SpaceFixture::Options SmallPages(uint32_t pool_pages = 2048) {
    SpaceFixture::Options options;
    options.page_bytes = 4096;
    options.pool_pages = pool_pages;
    return options;
  }

  explicit TreeFixture(SpaceFixture::Options options, uint64_t seed = 1)
      : file_system_(seed), space_(&hooks_, options) {
    RegisterTreeRedo();
    if (options.doublewrite == DoublewriteMode::kAtomic) {
      file_system_.SetAtomicWriteUnitMax(options.page_bytes);
    }
    const Status created = space_.Create();
    EXPECT_TRUE(created.ok()) << created.message();
    Result<PageNumber> root = Tree::Create(&space_.allocator(), SpaceFixture::kSpace, kIndex);
    EXPECT_TRUE(root.ok()) << root.status().message();
    root_ = *root;
    MakeTree();
  }

  Tree& tree() { return *tree_; }
  SpaceFixture& space() { return space_; }
  FaultFileSystem& file_system() { return file_system_; }
  /// Between the tree and file_system().
  HookedFileSystem& hooks() { return hooks_; }
  void SetCleaner(const LeafCleaner& cleaner) { cleaner_ = cleaner; }

  /// A key of six digits.
  static std::string Key(uint32_t number) {
    const std::string digits = std::to_string(number);
    return std::string(6 - digits.size(), '0') + digits;
  }
  using Entries = std::vector<std::pair<std::string, std::string>>;
  void Build(const Entries& entries) {
    BulkBuilder builder(tree_.get());
    for (const auto& [key, value] : entries) {
      ASSERT_TRUE(builder.Add(AsBytes(key), AsBytes(value), TxnId(3)).ok());
    }
    ASSERT_TRUE(builder.Finish().ok());
  }
  /// A leaf as its page shows it.
  struct Leaf {
    PageNumber page;
    std::vector<std::string> keys;
    std::string high;  ///< empty: none
    size_t used_bytes = 0;
  };
  /// From the first to the last.
  std::vector<Leaf> Leaves() {
    std::vector<Leaf> leaves;
    PageGuard guard;
    EXPECT_TRUE(Descent(*tree_).ToLeaf({Aim::kFirst, {}}, LatchMode::kShared, &guard).ok());
    for (;;) {
      const NodeView node({guard.page(), space_.page_size()});
      leaves.push_back({guard.id().page, {}, {}, space_.page_size() - node.TotalFree()});
      if (node.has_high_key()) leaves.back().high = AsText(node.high_key());
      KeyBuffer key;
      for (size_t slot = 0; slot < node.count(); ++slot) {
        AssembleKey(node, slot, &key);
        leaves.back().keys.emplace_back(AsText(key));
      }
      if (node.right() == kNoPage) return leaves;
      Result<PageGuard> right =
          space_.pool().Fix({SpaceFixture::kSpace, node.right()}, LatchMode::kShared);
      EXPECT_TRUE(right.ok());
      guard = std::move(*right);
    }
  }

  /// Nothing is in the pool afterwards.
  Status RestartCold() {
    const Status written = space_.pool().FlushAndCheckpoint();
    return written.ok() ? Restart() : written;
  }
  /// Recovery after file_system().Crash().
  Status Restart() {
    tree_.reset();
    const Status status = space_.Start();
    if (status.ok()) MakeTree();
    return status;
  }
  void Kill() {
    tree_.reset();
    space_.Kill();
  }

  /// `end`: of the group that made the change.
  Status Put(const std::string& key, const std::string& value, Lsn* end = nullptr) {
    for (;;) {
      MiniTxn mini_txn(&space_.pool());
      Status status = mini_txn.Start(2 * space_.page_size());
      if (!status.ok()) return status;
      LeafPosition position;
      status = tree_->FindForWrite(&mini_txn, AsBytes(key), &position);
      if (!status.ok()) return status;
      status = position.exact
                   ? tree_->UpdateAt(&mini_txn, position, AsBytes(value), TxnId(5))
                   : tree_->InsertAt(&mini_txn, position, AsBytes(key), AsBytes(value), TxnId(5));
      if (status.ok()) {
        const Lsn lsn = mini_txn.Commit();
        if (end != nullptr) *end = lsn;
        return status;
      }
      if (!status.Is(Code::kNoRoom)) return status;
      mini_txn.Abandon();
      status = tree_->MakeRoom(AsBytes(key), key.size(), value.size(), cleaner_);
      if (!status.ok()) return status;
    }
  }

  /// kNotFound: no such key.
  Status Remove(const std::string& key, Lsn* end = nullptr) {
    MiniTxn mini_txn(&space_.pool());
    Status status = mini_txn.Start(256);
    if (!status.ok()) return status;
    LeafPosition position;
    status = tree_->FindForWrite(&mini_txn, AsBytes(key), &position);
    if (!status.ok()) return status;
    if (!position.exact) return Status(Code::kNotFound);
    tree_->RemoveAt(&mini_txn, position);
    const Lsn lsn = mini_txn.Commit();
    if (end != nullptr) *end = lsn;
    return Status::Ok();
  }

 private:
  void MakeTree() {
    tree_ = std::make_unique<Tree>(&space_.allocator(), SpaceFixture::kSpace, root_, kIndex);
  }

  FaultFileSystem file_system_;
  HookedFileSystem hooks_{&file_system_};
  SpaceFixture space_;
  PageNumber root_;
  std::unique_ptr<Tree> tree_;
  LeafCleaner cleaner_;
};

}  // namespace rowan
