// SPDX-License-Identifier: GPL-2.0-only
// Damage at rest: bits flipped, and pages overwritten with those of another place, anywhere in the
// files of an instance that was shut down or that died. What was stored is then either read as it
// was, or an error names the file (and the page): never a wrong answer, never a crash.
// Pages replaced by their own earlier images: stale_page_test.cc.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "base/random.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/fault_tally.h"
#include "tests/support/log_capture.h"

namespace rowan::bit_rot_test {
namespace {

constexpr uint64_t kRows = 120;
constexpr uint64_t kTrials = 100;
constexpr uint64_t kNoticedOneIn = 5;

uint64_t Trials() { return TestSetting("ROWAN_TEST_ROT_TRIALS", kTrials); }

class BitRot {
 public:
  explicit BitRot(uint64_t seed) : random_(seed), world_(seed) {
    world_.options.storage.log.capacity_bytes = uint64_t{1} << 20;
    world_.options.storage.log.buffer_bytes = uint64_t{1} << 16;
    world_.options.txns.lock_memory_bytes_max = uint64_t{1} << 20;
    world_.options.txns.commit_ring_entries = 64;
  }

  /// True if the damage was noticed: by opening, by a statement, or by a repair.
  bool Run(bool clean) {
    RunTrial(clean);
    return noticed_;
  }

 private:
  void RunTrial(bool clean) {
    SCOPED_TRACE("to replay: ROWAN_TEST_SEED=" + std::to_string(world_.files.seed()) +
                 " ROWAN_TEST_ROT_TRIALS=1");
    ASSERT_NO_FATAL_FAILURE(Build(clean));
    const std::string path = DamageSomething();
    SCOPED_TRACE("damaged: " + path + " " + what_);
    LogCapture log;
    const Status opened = world_.Open();
    if (!opened.ok()) {
      noticed_ = true;
      const bool named = opened.Is(Code::kCorrupt) || opened.Is(Code::kInvalidArgument) ||
                         opened.Is(Code::kNewerFormat);
      EXPECT_TRUE(named) << CodeName(opened.code()) << ": " << opened.message();
      EXPECT_TRUE(log.Has("/rowan")) << "no file is named:\n" << log.Text();
      return;
    }
    ReadEverything(log);
    noticed_ = noticed_ || log.Has(path.substr(path.rfind('/') + 1));  // named and repaired
    world_.Crash(random_.Next());
  }

  void Build(bool clean) {
    ASSERT_TRUE(world_.Open().ok());
    const std::shared_ptr<Table> table = world_.CreateTable("test/rot");
    ASSERT_NE(table, nullptr);
    table_ = table->id();
    std::unique_ptr<Session> session = world_.engine->NewSession();
    for (uint64_t id = 1; id <= kRows; ++id) {
      session->Begin(IsolationLevel::kRepeatableRead);
      rows_[id] = {static_cast<uint32_t>(id % 7), static_cast<uint32_t>(id),
                   std::string(300, static_cast<char>('a' + id % 26))};
      ASSERT_TRUE(EngineFixture::Insert(session.get(), table.get(), id, rows_[id]).ok());
      ASSERT_TRUE(session->Commit().ok());
      if (id != kRows / 2) continue;
      ASSERT_TRUE(world_.engine->impl()->storage->pool()->FlushAndCheckpoint().ok());
    }
    session.reset();
    if (clean) {
      ASSERT_TRUE(world_.Shutdown().ok());
    } else {
      world_.Crash(random_.Next());
    }
  }

  std::string DamageSomething() {
    const std::string path = "/rowan/" + ChooseFile();
    Result<std::unique_ptr<File>> file = world_.files.Open(path, {});
    const uint64_t size = file.value()->Size().value();
    const uint64_t page = world_.options.storage.page_size_bytes;
    if (path.find("space_") != std::string::npos && random_.OneIn(3) && size > 2 * page) {
      // A page of this file in the place of another one.
      std::vector<std::byte> bytes(page);
      const uint64_t from = random_.Below(size / page);
      const uint64_t to = random_.Below(size / page);
      EXPECT_TRUE((*file)->Read(from * page, bytes).ok());
      EXPECT_TRUE((*file)->Write(to * page, bytes).ok());
      EXPECT_TRUE((*file)->Sync(SyncMethod::kFsync).ok());
      what_ = "page " + std::to_string(from) + " at the place of " + std::to_string(to);
      return path;
    }
    const uint64_t offset = ChooseByte(file.value().get(), size);
    EXPECT_TRUE(world_.files.FlipBit(path, offset, static_cast<unsigned>(random_.Below(8))));
    what_ = "bit at " + std::to_string(offset);
    return path;
  }

