// SPDX-License-Identifier: GPL-2.0-only
// Damage at rest in the undo space, with transactions of the last run to be purged and one to be
// rolled back: the instance opens, or names the file and opens with recovery.force. What was
// committed is there, what nobody committed is not taken for it, and others go on.
#include <gtest/gtest.h>

#include <cstdio>

#include "base/format.h"
#include "base/random.h"
#include "buffer/buffer_options.h"
#include "engine/engine_impl.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/await.h"
#include "tests/support/log_capture.h"

namespace rowan::undo_rot_test {
namespace {

constexpr uint64_t kRows = 200;
constexpr uint64_t kLoserFirst = 101;  // of the rows that the loser changed
constexpr uint64_t kLoserLast = 160;
constexpr uint64_t kNewId = 1000;
constexpr uint64_t kTrials = 60;
constexpr uint32_t kPageBytes = 4096;

bool IsOfLoser(uint64_t id) { return id >= kLoserFirst && id <= kLoserLast; }

ToyRow MakeRow(uint64_t id, char fill) {
  return {static_cast<uint32_t>(id % 7), static_cast<uint32_t>(id), std::string(200, fill)};
}

class UndoRot {
 public:
  explicit UndoRot(uint64_t seed) : random_(seed), world_(seed) {
    world_.options.storage.page_size_bytes = kPageBytes;
    world_.options.storage.log.capacity_bytes = uint64_t{1} << 20;
    // Else every page is repaired.
    if (!random_.OneIn(8)) {
      world_.options.storage.buffer.doublewrite = DoublewriteMode::kDetectOnly;
    }
  }

  struct Outcome {
    uint64_t noticed = 0;    ///< the damage was
    uint64_t forced = 0;     ///< the instance does not open without force
    uint64_t read_only = 0;  ///< nor so that it can be written
    uint64_t locked = 0;     ///< the loser's rows stay locked
  };
  void Run(Outcome* sum) {
    RunTrial();
    sum->noticed += noticed_ ? 1 : 0;
    sum->forced += world_.options.storage.recovery.force ? 1 : 0;
    sum->read_only += world_.options.storage.read_only ? 1 : 0;
    sum->locked += locked_ ? 1 : 0;
  }

 private:
  void RunTrial() {
    SCOPED_TRACE(world_.files.Describe());
    ASSERT_NO_FATAL_FAILURE(Build());
    Damage();
    const LogCapture log;
    ASSERT_NO_FATAL_FAILURE(Start(log));
    if (world_.options.storage.read_only) return CheckReadOnly();
    ASSERT_NO_FATAL_FAILURE(CheckRows());
    ASSERT_NO_FATAL_FAILURE(GoOn());
    ASSERT_TRUE(world_.Shutdown().ok());
    ASSERT_NO_FATAL_FAILURE(Start(log));
    if (world_.options.storage.read_only) return CheckReadOnly();
    CheckRows();
    noticed_ = noticed_ || log.Has("space_2.rws");
    world_.Crash(random_.Next());
  }

  void Build() {
    world_.options.purges = false;
    ASSERT_TRUE(world_.Open().ok());
    const std::shared_ptr<Table> table = world_.CreateTable("test/undo");
    id_ = table->id();
    rows_ = world_.Fill(table.get(), kRows, [](uint64_t id) { return MakeRow(id, 'a'); });
    std::unique_ptr<Session> writer = Begin();
    for (uint64_t id = 1; id < kLoserFirst; ++id) Change(writer.get(), table.get(), id, 'b');
    ASSERT_TRUE(writer->Commit().ok());
    for (auto& [id, row] : rows_) row = MakeRow(id, id < kLoserFirst ? 'b' : 'a');
    std::unique_ptr<Session> loser = Begin();
    for (uint64_t id = kLoserFirst; id <= kLoserLast; ++id) {
      Change(loser.get(), table.get(), id, 'c');
    }
    ASSERT_TRUE(world_.engine->FlushLog().ok());
    ASSERT_TRUE(world_.engine->impl()->storage->pool()->FlushAndCheckpoint().ok());
    world_.files.PowerOffAfter(0);  // its session cannot roll it back
    loser.reset();
    writer.reset();
    world_.engine.reset();
    world_.files.Crash({.keep = CrashPlan::Keep::kEverything}, random_.Next());
    world_.options.purges = true;
  }
  void Change(Session* session, Table* table, uint64_t id, char fill) {
    EXPECT_TRUE(
        EngineFixture::Update(session, table, id, MakeRow(id, 'a'), MakeRow(id, fill)).ok());
  }
  std::unique_ptr<Session> Begin() {
    std::unique_ptr<Session> session = world_.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    session->SetLockWait({.timeout_s = 0});
    return session;
  }

