// SPDX-License-Identifier: GPL-2.0-only
// The walk over long work, where a table as a whole is counted, filled, made anew or dropped.
#include "engine/build/table_rebuild.h"
#include "engine/bulk_load.h"
#include "engine/statistics/statistics.h"
#include "tests/engine/interruption_fixture.h"

namespace rowan {
namespace {

class InterruptedTableTest : public InterruptionTest {
 protected:
  /// Created by the session's transaction, which fills it.
  std::shared_ptr<Table> MakeNew() {
    return world_.engine->CreateTable(session_.get(), EngineFixture::ToyDefinition("test/new"), 1)
        .value();
  }
  /// Killed while it is filled; of it nothing stays.
  template <typename Fill>
  void KillThe(const char* what, Fill fill) {
    EXPECT_TRUE(Killed(what, kCallsMaxAtOnce, fill).Is(Code::kInterrupted));
    EXPECT_TRUE(session_->Rollback().ok());
    session_->FinishDdl();
    EXPECT_EQ(world_.engine->ListTables().size(), 1u);
  }
};

/// Keys are of one part.
class OnePart final : public KeyParts {
 public:
  [[nodiscard]] uint32_t PartCount(uint32_t) const override { return 1; }
  [[nodiscard]] uint32_t EqualParts(uint32_t, Bytes left, Bytes right) const override {
    return std::ranges::equal(left, right) ? 1 : 0;
  }
  [[nodiscard]] GroupKey SplitKey(uint32_t, Bytes, GroupParts) const override { return {}; }
};

TEST_F(InterruptedTableTest, AnalyzeTable) {
  ASSERT_NO_FATAL_FAILURE(StartFilled());
  table_->cardinalities()->Describe(std::make_shared<OnePart>(), {});
  const auto killed = [this] { return session_->interrupted(); };
  PageAllocator* const allocator = world_.engine->impl()->storage->allocator();
  EXPECT_TRUE(Killed("ANALYZE TABLE, of 2,000 leaves", kCallsMaxAtOnce, [&] {
                return RefreshTableStatistics(allocator, table_.get(), 2000, killed);
              }).Is(Code::kInterrupted));
  ExpectDone(model_);
}

// Its pages will soon be others', who must not be taken for damage.
TEST_F(InterruptedTableTest, CountingLeavesAnIndexThatGoes) {
  ASSERT_NO_FATAL_FAILURE(StartFilled());
  table_->cardinalities()->Describe(std::make_shared<OnePart>(), {});
  PageAllocator* const allocator = world_.engine->impl()->storage->allocator();
  const auto never = [] { return false; };
  Index* const index = table_->index(1);
  index->dropped = true;
  EXPECT_TRUE(RefreshTableStatistics(allocator, table_.get(), 20, never).Is(Code::kInterrupted));
  index->dropped = false;
  EXPECT_TRUE(RefreshTableStatistics(allocator, table_.get(), 20, never).ok());
  ExpectDone(model_);
}

TEST_F(InterruptedTableTest, BuildingTheIndexesOfALoad) {
  ASSERT_NO_FATAL_FAILURE(StartFilled());
  const std::shared_ptr<Table> loaded = MakeNew();
  {
    BulkLoad load(session_.get(), loaded.get(), {.sort_memory_bytes = 10'000, .threads = 1});
    for (const auto& [id, row] : model_) {
      ASSERT_TRUE(EngineFixture::Load(&load, id, row).ok());
    }
    KillThe("building the indexes of a load", [&] { return load.Finish(); });
  }
  ExpectDone(model_);
}

/// Rows stay as they are.
class SameRow final : public RowConversion {
 public:
  explicit SameRow(const StoredRow* former) : former_(former) {}
  Status Convert() override {
    key_.assign(former_->key.begin(), former_->key.end());
    value_.assign(former_->value.begin(), former_->value.end());
    record_ = {key_, value_};
    return Status::Ok();
  }
  [[nodiscard]] const RowCodec& codec() const override { return codec_; }
  [[nodiscard]] void* record() const override { return &record_; }

 private:
  const StoredRow* const former_;
  const ToyIndexCodec codec_;
  ByteBuffer key_;
  ByteBuffer value_;
  mutable StoredRow record_;
};

TEST_F(InterruptedTableTest, ARebuild) {
  ASSERT_NO_FATAL_FAILURE(StartFilled());
  SameRow conversion(&record_);
  const ToyIndexCodec codec;
  TableRebuild rebuild(session_.get(), table_, {&codec, nullptr, &record_}, &conversion,
                       TableRebuild::Keys::kSame, {.sort_memory_bytes = 1, .threads = 1});
  ASSERT_TRUE(rebuild.Start(EngineFixture::ToyDefinition("test/walk")).ok());
  EXPECT_TRUE(Killed("ALTER TABLE, a rebuild", kCallsMaxAtOnce, [&] {
                return rebuild.Build();
              }).Is(Code::kInterrupted));
  EXPECT_TRUE(session_->Rollback().ok());
  session_->FinishDdl();
  ExpectDone(model_);
}

// Nothing of it is long: the file is renamed, and goes piece by piece in the background.
TEST_F(InterruptedTableTest, DroppingALargeTableTakesFewCalls) {
  ASSERT_NO_FATAL_FAILURE(StartFilled());
  const TableId id = table_->id();
  table_.reset();
  const auto thread = std::this_thread::get_id();
  uint64_t calls = 0;
  world_.files.SetObserver([&](FileCall) { calls += std::this_thread::get_id() == thread; });
  EXPECT_TRUE(world_.engine->DropTable(session_.get(), id).ok());
  EXPECT_TRUE(session_->Commit().ok());
  session_->FinishDdl();
  world_.files.SetObserver({});
  EXPECT_LE(calls, kCallsMaxAtOnce);
  std::printf("     %-44s %4llu calls\n", "DROP TABLE, whole",
              static_cast<unsigned long long>(calls));
  EXPECT_TRUE(world_.engine->ListTables().empty());
}

}  // namespace
}  // namespace rowan
