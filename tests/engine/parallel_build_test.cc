// SPDX-License-Identifier: GPL-2.0-only
// Indexes that several threads build: the same trees as one thread makes, the same errors, and
// nothing left of what failed.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "tests/engine/await_purge.h"
#include "tests/engine/built_indexes.h"
#include "tests/engine/changing_rows.h"
#include "tests/engine/engine_fixture.h"
#include "tests/engine/toy_index_codec.h"

namespace rowan::parallel_build_test {
namespace {

constexpr uint64_t kRows = 3000;
constexpr size_t kSortBytes = 40'000;  // several runs of each thread
constexpr uint64_t kNoRow = UINT64_MAX;
/// The whole table, whatever the tests' pool: only of a tree that rests is it certain that it is
/// cut into ranges for all threads.
constexpr uint64_t kPoolPages = 1024;

ToyRow MakeRow(uint64_t id) {
  return {static_cast<uint32_t>(id * 7919 % 1009), static_cast<uint32_t>(id * 4),
          std::string(id % 200, 't')};
}

/// Knows which threads came, and has them do something at one row.
class WatchingCodec final : public ToyIndexCodec {
 public:
  Status EncodeEntry(uint32_t index, const void* record, Bytes clustered_key,
                     EncodedEntry* entry) const override {
    Meet();
    if (LoadBe64(clustered_key.data()) == special_row) {
      if (interrupted != nullptr) interrupted->Interrupt();
      if (!failure.ok()) return failure;
    }
    const Status status = ToyIndexCodec::EncodeEntry(index, record, clustered_key, entry);
    if (all_unique) entry->unique_prefix_bytes = kToyUniqueBytes;
    return status;
  }

  uint64_t special_row = kNoRow;
  Session* interrupted = nullptr;
  Status failure;
  bool all_unique = false;
  size_t meeting = 1;  ///< nobody goes on before so many threads have come
  std::function<void()> all_came = [] {};

 private:
  void Meet() const {
    if (met_.load() >= meeting) return;
    {
      const std::lock_guard lock(mutex_);
      const bool last =
          threads_.insert(std::this_thread::get_id()).second && threads_.size() == meeting;
      if (last) all_came();
      met_.store(threads_.size());
    }
    while (met_.load() < meeting) std::this_thread::yield();
  }

  mutable std::mutex mutex_;
  mutable std::set<std::thread::id> threads_;
  mutable std::atomic<size_t> met_{0};
};

class Progress final : public WorkProgress {
 public:
  void Begin(WorkPhase phase, uint64_t) override { phases.emplace_back(phase, 0); }
  void Completed(uint64_t units) override {
    EXPECT_EQ(std::this_thread::get_id(), thread_);
    EXPECT_GE(units, phases.back().second);
    phases.back().second = units;
  }
  std::vector<std::pair<WorkPhase, uint64_t>> phases;

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
};

class ParallelBuildTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  ParallelBuildTest() : world_(TestSeed()) {
    world_.options.storage.buffer.pool_bytes = kPoolPages * world_.options.storage.page_size_bytes;
    EXPECT_TRUE(world_.Open().ok());
    table_ = world_.CreateTable("test/build");
    model_ = world_.Fill(table_.get(), kRows, MakeRow);
    codec_.meeting = threads();
    Begin();
  }
  [[nodiscard]] static uint32_t threads() { return GetParam(); }

  void Begin() {
    session_ = world_.engine->NewSession();
    session_->Begin(IsolationLevel::kRepeatableRead);
  }
  void Start() {
    const IndexBuild::Rows rows{&codec_, nullptr, &record_,
                                [] { return std::make_shared<StoredRow>(); }};
    build_ = std::make_unique<IndexBuild>(
        session_.get(), table_, rows,
        BuildLimits{.sort_memory_bytes = kSortBytes, .threads = threads(), .lane_bytes_min = 1});
    ASSERT_TRUE(build_->Start({{.index_number = 1}, {.index_number = 2}}).ok());
  }
  void Commit() {
    ASSERT_TRUE(build_->Finish().ok());
    Result<std::shared_ptr<Table>> altered =
        world_.engine->AlterTable(session_.get(), WithBuiltIndexes(*table_, *build_));
    ASSERT_TRUE(altered.ok());
    table_ = *altered;
    build_.reset();
    ASSERT_TRUE(session_->Commit().ok());
    session_->FinishDdl();
  }
  /// No file and no page of a build that failed stays.
  void ExpectNothingIsLeft() {
    build_.reset();
    ASSERT_TRUE(session_->Rollback().ok());
    session_.reset();
    EXPECT_EQ(SortFiles(), 0);
    Expect();
  }
  [[nodiscard]] ptrdiff_t SortFiles() {
    const std::vector<std::string> names = world_.files.List(world_.options.storage.folder).value();
    return std::count_if(names.begin(), names.end(),
                         [](const std::string& name) { return name.starts_with("rowan.sort_"); });
  }
  void Expect() {
    const TableId id = table_->id();
    table_.reset();
    AwaitPurge(*world_.engine);
    world_.ExpectTable(id, model_);
    table_ = world_.engine->OpenTable(id).value();
  }