  /// Most of a file is zeros that nobody looks at: usually a byte that says something.
  uint64_t ChooseByte(File* file, uint64_t size) {
    constexpr int kTries = 64;
    uint64_t offset = 0;
    for (int i = 0; i < kTries; ++i) {
      const uint64_t reach =
          random_.OneIn(2) ? size
                           : std::min<uint64_t>(size, 16 * world_.options.storage.page_size_bytes);
      offset = random_.Below(reach);
      std::byte byte{};
      EXPECT_TRUE(file->Read(offset, {&byte, 1}).ok());
      if (byte != std::byte{0} || random_.OneIn(kTries)) break;
    }
    return offset;
  }

  /// Each kind of file as often as any other (most are redo log files), tablespaces every other
  /// time.
  std::string ChooseFile() {
    const std::vector<std::string> names = world_.files.List("/rowan").value();
    std::map<FileClass, std::vector<std::string>> kinds;
    for (const std::string& name : names) kinds[FileClassOf(name)].push_back(name);
    auto kind = kinds.find(FileClass::kSpace);
    if (random_.OneIn(2)) {
      kind = kinds.begin();
      std::advance(kind, random_.Below(kinds.size()));
    }
    return kind->second[random_.Below(kind->second.size())];
  }

  void ReadEverything(const LogCapture& log) {
    Result<std::shared_ptr<Table>> table = world_.engine->OpenTable(table_);
    if (!table.ok()) return ExpectNamed(table.status(), log);
    std::unique_ptr<Session> session = world_.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    TableCursor cursor(session.get(), table->get(), &ToyCodec());
    cursor.OpenScan(0);
    StoredRow stored;
    Status status = cursor.SeekFirst(&stored);
    ToyRows found;
    for (; status.ok(); status = cursor.Next(&stored)) {
      found[LoadBe64(stored.key.data())] = ToyDecode(stored.value);
    }
    cursor.CloseScan();
    if (!status.Is(Code::kEndOfRange)) {
      ExpectNamed(status, log);
    } else if (found != rows_) {
      // Only the end of the log may be taken for a torn tail: whole commits, the newest ones.
      EXPECT_LT(found.size(), rows_.size());
      EXPECT_TRUE(std::equal(found.begin(), found.end(), rows_.begin())) << "a wrong answer";
      EXPECT_GE(found.size() + kTailMax, rows_.size()) << "more than the last sync is missing";
    }
    for (size_t index = 0; index < (*table)->index_count(); ++index) {
      const Status checked = world_.engine->CheckIndex(table->get(), index, {});
      if (!checked.ok()) ExpectNamed(checked, log);
    }
    const Status space = world_.engine->CheckSpace(table->get());
    if (!space.ok()) ExpectNamed(space, log);
  }

  void ExpectNamed(Status status, const LogCapture& log) {
    noticed_ = true;
    EXPECT_TRUE(status.Is(Code::kCorrupt) || status.Is(Code::kInvalidArgument) ||
                status.Is(Code::kNewerFormat))
        << CodeName(status.code()) << ": " << status.message();
    EXPECT_TRUE(log.Has("/rowan/")) << "no file is named:\n" << log.Text();
  }

  /// Damage to the groups of the very last sync looks like a tail (docs/formats/redo_log.md).
  static constexpr size_t kTailMax = 1;

  Random random_;
  EngineFixture world_;
  TableId table_;
  ToyRows rows_;
  std::string what_;
  bool noticed_ = false;
};

/// Much of a file is never read or of no meaning, but of all damage a part is noticed: else this
/// test would look at nothing.
void RunTrials(bool clean) {
  uint64_t noticed = 0;
  uint64_t done = 0;
  for (; done < Trials() && !::testing::Test::HasFailure(); ++done) {
    noticed += BitRot(TestSeed() + done).Run(clean) ? 1 : 0;
  }
  std::printf("noticed: %llu of %llu\n", static_cast<unsigned long long>(noticed),
              static_cast<unsigned long long>(done));
  if (done >= kTrials) {
    EXPECT_GE(noticed, done / kNoticedOneIn);
  }
}

TEST(BitRotTest, AfterACleanShutdown) { RunTrials(true); }
TEST(BitRotTest, AfterACrash) { RunTrials(false); }

}  // namespace
}  // namespace rowan::bit_rot_test
