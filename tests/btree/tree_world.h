// SPDX-License-Identifier: GPL-2.0-only
// One tree in a small instance, with the put and remove of a user: find, change or make room,
// again. Thread safety: Put, Remove and Get from any thread.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "btree/cursor.h"
#include "btree/tree.h"
#include "tests/space/space_world.h"

namespace rowan {

class TreeWorld {
 public:
  static constexpr IndexId kIndex{42};

  explicit TreeWorld(SpaceWorld::Options options, uint64_t seed = 1)
      : file_system_(seed), world_(&file_system_, options) {
    RegisterTreeRedo();
    const Status created = world_.Create();
    EXPECT_TRUE(created.ok()) << created.message();
    Result<PageNumber> root = Tree::Create(&world_.allocator(), SpaceWorld::kSpace, kIndex);
    EXPECT_TRUE(root.ok()) << root.status().message();
    root_ = *root;
    MakeTree();
  }

  Tree& tree() { return *tree_; }
  SpaceWorld& world() { return world_; }
  FaultFileSystem& file_system() { return file_system_; }
  void SetCleaner(const LeafCleaner& cleaner) { cleaner_ = cleaner; }

  /// Recovery after file_system().Crash().
  Status Restart() {
    tree_.reset();
    const Status status = world_.Start();
    if (status.ok()) MakeTree();
    return status;
  }
  void Kill() {
    tree_.reset();
    world_.Kill();
  }

  /// `end`: of the group that made the change.
  Status Put(const std::string& key, const std::string& value, Lsn* end = nullptr) {
    for (;;) {
      MiniTxn mini_txn(&world_.pool());
      Status status = mini_txn.Start(2 * world_.options().page_bytes);
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
    MiniTxn mini_txn(&world_.pool());
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
    tree_ = std::make_unique<Tree>(&world_.allocator(), SpaceWorld::kSpace, root_, kIndex);
  }

  FaultFileSystem file_system_;
  SpaceWorld world_;
  PageNumber root_;
  std::unique_ptr<Tree> tree_;
  LeafCleaner cleaner_;
};

}  // namespace rowan
