// SPDX-License-Identifier: GPL-2.0-only
// RowFixture: everything below transactions set up in a folder of its own, plus one table for
// tests: a clustered index and two secondary ones, the second of them unique. A row is
// (id; a, b, text):
//   clustered   id             -> a, b, text
//   secondary 0 a, id          -> text (so that a payload can change while its key stays)
//   secondary 1 b | id         -> nothing; b is the unique value
// Row operations do what a session does: the clustered row first, then the entries; when a part
// fails, the earlier parts are rolled back. Thread safety: operations from any thread, each with
// its own Actor; building and checking from one.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "btree/tree.h"
#include "io/posix_file.h"
#include "mvcc/row/entry_writer.h"
#include "mvcc/row/garbage.h"
#include "mvcc/row/row_header.h"
#include "mvcc/row/row_undo.h"
#include "mvcc/row/row_writer.h"
#include "mvcc/row/version_cursor.h"
#include "mvcc/txn_manager.h"
#include "tests/storage/storage_fixture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_settings.h"

namespace rowan {

struct TestRow {
  uint32_t a = 0;
  uint32_t b = 0;
  std::string text;

  bool operator==(const TestRow&) const = default;
};

inline std::string BigEndian(uint32_t number) {
  std::byte bytes[4];
  StoreBe32(bytes, number);
  return std::string(AsText(bytes));
}

inline std::string RowBytes(const TestRow& row) {
  return BigEndian(row.a) + BigEndian(row.b) + row.text;
}
inline TestRow ParseTestRow(Bytes bytes) {
  return {LoadBe32(bytes.data()), LoadBe32(bytes.data() + 4),
          std::string(AsText(bytes.subspan(8)))};
}

/// A session's belongings.
struct Actor {
  explicit Actor(TxnManager* manager) : writer(manager), entry_writer(manager), cursor(manager) {}
  Txn txn;
  RowWriter writer;
  EntryWriter entry_writer;
  VersionCursor cursor;
};

class RowFixture : public IndexResolver, public ExtensionApplier {
 public:
  explicit RowFixture(uint32_t page_size_bytes = TestPageSizeBytes(),
                      uint32_t pool_pages = TestPoolPages())
      : storage_(PosixFileSystem(), Options(dir_.path(), page_size_bytes, pool_pages)) {
    Expect(storage_.Create([this](Storage* storage) {
      undo_ = std::make_unique<UndoStreams>(storage->allocator());
      return undo_->Create();
    }));
    Expect(allocator()->CreateSpace(kFirstTableSpace));
    TxnManagerOptions options;
    options.commit_ring_entries = 1024;  // few, so that it wraps
    options.old_snapshot_ms = 0;
    manager_ = std::make_unique<TxnManager>(undo_.get(), &storage_.log(), options);
    row_undo_ = std::make_unique<RowUndo>(manager_.get(), this, blobs(), this);
    manager_->SetApplier(row_undo_.get());
    manager_->SetNextIds(TxnId(1), Csn(1));
    for (uint32_t number = 0; number < 3; ++number) AddIndex(number == 0);
  }

  ~RowFixture() override {
    indexes_.clear();
    manager_.reset();
    undo_.reset();
    storage_.Kill();
  }

  static void Expect(Status status) { ASSERT_TRUE(status.ok()) << status.message(); }
  template <typename T>
  static T Take(Result<T> result) {
    EXPECT_TRUE(result.ok()) << result.status().message();
    return std::move(result).value();
  }

  Index* AddIndex(bool clustered) {
    const IndexId id(100 + indexes_.size());
    const PageNumber root = Take(Tree::Create(allocator(), kFirstTableSpace, id));
    indexes_.push_back(
        std::make_shared<Index>(allocator(), kFirstTableSpace, root, id, TableId(1), clustered));
    return indexes_.back().get();
  }

  std::shared_ptr<Index> FindIndex(IndexId index) override {
    for (const auto& candidate : indexes_) {
      if (candidate->id() == index) return candidate;
    }
    return nullptr;
  }
  Status UndoExtension(Bytes payload, WorkBudget* /*budget*/) override {
    undone_extensions_.emplace_back(AsText(payload));
    return Status::Ok();
  }
  Status PurgeExtension(Bytes payload, WorkBudget* /*budget*/) override {
    purged_extensions_.emplace_back(AsText(payload));
    return Status::Ok();
  }

  // --- transactions ---
  static void Begin(Actor* actor, IsolationLevel isolation = IsolationLevel::kRepeatableRead) {
    actor->txn.state = TxnState::kActive;
    actor->txn.isolation = isolation;
  }
  Status Commit(Actor* actor) {
    return manager_->Commit(&actor->txn, Durability::kBackground, true);
  }
  Status Rollback(Actor* actor) { return manager_->Rollback(&actor->txn); }
  void Purge() {
    manager_->RefreshHorizon();
    for (;;) {
      WorkBudget budget(UINT64_MAX);
      Result<bool> more = manager_->PurgeSome(0, 1, &budget);
      ASSERT_TRUE(more.ok()) << more.status().message();
      if (!*more) return;
    }
  }

