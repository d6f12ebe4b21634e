// SPDX-License-Identifier: GPL-2.0-only
// Pages that went back to an older state of their own, whole in itself: put there while the
// instance was down, or because writes of data files were acknowledged and dropped, or landed on
// another page, while it ran with a pool far too small. Whatever is read then, and after the next
// start, is right, or fails with an error that names the page: never a wrong answer, never a crash.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/counters.h"
#include "base/random.h"
#include "buffer/page/page_header.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/log_capture.h"

namespace rowan::stale_page_test {
namespace {

constexpr uint64_t kTrials = 100;
constexpr uint64_t kRows = 120;
constexpr uint64_t kChanges = 150;

uint64_t Trials() { return TestSetting("ROWAN_TEST_ROT_TRIALS", kTrials); }

enum class Ending { kShutdown, kCrash };

class StaleFixture {
 public:
  StaleFixture(uint64_t seed, uint32_t pool_pages) : random_(seed), world_(seed) {
    world_.options.storage.log.capacity_bytes = uint64_t{1} << 20;
    world_.options.storage.log.buffer_bytes = uint64_t{1} << 16;
    world_.options.txns.lock_memory_bytes_max = uint64_t{1} << 20;
    world_.options.txns.commit_ring_entries = 64;
    world_.options.storage.buffer.pool_bytes =
        uint64_t{pool_pages} * world_.options.storage.page_size_bytes;
  }

  /// A page is put back to what it was, while the instance is down.
  void RunAtRest(Ending ending) {
    ASSERT_NO_FATAL_FAILURE(Fill(kRows));
    KeepPages();
    ASSERT_TRUE(Change(kChanges / 2));
    ASSERT_TRUE(world_.engine->impl()->storage->pool()->FlushAndCheckpoint().ok());
    KeepPages();
    ASSERT_TRUE(Change(kChanges));
    End(ending);
    PutPageBack();
    SCOPED_TRACE("put back: " + what_);
    Reopen();
    world_.Crash(random_.Next());
  }

  /// Writes get lost while the instance runs.
  void RunWithFaults(Ending ending) {
    ASSERT_NO_FATAL_FAILURE(Fill(20 * kRows));
    LogCapture log;
    LoseWrites();
    SCOPED_TRACE("lost: " + what_);
    Change(4 * kChanges);
    ReadRows(log);
    End(ending);
    world_.files.ClearFaults();
    Reopen();
    world_.Crash(random_.Next());
  }

 private:
  using Page = std::pair<std::string, uint64_t>;  ///< file and offset

  ToyRow MakeRow(uint64_t id) {
    return {static_cast<uint32_t>(random_.Below(50)), static_cast<uint32_t>(id),
            std::string(random_.Between(100, 300), static_cast<char>('a' + random_.Below(26)))};
  }

  void Fill(uint64_t rows) {
    ASSERT_TRUE(world_.Open().ok());
    table_ = world_.CreateTable("test/stale");
    ASSERT_NE(table_, nullptr);
    table_id_ = table_->id();
    std::unique_ptr<Session> session = world_.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    for (uint64_t id = 1; id <= rows; ++id) {
      rows_[id] = MakeRow(id);
      ASSERT_TRUE(EngineFixture::Insert(session.get(), table_.get(), id, rows_[id]).ok());
    }
    ASSERT_TRUE(session->Commit().ok());
    session.reset();
    ASSERT_TRUE(world_.engine->impl()->storage->pool()->FlushAndCheckpoint().ok());
  }

