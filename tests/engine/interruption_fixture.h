// SPDX-License-Identifier: GPL-2.0-only
// InterruptionTest: an engine with a small pool and a table, and long work that is interrupted in
// the midst. The verdict is how many calls of the file system follow; a disk that takes a
// millisecond for a call from then on gives the times that are printed. Thread safety: none.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "engine/engine_impl.h"
#include "engine/work_progress.h"
#include "tests/engine/await_purge.h"
#include "tests/engine/built_indexes.h"
#include "tests/engine/engine_fixture.h"
#include "tests/engine/toy_index_codec.h"
#include "tests/support/await.h"
#include "tests/support/log_capture.h"

namespace rowan {

class InterruptionTest : public testing::Test {
 protected:
  static constexpr uint64_t kRows = 3000;  ///< of a page for every three of them
  static constexpr size_t kTextBytes = 1000;
  static constexpr size_t kValueBytes = size_t{8} << 20;  ///< two thousand pages
  /// Behind the interruption: of a hundred records that are undone all the same, with reading a
  /// page and writing some for each. Each work below takes thousands without it.
  static constexpr uint64_t kCallsMax = 600;
  /// Where nothing has to be undone.
  static constexpr uint64_t kCallsMaxAtOnce = 40;
  static constexpr std::chrono::microseconds kSlowCall{1000};
  static constexpr char kUndoGoesOn[] = "goes on in the background";

  static ToyRow MakeRow(uint64_t id) {
    return {static_cast<uint32_t>(id % 1009), static_cast<uint32_t>(id),
            std::string(kTextBytes, static_cast<char>('a' + id % 26))};
  }

  /// Entries of three to a page, so that an index has as many as the rows.
  class WideCodec final : public ToyIndexCodec {
   public:
    Status EncodeEntry(uint32_t index, const void* record, Bytes clustered_key,
                       EncodedEntry* entry) const override {
      const Status status = ToyIndexCodec::EncodeEntry(index, record, clustered_key, entry);
      entry->payload.assign(kTextBytes, std::byte{'w'});
      return status;
    }
  };

  InterruptionTest() : world_(TestSeed()) {
    shutting_down = false;
    world_.options.storage.page_size_bytes = 4096;
    world_.options.storage.buffer.pool_bytes = 128 * 4096;
    world_.options.storage.log.capacity_bytes = uint64_t{16} << 20;
    world_.options.txns.shutdown_sign = [] { return shutting_down.load(); };
  }
  ~InterruptionTest() override {
    world_.files.SetObserver({});
    session_.reset();
    table_.reset();
  }

  void Start() {
    ASSERT_TRUE(world_.Open().ok());
    table_ = world_.CreateTable("test/walk");
    id_ = table_->id();
    Begin();
  }
  void StartFilled() {
    ASSERT_NO_FATAL_FAILURE(Start());
    model_ = world_.Fill(table_.get(), kRows, MakeRow);
  }
  void Begin() {
    session_ = world_.engine->NewSession();
    session_->Begin(IsolationLevel::kRepeatableRead);
  }
  void Insert(Session* session, Table* table) {
    for (uint64_t id = 1; id <= kRows; ++id) {
      const uint64_t scattered = id * 7919 % 100'003;
      ASSERT_TRUE(EngineFixture::Insert(session, table, scattered, MakeRow(scattered)).ok());
    }
  }
  void WriteValue(Session* session, Table* table) {
    const std::string value(kValueBytes, 'v');
    ASSERT_TRUE(session->WriteBlob(table, AsBytes(value)).ok());
  }