  /// Bits of bytes that say something.
  void Damage() {
    const std::string path = "/rowan/space_2.rws";
    Result<std::unique_ptr<File>> file = world_.files.Open(path, {});
    const uint64_t size = file.value()->Size().value();
    for (uint64_t flips = 1 + random_.Below(3); flips > 0;) {
      const uint64_t offset = random_.Below(size);
      std::byte byte{};
      ASSERT_TRUE(file.value()->Read(offset, {&byte, 1}).ok());
      if (byte == std::byte{0}) continue;
      ASSERT_TRUE(world_.files.FlipBit(path, offset, static_cast<unsigned>(random_.Below(8))));
      --flips;
    }
  }

  /// With recovery.force where it does not go without.
  void Start(const LogCapture& log) {
    Status opened = world_.Open();
    if (opened.ok() && Settled()) return;
    noticed_ = true;
    EXPECT_TRUE(opened.ok() || opened.Is(Code::kCorrupt)) << opened.message();
    EXPECT_TRUE(log.Has("space_2.rws")) << log.Text();
    EXPECT_FALSE(world_.options.storage.recovery.force) << log.Text();
    world_.engine.reset();
    world_.files.Crash({.keep = CrashPlan::Keep::kEverything}, random_.Next());
    world_.options.storage.recovery.force = true;
    opened = world_.Open();
    if (opened.Is(Code::kCorrupt)) {  // damage of the directory
      world_.engine.reset();
      world_.options.storage.read_only = true;
      opened = world_.Open();
    }
    ASSERT_TRUE(opened.ok()) << opened.message() << "\n" << log.Text();
    ASSERT_TRUE(Settled()) << log.Text();
  }
  /// Redo and rollback are through; false: the engine has stopped.
  bool Settled() {
    const auto through = [&] {
      const bool rolls_back = !world_.options.storage.read_only;
      return !world_.engine->redoing() &&
             (!rolls_back || world_.engine->impl()->txns->LoserCount() == 0);
    };
    EXPECT_TRUE(Await([&] { return through() || world_.engine->stopped(); }));
    return !world_.engine->stopped();
  }

  void CheckRows() {
    const std::shared_ptr<Table> table = world_.engine->OpenTable(id_).value();
    std::unique_ptr<Session> session = Begin();
    for (const auto& [id, row] : rows_) {
      ToyRow found;
      const Status status = EngineFixture::ReadForUpdate(session.get(), table.get(), id, &found);
      if (IsOfLoser(id) && status.Is(Code::kLockTimeout)) {
        noticed_ = locked_ = true;  // its rollback failed
        ASSERT_NE(world_.engine->impl()->txns->FailedRollbacks(), 0u);
        session->Rollback().Ignore();
        session = Begin();
        continue;
      }
      ASSERT_TRUE(status.ok()) << id << ": " << status.message();
      // Passed over with force: what its last transaction did stays.
      const bool stays = IsOfLoser(id) && world_.options.storage.recovery.force;
      ASSERT_TRUE(found == row || (stays && found == MakeRow(id, 'c'))) << "row " << id;
    }
    EXPECT_TRUE(session->Rollback().ok());
  }

  void CheckReadOnly() {
    const std::shared_ptr<Table> table = world_.engine->OpenTable(id_).value();
    for (const auto& [id, found] : world_.ReadAll(table.get())) {
      const bool stays = IsOfLoser(id) && found == MakeRow(id, 'c');
      ASSERT_TRUE(stays || found == rows_.at(id)) << "row " << id;
    }
  }

  void GoOn() {
    const std::shared_ptr<Table> table = world_.engine->OpenTable(id_).value();
    std::unique_ptr<Session> session = Begin();
    rows_[kNewId] = MakeRow(kNewId, 'n');
    ASSERT_TRUE(EngineFixture::Insert(session.get(), table.get(), kNewId, rows_.at(kNewId)).ok());
    ASSERT_TRUE(
        EngineFixture::Update(session.get(), table.get(), 5, rows_.at(5), MakeRow(5, 'd')).ok());
    rows_.at(5) = MakeRow(5, 'd');
    ASSERT_TRUE(session->Commit().ok());
  }

  Random random_;
  EngineFixture world_;
  TableId id_;
  ToyRows rows_;
  bool noticed_ = false;
  bool locked_ = false;
};

TEST(UndoRotTest, CommittedRowsAreThereAndOthersGoOn) {
  UndoRot::Outcome sum;
  uint64_t done = 0;
  const uint64_t trials = TestSetting("ROWAN_TEST_ROT_TRIALS", kTrials);
  for (; done < trials && !HasFailure(); ++done) UndoRot(TestSeed() + done).Run(&sum);
  std::printf("%s\n",
              Format("{} times damage in undo: {} noticed, {} opened with force, {} of these "
                     "to be read only, {} losers left",
                     done, sum.noticed, sum.forced, sum.read_only, sum.locked)
                  .c_str());
  EXPECT_GE(sum.noticed, done / 5) << "the damage is nowhere that matters";
}

}  // namespace
}  // namespace rowan::undo_rot_test
