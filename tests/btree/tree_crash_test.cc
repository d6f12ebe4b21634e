// SPDX-License-Identifier: GPL-2.0-only
// Redo gives the same bytes; power cuts at any moment leave a sound tree with every change that was
// made durable and nothing that was not made.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/logging.h"
#include "base/random.h"
#include "btree/node.h"
#include "tests/btree/key_shapes.h"
#include "tests/btree/tree_fixture.h"

namespace rowan {
namespace {

using Model = std::map<std::string, std::string>;

/// Values that may lose a piece: the flag says that it is there.
constexpr ValueCut kCut{0x40, 1, 40};

bool CanBeCut(Bytes value) {
  return value.size() > kCut.bytes && (static_cast<uint8_t>(value[0]) & kCut.flags) != 0;
}

void FindLong(void* /*context*/, const NodeView& leaf, SlotRuns* runs) {
  for (size_t slot = 0; slot < leaf.count(); ++slot) {
    if (CanBeCut(leaf.Value(slot))) runs->push_back({static_cast<uint16_t>(slot), 1});
  }
}

constexpr ValueShortener kShortener{FindLong, kCut};

/// What is left of a value once it was cut: when that happens does not matter to the model.
std::string Shortened(std::string value) {
  if (!CanBeCut(AsBytes(value))) return value;
  value[0] = static_cast<char>(value[0] & ~kCut.flags);
  return value.erase(kCut.offset, kCut.bytes);
}

/// One committed change: the value it left (nullopt-like: removed).
struct Change {
  Lsn end;
  std::string key;
  std::string value;
  bool removed = false;
};

class Program {
 public:
  Program(TreeFixture* fixture, const KeyShape& shape, uint64_t seed)
      : fixture_(fixture), shape_(shape), random_(seed) {}

  /// False when the engine stopped.
  bool Step() {
    Change change;
    change.key = shape_.Make(&random_);
    Status status;
    if (random_.OneIn(3)) {
      change.removed = true;
      status = fixture_->Remove(change.key, &change.end);
      if (status.Is(Code::kNotFound)) return true;
      // An engine that stops does so here too.
      if (status.ok() && random_.OneIn(2)) {
        fixture_->tree().MergeIfSmall(AsBytes(change.key)).Ignore();
      }
    } else {
      change.value = shape_.MakeValue(&random_);
      status = fixture_->Put(change.key, change.value, &change.end);
    }
    if (!status.ok()) return false;
    changes.push_back(change);
    if (random_.OneIn(10) && fixture_->space().log().WaitDurable(change.end).ok()) {
      durable = changes.size();
    }
    return true;
  }

  std::vector<Change> changes;
  size_t durable = 0;  ///< this many changes were acknowledged

