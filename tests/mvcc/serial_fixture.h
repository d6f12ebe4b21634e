// SPDX-License-Identifier: GPL-2.0-only
// SerialFixture: optimistic serializable transactions on the rows of RowFixture, by operations that
// can be told to a model, too. Thread safety: operations from any thread, each with its own Actor.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "tests/mvcc/row_fixture.h"

namespace rowan {

enum class OpKind : uint8_t {
  kGet,
  kScan,
  kScanBack,
  kScanA,  ///< by the index of a, which sees no b
  kScanB,  ///< by the unique index of b, which sees no a
  kLockedScan,
  kLockedScanA,
  kLockedScanB,
  kPut,           ///< a of a row, which is inserted if it is missing
  kPutB,          ///< b of a row, the same; or another row has that b
  kTurnB,         ///< kPutB, and back
  kUndoneInsert,  ///< a row is inserted blindly, or was in the way; then back to a savepoint
  kReplace,       ///< whatever is in the way goes
  kDelete,
};

struct Op {
  OpKind kind = OpKind::kGet;
  uint32_t low = 0;
  uint32_t high = 0;
  size_t limit = 1;
  uint32_t value = 0;
};
using Seen = std::vector<uint32_t>;  ///< of one operation
constexpr uint32_t kTaken = 999;     ///< seen of an id or a b that another row has

[[nodiscard]] inline bool Reads(OpKind kind) { return kind <= OpKind::kLockedScanB; }
[[nodiscard]] inline bool Locks(OpKind kind) {
  return kind == OpKind::kLockedScan || kind == OpKind::kLockedScanA ||
         kind == OpKind::kLockedScanB;
}
/// Number of the index that the operation scans.
[[nodiscard]] inline uint32_t ScannedBy(OpKind kind) {
  if (kind == OpKind::kScanA || kind == OpKind::kLockedScanA) return 1;
  return kind == OpKind::kScanB || kind == OpKind::kLockedScanB ? 2 : 0;
}

class SerialFixture : public ::testing::Test {
 protected:
  [[nodiscard]] TxnManager* manager() const { return fixture_.manager(); }
  void Begin(Actor* actor, bool read_only = false, bool optimistic = true);
  std::unique_ptr<Actor> NewActor(bool read_only = false);
  /// id -> a; b is 100 + id.
  void Fill(const std::map<uint32_t, uint32_t>& rows);

  Status Read(Actor* actor, uint32_t id, std::optional<TestRow>* row);
  Status Scan(Actor* actor, const Op& op, Seen* seen);
  /// Its parts: positions the actor's cursor, takes a row, goes on. kEndOfRange: that was all.
  Status StartScan(Actor* actor, const Op& op, VersionView* view);
  static Status TakeRow(const Op& op, const VersionView& view, Seen* seen);
  static Status GoOn(Actor* actor, const Op& op, VersionView* view);
  /// kLockTimeout and kDeadlock end the transaction; else Ok.
  Status Do(Actor* actor, const Op& op, Seen* seen);
  Status Put(Actor* actor, uint32_t id, uint32_t value) {
    return DoOne(actor, {.kind = OpKind::kPut, .low = id, .value = value});
  }
  Status DoOne(Actor* actor, const Op& op) {
    Seen seen;
    return Do(actor, op, &seen);
  }
  Seen ScanOk(Actor* actor, const Op& op) {
    Seen seen;
    EXPECT_TRUE(Scan(actor, op, &seen).ok());
    return seen;
  }
  /// Commits, or rolls back what cannot be committed: then false.
  bool Commits(Actor* actor);

  RowFixture fixture_;
  std::string text_;  ///< of each row: how many are in a leaf

 private:
  Status Change(Actor* actor, const Op& op, const std::optional<TestRow>& row, Seen* seen);
  Status PutB(Actor* actor, const Op& op, const std::optional<TestRow>& row, Seen* seen);
  Status UndoneInsert(Actor* actor, const Op& op, Seen* seen);
  Status Replace(Actor* actor, const Op& op, Seen* seen);
  /// Locks and deletes.
  Status Remove(Actor* actor, uint32_t id);
};

}  // namespace rowan
