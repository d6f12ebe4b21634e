// SPDX-License-Identifier: GPL-2.0-only
// One tree in a small instance, with the put and remove of a user: find, change or make room,
// again. Thread safety: Put, Remove and Get from any thread.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "btree/cursor.h"
#include "btree/tree.h"
#include "tests/space/space_fixture.h"

namespace rowan {

class TreeFixture {
 public:
  static constexpr IndexId kIndex{42};

  explicit TreeFixture(SpaceFixture::Options options, uint64_t seed = 1)
      : file_system_(seed), space_(&file_system_, options) {
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
  void SetCleaner(const LeafCleaner& cleaner) { cleaner_ = cleaner; }

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
  SpaceFixture space_;
  PageNumber root_;
  std::unique_ptr<Tree> tree_;
  LeafCleaner cleaner_;
};

}  // namespace rowan