  /// Inserts, updates and deletes, a transaction each. False when one failed: its row is in doubt.
  bool Change(uint64_t count) {
    std::unique_ptr<Session> session = world_.engine->NewSession();
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t id = random_.Between(1, rows_.rbegin()->first + 1);
      const auto found = rows_.find(id);
      const bool removes = random_.OneIn(4);
      if (found == rows_.end() && removes) continue;
      const ToyRow row = MakeRow(id);
      session->Begin(IsolationLevel::kRepeatableRead);
      Status status;
      if (found == rows_.end()) {
        status = EngineFixture::Insert(session.get(), table_.get(), id, row);
      } else if (removes) {
        status = EngineFixture::Delete(session.get(), table_.get(), id, found->second);
      } else {
        status = EngineFixture::Update(session.get(), table_.get(), id, found->second, row);
      }
      if (status.ok()) status = session->Commit();
      if (!status.ok()) {
        session->Rollback().Ignore();
        in_doubt_ = id;
        return false;
      }
      if (removes && found != rows_.end()) {
        rows_.erase(id);
      } else {
        rows_[id] = row;
      }
    }
    return true;
  }

  /// Keeps a copy of the pages that are whole, as they are on disk now.
  void KeepPages() {
    ForEachPage([this](const Page& page, const std::vector<std::byte>& bytes) {
      kept_[page].push_back(bytes);
    });
  }

  template <typename Visit>
  void ForEachPage(Visit visit) {
    const std::vector<std::string> names = world_.files.List("/rowan").value();
    const size_t page_size = world_.options.storage.page_size_bytes;
    std::vector<std::byte> bytes(page_size);
    for (const std::string& name : names) {
      if (!name.starts_with("space_")) continue;
      const std::string path = "/rowan/" + name;
      Result<std::unique_ptr<File>> file = world_.files.Open(path, {});
      const uint64_t size = (*file)->Size().value();
      for (uint64_t offset = 0; offset + page_size <= size; offset += page_size) {
        ASSERT_TRUE((*file)->Read(offset, bytes).ok());
        if (VerifyPage(bytes, PageIdOf(bytes.data())) == PageVerdict::kGood) {
          visit(Page(path, offset), bytes);
        }
      }
    }
  }

  void PutPageBack() {
    std::vector<std::pair<Page, const std::vector<std::byte>*>> choices;
    ForEachPage([&](const Page& page, const std::vector<std::byte>& bytes) {
      for (const std::vector<std::byte>& kept : kept_[page]) {
        if (PageLsnOf(kept.data()) < PageLsnOf(bytes.data())) choices.emplace_back(page, &kept);
      }
    });
    ASSERT_FALSE(choices.empty());
    const auto& [page, bytes] = choices[random_.Below(choices.size())];
    what_ = page.first + " at " + std::to_string(page.second) + ", LSN " +
            std::to_string(PageLsnOf(bytes->data()).value());
    Result<std::unique_ptr<File>> file = world_.files.Open(page.first, {});
    ASSERT_TRUE((*file)->Write(page.second, *bytes).ok());
    ASSERT_TRUE((*file)->Sync(SyncMethod::kFsync).ok());
  }

  void LoseWrites() {
    for (uint64_t count = random_.Between(1, 3); count > 0; --count) {
      InjectedFault fault{.call = FileCall::kWrite, .path_part = "/space_"};
      fault.nth_call = random_.Between(1, 200);
      fault.effect = random_.OneIn(2) ? InjectedFault::Effect::kDropWrite
                                      : InjectedFault::Effect::kMisdirectWrite;
      fault.misdirect_bytes = random_.Between(1, 8) * world_.options.storage.page_size_bytes;
      what_ += " write " + std::to_string(fault.nth_call) +
               (fault.effect == InjectedFault::Effect::kDropWrite ? " dropped" : " misdirected");
      world_.files.Inject(fault);
    }
  }

  void End(Ending ending) {
    table_.reset();
    if (ending == Ending::kShutdown) {
      world_.Shutdown().Ignore();  // what it could not write is in the log
    } else {
      world_.Crash(random_.Next());
    }
  }

