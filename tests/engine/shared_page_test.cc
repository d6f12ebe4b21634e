// SPDX-License-Identifier: GPL-2.0-only
// Damage of which each half looks right: two rows that name the same off-page value.
#include <gtest/gtest.h>

#include "tests/engine/await_purge.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/log_capture.h"

namespace rowan::shared_page_test {
namespace {

ToyRow MakeRow(uint64_t id, const std::string& blob) {
  return {static_cast<uint32_t>(id), static_cast<uint32_t>(id), "text", blob};
}

TEST(SharedPageTest, CheckNamesAPageThatTwoRowsHave) {
  EngineFixture world(TestSeed());
  ASSERT_TRUE(world.Open().ok());
  const std::shared_ptr<Table> table = world.CreateTable("test/shared");
  const std::string blob(3 * world.options.storage.page_size_bytes, 'b');
  world.Fill(table.get(), 3, [&](uint64_t id) { return MakeRow(id, blob); });
  ASSERT_TRUE(world.engine->CheckSpace(table.get(), FindToyBlobs).ok());

  std::unique_ptr<Session> session = world.engine->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
  ByteBuffer stored;
  TableCursor cursor(session.get(), table.get(), &ToyCodec());
  ASSERT_TRUE(cursor.LockRow(AsBytes(ToyKey(1)), &stored).ok());
  const std::optional<OffPageValue> value = ToyBlobOf(stored);
  ASSERT_TRUE(value.has_value());
  const ToyRow row = MakeRow(4, blob);
  const ToyEntries entries(4, row);
  ASSERT_TRUE(session
                  ->InsertRow(table.get(), AsBytes(ToyKey(4)), AsBytes(ToyEncode(row, value)),
                              entries.images())
                  .ok());
  ASSERT_TRUE(session->Commit().ok());
  AwaitPurge(*world.engine);

  const LogCapture log;
  const Status checked = world.engine->CheckSpace(table.get(), FindToyBlobs);
  EXPECT_TRUE(checked.Is(Code::kCorrupt)) << checked.message();
  EXPECT_EQ(checked.detail(), value->base.first_page.value());
  EXPECT_TRUE(log.Has("more than one index or value has it")) << log.Text();
}

}  // namespace
}  // namespace rowan::shared_page_test