  /// Runs `work`, which is interrupted in this thread's fifth call, of those since `begun` if that
  /// is given.
  template <typename Work, typename Interrupt>
  auto Interrupted(const char* what, uint64_t calls_max, Work work, Interrupt interrupt,
                   const bool* begun = nullptr) {
    constexpr uint64_t calls_before = 5;
    const auto thread = std::this_thread::get_id();
    uint64_t calls = 0;
    std::chrono::steady_clock::time_point begin;
    world_.files.SetObserver([&](FileCall) {
      if (std::this_thread::get_id() != thread || (begun != nullptr && !*begun)) return;
      if (++calls == calls_before) {
        begin = std::chrono::steady_clock::now();
        std::thread(interrupt).join();  // as who kills it: without the latches that are held here
      }
      if (calls >= calls_before) std::this_thread::sleep_for(kSlowCall);
    });
    auto result = work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    world_.files.SetObserver({});
    EXPECT_GE(calls, calls_before) << what << " was through before it was interrupted";
    const uint64_t after = calls - std::min(calls, calls_before);
    EXPECT_LE(after, calls_max) << what;
    std::printf("     %-44s %4llu calls, %.2f s to stop\n", what,
                static_cast<unsigned long long>(after), calls >= calls_before ? took.count() : 0);
    return result;
  }
  template <typename Work>
  auto Killed(const char* what, uint64_t calls_max, Work work) {
    return Interrupted(what, calls_max, work,
                       [this] { session_->Interrupt(Interruption::kSession); });
  }
  template <typename Work>
  auto ShutDown(const char* what, uint64_t calls_max, Work work) {
    return Interrupted(what, calls_max, work, [] { shutting_down = true; });
  }

  /// Notes when sorted entries become a tree.
  class TreeBegins final : public WorkProgress {
   public:
    void Begin(WorkPhase phase, uint64_t) override { begun = phase == WorkPhase::kBuildIndex; }
    void Completed(uint64_t) override {}
    bool begun = false;
  };

  void StartBuild() {
    const IndexBuild::Rows rows{&codec_, nullptr, &record_,
                                [] { return std::make_shared<StoredRow>(); }};
    build_ = std::make_unique<IndexBuild>(session_.get(), table_, rows,
                                          BuildLimits{.sort_memory_bytes = 100'000, .threads = 1});
    ASSERT_TRUE(build_->Start({{.index_number = 1}}).ok());
  }
  /// Replaces the index, and drops the former one.
  void CommitBuild() {
    ASSERT_TRUE(build_->Build().ok());
    ASSERT_TRUE(build_->Finish().ok());
    Result<std::shared_ptr<Table>> altered =
        world_.engine->AlterTable(session_.get(), WithBuiltIndexes(*table_, *build_));
    ASSERT_TRUE(altered.ok());
    table_ = *altered;
    build_.reset();
    ASSERT_TRUE(session_->Commit().ok());
  }
  [[nodiscard]] uint32_t UsedPages() {
    return world_.engine->impl()->storage->allocator()->CheckSpace(table_->space()).value();
  }
  [[nodiscard]] TxnManager* txns() { return world_.engine->impl()->txns.get(); }

  /// What was left is done, and the table is as it was.
  void ExpectDone(const ToyRows& rows) {
    session_.reset();
    build_.reset();
    table_.reset();
    ASSERT_TRUE(Await([&] { return txns()->LoserCount() == 0 && txns()->FailedRollbacks() == 0; }));
    AwaitPurge(*world_.engine);
    Result<std::shared_ptr<Table>> opened = world_.engine->OpenTable(id_);
    ASSERT_TRUE(opened.ok());
    EXPECT_EQ(world_.ReadAll(opened->get()), rows);
    for (size_t i = 0; i < (*opened)->index_count(); ++i) {
      EXPECT_TRUE(world_.engine->CheckIndex(opened->get(), i, {}).ok());
    }
    const Status space = world_.engine->CheckSpace(opened->get(), FindToyBlobs);
    EXPECT_TRUE(space.ok()) << space.message();
  }
  void Restart() {
    session_.reset();
    build_.reset();
    table_.reset();
    ASSERT_TRUE(world_.Shutdown().ok());
    shutting_down = false;
    ASSERT_TRUE(world_.Open().ok());
  }

  static inline std::atomic<bool> shutting_down{false};
  EngineFixture world_;
  WideCodec codec_;
  StoredRow record_;
  std::shared_ptr<Table> table_;
  TableId id_;
  ToyRows model_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<IndexBuild> build_;
};

}  // namespace rowan