  // --- row operations ---
  Status Insert(Actor* actor, uint32_t id, const TestRow& row) {
    const UndoPosition before = manager_->Savepoint(&actor->txn);
    Status status = actor->writer.InsertRow(&actor->txn, index(0), AsBytes(BigEndian(id)),
                                            AsBytes(RowBytes(row)));
    if (status.ok()) status = InsertA(actor, id, row);
    if (status.ok()) status = InsertB(actor, id, row);
    return Atomic(actor, before, status);
  }
  Status Update(Actor* actor, uint32_t id, const TestRow& old_row, const TestRow& row) {
    const UndoPosition before = manager_->Savepoint(&actor->txn);
    Status status = actor->writer.UpdateRow(&actor->txn, index(0), AsBytes(BigEndian(id)),
                                            AsBytes(RowBytes(row)));
    if (status.ok()) status = ChangeA(actor, id, old_row, row);
    if (status.ok() && old_row.b != row.b) {
      status = actor->entry_writer.Delete(&actor->txn, index(2), AsBytes(KeyB(id, old_row)));
      if (status.ok()) status = InsertB(actor, id, row);
    }
    return Atomic(actor, before, status);
  }
  Status Delete(Actor* actor, uint32_t id, const TestRow& old_row) {
    const UndoPosition before = manager_->Savepoint(&actor->txn);
    Status status = actor->writer.DeleteRow(&actor->txn, index(0), AsBytes(BigEndian(id)));
    if (status.ok()) {
      status = actor->entry_writer.Delete(&actor->txn, index(1), AsBytes(KeyA(id, old_row)));
    }
    if (status.ok()) {
      status = actor->entry_writer.Delete(&actor->txn, index(2), AsBytes(KeyB(id, old_row)));
    }
    return Atomic(actor, before, status);
  }
  Status Get(Actor* actor, uint32_t id, ReadMode mode, TestRow* row) {
    VersionView view;
    actor->cursor.Open(&actor->txn, index(0), {.mode = mode});
    const Status status = actor->cursor.Get(AsBytes(BigEndian(id)), &view);
    if (status.ok()) *row = ParseTestRow(view.value);
    return status;
  }

  static std::string KeyA(uint32_t id, const TestRow& row) {
    return BigEndian(row.a) + BigEndian(id);
  }
  static std::string KeyB(uint32_t id, const TestRow& row) {
    return BigEndian(row.b) + BigEndian(id);
  }

  /// Entries in a tree, delete-marked ones and repeats included.
  struct RawEntry {
    std::string key;
    std::string value;
  };
  std::vector<RawEntry> Raw(uint32_t number) {
    std::vector<RawEntry> entries;
    Expect(Check(number, [&](Bytes key, Bytes value) {
      entries.push_back({std::string(AsText(key)), std::string(AsText(value))});
      return Status::Ok();
    }));
    return entries;
  }
  /// As CHECK TABLE does: with what the visibility map says.
  Status Check(uint32_t number, Tree::Visit visit) {
    return index(number)->tree.Check(visit, {}, [&](Bytes value, TxnId stamp) {
      return IsDecidedAbove(stamp, *manager(), index(number)->clustered, value);
    });
  }

  [[nodiscard]] Index* index(uint32_t number) const { return indexes_[number].get(); }
  [[nodiscard]] TxnManager* manager() const { return manager_.get(); }
  [[nodiscard]] BlobStore* blobs() { return storage_.storage().blobs(); }
  [[nodiscard]] PageAllocator* allocator() { return &storage_.allocator(); }
  std::vector<std::string> undone_extensions_;
  std::vector<std::string> purged_extensions_;

 private:
  static StorageOptions Options(const std::string& folder, uint32_t page_size_bytes,
                                uint32_t pool_pages) {
    StorageOptions options = StorageFixture::SmallOptions();
    options.folder = folder;
    options.page_size_bytes = page_size_bytes;
    options.log.capacity_bytes = uint64_t{64} << 20;
    options.log.buffer_bytes = uint64_t{4} << 20;
    options.buffer.pool_bytes = uint64_t{pool_pages} * page_size_bytes;
    options.buffer.doublewrite = DoublewriteMode::kOff;
    return options;
  }
  Status InsertA(Actor* actor, uint32_t id, const TestRow& row) {
    return actor->entry_writer.Insert(&actor->txn, index(1),
                                      {1, AsBytes(KeyA(id, row)), AsBytes(row.text), 0});
  }
  Status InsertB(Actor* actor, uint32_t id, const TestRow& row) {
    return actor->entry_writer.Insert(&actor->txn, index(2), {2, AsBytes(KeyB(id, row)), {}, 4});
  }
  Status ChangeA(Actor* actor, uint32_t id, const TestRow& old_row, const TestRow& row) {
    if (old_row.a == row.a && old_row.text == row.text) return Status::Ok();
    if (old_row.a == row.a) {
      return actor->entry_writer.ReplacePayload(&actor->txn, index(1),
                                                {1, AsBytes(KeyA(id, row)), AsBytes(row.text), 0});
    }
    const Status status =
        actor->entry_writer.Delete(&actor->txn, index(1), AsBytes(KeyA(id, old_row)));
    return status.ok() ? InsertA(actor, id, row) : status;
  }
  Status Atomic(Actor* actor, const UndoPosition& before, Status status) {
    if (status.ok() || status.Is(Code::kDeadlock)) return status;
    const Status undone = manager_->RollbackTo(&actor->txn, before);
    EXPECT_TRUE(undone.ok()) << undone.message();
    return status;
  }

  TempDir dir_;
  StorageFixture storage_;
  std::unique_ptr<UndoStreams> undo_;
  std::unique_ptr<TxnManager> manager_;
  std::unique_ptr<RowUndo> row_undo_;
  std::vector<std::shared_ptr<Index>> indexes_;
};

}  // namespace rowan