  void Reopen() {
    LogCapture log;
    const Status opened = world_.Open();
    if (!opened.ok()) return ExpectNamed(opened, log);
    Result<std::shared_ptr<Table>> table = world_.engine->OpenTable(table_id_);
    if (!table.ok()) return ExpectNamed(table.status(), log);
    table_ = *table;
    bool whole = ReadRows(log);
    for (size_t index = 0; index < table_->index_count(); ++index) {
      const Status checked = world_.engine->CheckIndex(table_.get(), index, {});
      if (!checked.ok()) ExpectNamed(checked, log);
      whole = whole && checked.ok();
    }
    if (whole && !in_doubt_) world_.CheckTable(table_.get(), rows_);
    table_.reset();
  }

  /// Each row by itself. False if an error was met, which has to name its page.
  bool ReadRows(const LogCapture& log) {
    bool all = true;
    for (uint64_t id = 1; id <= rows_.rbegin()->first + 1; ++id) {
      std::unique_ptr<Session> session = world_.engine->NewSession();
      session->Begin(IsolationLevel::kRepeatableRead);
      TableCursor cursor(session.get(), table_.get(), &ToyCodec());
      const std::string key = ToyKey(id);
      StoredRow stored;
      const Status status = cursor.GetRow(AsBytes(key), &stored);
      const auto row = rows_.find(id);
      if (!status.ok() && !status.Is(Code::kNotFound)) {
        ExpectNamed(status, log);
        all = false;
      } else if (in_doubt_ != id) {
        EXPECT_EQ(status.ok(), row != rows_.end()) << "a wrong answer, row " << id;
        if (status.ok() && row != rows_.end()) {
          EXPECT_EQ(ToyDecode(stored.value), row->second) << "a wrong answer, row " << id;
        }
      }
    }
    return all;
  }

  static void ExpectNamed(Status status, const LogCapture& log) {
    EXPECT_TRUE(status.Is(Code::kCorrupt) || status.Is(Code::kStopped))
        << CodeName(status.code()) << ": " << status.message();
    EXPECT_TRUE(log.Has("Page ") && log.Has("of /rowan/space_")) << "no page is named:\n"
                                                                 << log.Text();
  }

  Random random_;
  EngineFixture world_;
  std::shared_ptr<Table> table_;
  TableId table_id_;
  ToyRows rows_;                      ///< acknowledged
  std::optional<uint64_t> in_doubt_;  ///< row of the transaction that failed
  std::map<Page, std::vector<std::vector<std::byte>>> kept_;
  std::string what_;
};

template <typename Run>
void RunTrials(uint64_t trials, uint32_t pool_pages, Run run) {
  const uint64_t before = ReadCounter(Counter::kStalePages);
  for (uint64_t i = 0; i < std::max<uint64_t>(trials, 1) && !::testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("to replay: ROWAN_TEST_SEED=" + std::to_string(TestSeed() + i) +
                 " ROWAN_TEST_ROT_TRIALS=1");
    StaleFixture world(TestSeed() + i, pool_pages);
    run(&world);
  }
  if (trials < kTrials / 4) return;
  EXPECT_GT(ReadCounter(Counter::kStalePages), before) << "nothing stale was ever read";
}

constexpr uint32_t kPool = 64;
constexpr uint32_t kTinyPool = 20;

TEST(StalePageTest, PutBackAfterACleanShutdown) {
  RunTrials(Trials(), kPool, [](StaleFixture* world) { world->RunAtRest(Ending::kShutdown); });
}

TEST(StalePageTest, PutBackAfterACrash) {
  RunTrials(Trials(), kPool, [](StaleFixture* world) { world->RunAtRest(Ending::kCrash); });
}

TEST(StalePageTest, WritesLostWhileRunningThenAShutdown) {
  RunTrials(Trials() / 4, kTinyPool,
            [](StaleFixture* world) { world->RunWithFaults(Ending::kShutdown); });
}

TEST(StalePageTest, WritesLostWhileRunningThenACrash) {
  RunTrials(Trials() / 4, kTinyPool,
            [](StaleFixture* world) { world->RunWithFaults(Ending::kCrash); });
}

}  // namespace
}  // namespace rowan::stale_page_test