  EngineFixture world_;
  WatchingCodec codec_;
  StoredRow record_;
  std::shared_ptr<Table> table_;
  ToyRows model_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<IndexBuild> build_;
};

TEST_P(ParallelBuildTest, TheTreesHoldWhatTheRowsSay) {
  Progress progress;
  session_->ReportProgress(&progress);
  Start();
  ASSERT_TRUE(build_->Build().ok());
  session_->ReportProgress(nullptr);
  ASSERT_EQ(progress.phases.size(), 2u);
  EXPECT_EQ(progress.phases[0], std::make_pair(WorkPhase::kReadRows, kRows));
  EXPECT_EQ(progress.phases[1], std::make_pair(WorkPhase::kBuildIndex, 2 * kRows));
  EXPECT_EQ(SortFiles(), 0);
  Commit();
  Expect();
}

TEST_P(ParallelBuildTest, EveryThreadSeesTheSnapshotOfTheStart) {
  Start();
  std::unique_ptr<Session> other = world_.engine->NewSession();
  other->Begin(IsolationLevel::kRepeatableRead);
  for (uint64_t id = 1; id <= kRows; id += 10) {
    ToyRow row = model_[id];
    row.value = 50'000;
    ChangeRow(other.get(), table_.get(), &model_, id, row);
  }
  ASSERT_TRUE(other->Commit().ok());
  other.reset();
  std::optional<WriterAtWork> writer;  // not sooner, see kPoolPages
  codec_.all_came = [&] {
    writer.emplace(world_.engine.get(), table_.get(), &model_, kRows / 2, 6);
  };
  ASSERT_TRUE(build_->Build().ok());
  writer->Join();
  Commit();
  Expect();
}

TEST_P(ParallelBuildTest, TheFirstDuplicateOfTheFirstIndexIsNamed) {
  codec_.all_unique = true;  // so both indexes have some: values come three times
  std::unique_ptr<Session> other = world_.engine->NewSession();
  other->Begin(IsolationLevel::kRepeatableRead);
  ToyRow twice = MakeRow(kRows + 1);
  twice.unique = model_[2].unique;
  const std::string key = ToyKey(kRows + 1);
  ASSERT_TRUE(other->InsertRow(table_.get(), AsBytes(key), AsBytes(ToyEncode(twice))).ok());
  ASSERT_TRUE(other->Commit().ok());
  std::vector<std::string> entries;
  for (const auto& [id, row] : model_) entries.push_back(ToyValueEntry(id, row));
  entries.push_back(ToyValueEntry(kRows + 1, twice));
  std::sort(entries.begin(), entries.end());
  const auto first =
      std::adjacent_find(entries.begin(), entries.end(), [](const auto& one, const auto& next) {
        return one.compare(0, kToyUniqueBytes, next, 0, kToyUniqueBytes) == 0;
      });
  ASSERT_NE(first, entries.end());
  Start();
  const Status status = build_->Build();
  EXPECT_TRUE(status.Is(Code::kDuplicate));
  EXPECT_EQ(status.detail(), 1u);
  EXPECT_EQ(AsText(build_->duplicate_key()), *(first + 1));
  ASSERT_TRUE(build_->ReadDuplicate(1).ok());
  other->Begin(IsolationLevel::kRepeatableRead);
  ASSERT_TRUE(other->DeleteRow(table_.get(), AsBytes(key), {}).ok());
  ASSERT_TRUE(other->Commit().ok());
  other.reset();
  ExpectNothingIsLeft();
}

TEST_P(ParallelBuildTest, AnErrorOfAnyThreadEndsTheBuild) {
  codec_.special_row = 1 + TestSeed() % kRows;
  codec_.failure = Status(Code::kTooBig, "this row is", 77);
  Start();
  const Status status = build_->Build();
  EXPECT_TRUE(status.Is(Code::kTooBig)) << status.message();
  EXPECT_EQ(status.detail(), 77u);
  ExpectNothingIsLeft();
}

TEST_P(ParallelBuildTest, AFullDiskEndsTheBuild) {
  world_.files.Inject({.call = FileCall::kWrite,
                       .path_part = "rowan.sort_",
                       .nth_call = 2 + TestSeed() % 5,
                       .code = Code::kNoSpace});
  Start();
  const Status status = build_->Build();
  EXPECT_TRUE(status.Is(Code::kNoSpace)) << status.message();
  world_.files.ClearFaults();
  ExpectNothingIsLeft();
}

TEST_P(ParallelBuildTest, AKillEndsTheBuild) {
  codec_.special_row = 1 + TestSeed() % kRows;
  codec_.interrupted = session_.get();
  Start();
  EXPECT_TRUE(build_->Build().Is(Code::kInterrupted));
  session_->ClearInterrupt();
  ExpectNothingIsLeft();
}

TEST_P(ParallelBuildTest, ACrashLeavesNeitherPagesNorFiles) {
  Start();
  // As if some were being sorted at that moment, too.
  const std::string file = world_.options.storage.folder + "/rowan.sort_9_lane1";
  ASSERT_TRUE(world_.files.Open(file, {.create = true}).ok());
  ASSERT_TRUE(world_.files.SyncDirectory(world_.options.storage.folder).ok());
  ASSERT_TRUE(build_->Build().ok());
  ASSERT_TRUE(world_.engine->FlushLog().ok());
  const TableId id = table_->id();
  world_.files.PowerOffAfter(0);
  build_.reset();
  table_.reset();
  session_.reset();
  world_.Crash(TestSeed());
  ASSERT_TRUE(world_.Open().ok());
  while (!world_.engine->Transactions().empty()) std::this_thread::yield();
  table_ = world_.engine->OpenTable(id).value();
  EXPECT_EQ(SortFiles(), 0);
  Expect();
}

INSTANTIATE_TEST_SUITE_P(Threads, ParallelBuildTest, ::testing::Values(1u, 2u, 4u));

}  // namespace
}  // namespace rowan::parallel_build_test