 private:
  TreeFixture* const fixture_;
  const KeyShape shape_;
  Random random_;
};

Model ModelAfter(const Model& start, const std::vector<Change>& changes, size_t count) {
  Model model = start;
  for (size_t i = 0; i < count; ++i) {
    if (changes[i].removed) {
      model.erase(changes[i].key);
    } else {
      model[changes[i].key] = Shortened(changes[i].value);
    }
  }
  return model;
}

Status ReadAll(Tree* tree, Model* model) {
  return tree->Check([model](Bytes key, Bytes value) {
    (*model)[std::string(AsText(key))] = Shortened(std::string(AsText(value)));
    return Status::Ok();
  });
}

class TreeCrashTest : public testing::TestWithParam<size_t> {};

TEST_P(TreeCrashTest, RedoGivesTheSameBytes) {
  const uint32_t page_bytes = TestPageSizeBytes();
  SpaceFixture::Options options;
  options.background = false;  // nothing but the log survives
  options.log_bytes = uint64_t{256} << 20;
  options.pool_pages = 4096;
  TreeFixture fixture(options);
  fixture.SetCleaner({.shortener = &kShortener});
  ResetCounters();
  const KeyShape shape = AllKeyShapes(page_bytes)[GetParam()];
  Program program(&fixture, shape, TestSeed() + GetParam());
  for (int i = 0; i < 2500; ++i) ASSERT_TRUE(program.Step());
  if (shape.kind == KeyShape::Kind::kBigEndian) {
    EXPECT_GT(ReadCounter(Counter::kEntriesShortened), 0U);
  }
  Result<SpaceStatistics> space = fixture.space().allocator().Statistics(SpaceFixture::kSpace);
  ASSERT_TRUE(space.ok());
  std::map<uint32_t, std::vector<std::byte>> before;
  const auto copy_pages = [&](std::map<uint32_t, std::vector<std::byte>>* pages) {
    for (uint32_t number = 0; number < space->file_pages; ++number) {
      const PageId id{SpaceFixture::kSpace, PageNumber(number)};
      Result<bool> allocated = fixture.space().allocator().IsAllocated(id);
      ASSERT_TRUE(allocated.ok());
      if (!*allocated) continue;
      Result<PageGuard> guard = fixture.space().pool().Fix(id, LatchMode::kShared);
      ASSERT_TRUE(guard.ok());
      // Without the checksum, which is made when a page is written.
      (*pages)[number].assign(guard->page() + 4, guard->page() + page_bytes);
    }
  };
  copy_pages(&before);
  ASSERT_TRUE(fixture.space().log().WaitDurable(fixture.space().log().tail()).ok());
  fixture.Kill();
  fixture.file_system().Crash(1);
  ASSERT_TRUE(fixture.Restart().ok());
  std::map<uint32_t, std::vector<std::byte>> after;
  copy_pages(&after);
  ASSERT_EQ(before.size(), after.size());
  for (const auto& [number, bytes] : before) {
    ASSERT_TRUE(bytes == after[number]) << "page " << number;
  }
}

TEST_P(TreeCrashTest, PowerCutsLoseNothingThatWasDurable) {
  const uint32_t page_bytes = TestPageSizeBytes();
  SetLogLevel(LogLevel::kError);
  Random random(TestSeed() * 31 + GetParam());
  SpaceFixture::Options options;
  options.pool_pages = 64;
  options.log_bytes = uint64_t{4} << 20;
  options.doublewrite = random.OneIn(2) ? DoublewriteMode::kOn : DoublewriteMode::kAtomic;
  TreeFixture fixture(options, random.Next());
  fixture.SetCleaner({.shortener = &kShortener});
  // The engine removes a space whose creation was not durable; here it has to be there.
  ASSERT_TRUE(fixture.space().log().WaitDurable(fixture.space().log().tail()).ok());
  Model model;
  for (int round = 0; round < 6; ++round) {
    SCOPED_TRACE(fixture.file_system().Describe());
    Program program(&fixture, AllKeyShapes(page_bytes)[GetParam()], random.Next());
    // Or a sync fails first, and what it lost looks to the next start as if it were there.
    const bool process_dies = random.OneIn(3);
    if (process_dies) {
      fixture.file_system().Inject(
          {.call = FileCall::kSync, .path_part = "space_16", .nth_call = random.Between(1, 3)});
    } else {
      fixture.file_system().PowerOffAfter(random.Below(400));
    }
    for (int i = 0; i < 1500 && program.Step(); ++i) {
      if (random.OneIn(200)) fixture.space().pool().FlushAndCheckpoint().Ignore();
    }
    fixture.Kill();
    fixture.file_system().ClearFaults();
    if (process_dies) {
      const Status between = fixture.Restart();
      ASSERT_TRUE(between.ok()) << between.message();
      fixture.Kill();
    }
    fixture.file_system().Crash(random.Next());
    const Status started = fixture.Restart();
    ASSERT_TRUE(started.ok()) << started.message();
    Model found;
    const Status checked = ReadAll(&fixture.tree(), &found);
    ASSERT_TRUE(checked.ok()) << checked.message();
    // Some prefix of the changes at or behind the durable ones.
    bool matches = false;
    for (size_t count = program.durable; count <= program.changes.size() && !matches; ++count) {
      Model expected = ModelAfter(model, program.changes, count);
      matches = expected == found;
      if (matches) model = std::move(expected);
    }
    ASSERT_TRUE(matches) << "durable " << program.durable << " of " << program.changes.size();
  }
  ASSERT_TRUE(fixture.space().allocator().CheckSpace(SpaceFixture::kSpace).ok());
}

INSTANTIATE_TEST_SUITE_P(Shapes, TreeCrashTest, testing::Range<size_t>(0, kKeyShapes));

}  // namespace
}  // namespace rowan
