// SPDX-License-Identifier: GPL-2.0-only
// An instance that is only read: after a crash it shows what a start would show, refuses every
// change, and not a byte of its files differs afterwards.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/engine/engine_fixture.h"
#include "tests/support/log_capture.h"

namespace rowan::read_only_test {
namespace {

constexpr uint64_t kRows = 500;

class ReadOnlyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(world_.Open().ok());
    std::shared_ptr<Table> table = world_.CreateTable("test/t");
    id_ = table->id();
    rows_ = world_.Fill(table.get(), kRows, RowOf);
  }
  static ToyRow RowOf(uint64_t id) {
    ToyRow row;
    row.value = static_cast<uint32_t>(id % 7);
    row.unique = static_cast<uint32_t>(id);
    row.text = std::string(100, 'x');
    return row;
  }
  std::map<std::string, std::vector<std::byte>> Contents() {
    std::map<std::string, std::vector<std::byte>> contents;
    Result<std::vector<std::string>> names = world_.files.List("/rowan");
    EXPECT_TRUE(names.ok());
    for (const std::string& name : *names) {
      Result<std::unique_ptr<File>> file = world_.files.Open("/rowan/" + name, {});
      EXPECT_TRUE(file.ok());
      std::vector<std::byte>& bytes = contents[name];
      bytes.resize((*file)->Size().value());
      EXPECT_TRUE((*file)->Read(0, bytes).ok());
    }
    return contents;
  }
  void ExpectReadableAndRefused() {
    world_.options.storage.read_only = true;
    ASSERT_TRUE(world_.Open().ok()) << log_.Text();
    Result<std::shared_ptr<Table>> table = world_.engine->OpenTable(id_);
    ASSERT_TRUE(table.ok());
    EXPECT_EQ(world_.ReadAll(table->get()), rows_);
    std::unique_ptr<Session> session = world_.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    EXPECT_TRUE(EngineFixture::Insert(session.get(), table->get(), kRows + 1, RowOf(kRows + 1))
                    .Is(Code::kReadOnly));
    EXPECT_TRUE(
        EngineFixture::Delete(session.get(), table->get(), 1, RowOf(1)).Is(Code::kReadOnly));
    EXPECT_TRUE(world_.engine->DropTable(session.get(), id_).Is(Code::kReadOnly));
    EXPECT_TRUE(world_.engine->CreateTable(session.get(), EngineFixture::ToyDefinition("test/u"))
                    .status()
                    .Is(Code::kReadOnly));
    EXPECT_TRUE(session->Rollback().ok());
    session.reset();
    *table = nullptr;
    ASSERT_TRUE(world_.Shutdown().ok());
    world_.options.storage.read_only = false;
  }

  LogCapture log_;
  EngineFixture world_{TestSeed()};
  TableId id_;
  ToyRows rows_;
};

TEST_F(ReadOnlyTest, AfterAShutdown) {
  ASSERT_TRUE(world_.Shutdown().ok());
  const auto before = Contents();
  ExpectReadableAndRefused();
  EXPECT_TRUE(Contents() == before);
}

TEST_F(ReadOnlyTest, AfterACrashWithAnUnfinishedTransaction) {
  Result<std::shared_ptr<Table>> table = world_.engine->OpenTable(id_);
  ASSERT_TRUE(table.ok());
  std::unique_ptr<Session> session = world_.engine->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
  ASSERT_TRUE(EngineFixture::Insert(session.get(), table->get(), kRows + 7, RowOf(kRows + 7)).ok());
  ASSERT_TRUE(world_.engine->FlushLog().ok());
  session.reset();
  *table = nullptr;
  world_.engine.reset();
  const auto before = Contents();
  ExpectReadableAndRefused();
  EXPECT_TRUE(Contents() == before);
  ASSERT_TRUE(world_.Open().ok());
  world_.ExpectTable(id_, rows_);
}

TEST_F(ReadOnlyTest, WithoutAnInstance) {
  ASSERT_TRUE(world_.Shutdown().ok());
  world_.options.storage.read_only = true;
  world_.options.storage.folder = "/nowhere";
  EXPECT_TRUE(world_.Open().Is(Code::kReadOnly));
  EXPECT_FALSE(world_.files.Exists("/nowhere").value());
}

}  // namespace
}  // namespace rowan::read_only_test
