// SPDX-License-Identifier: GPL-2.0-only
// A change that is told where its entry was seen finds the same leaf and slot as one that is not,
// whatever became of that place, and of whichever entry it was.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/btree/tree_fixture.h"

namespace rowan::entry_place_test {
namespace {

std::string KeyOf(uint32_t number) {
  std::string key(8, '\0');
  StoreBe64(reinterpret_cast<std::byte*>(key.data()), number);
  return key;
}

struct Found {
  PageNumber leaf{0};
  uint16_t slot = 0;
  bool exact = false;
  bool operator==(const Found&) const = default;
};

class EntryPlaceTest : public ::testing::Test {
 protected:
  static SpaceFixture::Options SmallPages() {
    SpaceFixture::Options options;
    options.page_bytes = 4096;
    return options;
  }
  Found Find(const std::string& key, const EntryPlace& seen) {
    MiniTxn mini_txn(&fixture_.space().pool());
    EXPECT_TRUE(mini_txn.Start(256).ok());
    LeafPosition position;
    EXPECT_TRUE(fixture_.tree().FindForWrite(&mini_txn, AsBytes(key), &position, seen).ok());
    const Found found{position.leaf.id.page, position.slot, position.exact};
    left_ = Tree::PlaceAfter(mini_txn, position);
    mini_txn.Abandon();
    return found;
  }
  EntryPlace PlaceOf(const std::string& key) {
    Cursor cursor(&fixture_.tree());
    if (!cursor.SeekExactly(AsBytes(key)).ok()) return {};
    cursor.Unlatch();
    return cursor.place();
  }

  TreeFixture fixture_{SmallPages()};
  EntryPlace left_;  ///< what the last Find has left
};

TEST_F(EntryPlaceTest, PlacesAreHintsThatMayBeOutdatedOrOfOtherEntries) {
  constexpr uint32_t kKeys = 600;
  Random random(TestSeed());
  std::vector<EntryPlace> places(kKeys);
  for (int step = 0; step < 20000; ++step) {
    const uint32_t number = random.Below(kKeys);
    const std::string key = KeyOf(number);
    switch (random.Below(6)) {
      case 0: ASSERT_TRUE(fixture_.Put(key, std::string(random.Below(120), 'v')).ok()); break;
      case 1:
        if (fixture_.Remove(key).ok()) {
          ASSERT_TRUE(fixture_.tree().MergeIfSmall(AsBytes(key)).ok());
        }
        break;
      case 2:
      case 3: places[number] = PlaceOf(key); break;
      default: {
        const uint32_t near = random.OneIn(2) ? number : (number + random.Below(5)) % kKeys;
        const EntryPlace& seen = places[random.OneIn(4) ? random.Below(kKeys) : near];
        ASSERT_EQ(Find(key, seen), Find(key, {}));
        if (random.OneIn(4)) places[number] = left_;
      }
    }
  }
  ASSERT_TRUE(fixture_.tree().Check({}).ok());
}

TEST_F(EntryPlaceTest, AnIndexOfAnotherSpaceMayHaveTheSameNumber) {
  constexpr SpaceId kOther{SpaceFixture::kSpace.value() + 1};
  PageAllocator& allocator = fixture_.space().allocator();
  ASSERT_TRUE(allocator.CreateSpace(kOther).ok());
  Result<PageNumber> root = Tree::Create(&allocator, kOther, TreeFixture::kIndex);
  ASSERT_TRUE(root.ok());
  Tree other(&allocator, kOther, *root, TreeFixture::kIndex);
  ASSERT_TRUE(fixture_.Put(KeyOf(1), "v").ok());
  (void)Find(KeyOf(2), {});
  MiniTxn mini_txn(&fixture_.space().pool());
  ASSERT_TRUE(mini_txn.Start(256).ok());
  LeafPosition position;
  ASSERT_TRUE(other.FindForWrite(&mini_txn, AsBytes(KeyOf(2)), &position, left_).ok());
  EXPECT_EQ(position.leaf.id.space, kOther);
  mini_txn.Abandon();
}

TEST_F(EntryPlaceTest, ACursorHasAPlaceOnlyOnAnEntryThatItLeft) {
  ASSERT_TRUE(fixture_.Put(KeyOf(1), "v").ok());
  Cursor cursor(&fixture_.tree());
  EXPECT_EQ(cursor.place().leaf.frame, nullptr);
  ASSERT_TRUE(cursor.SeekExactly(AsBytes(KeyOf(1))).ok());
  EXPECT_EQ(cursor.place().leaf.frame, nullptr);
  cursor.Unlatch();
  EXPECT_NE(cursor.place().leaf.frame, nullptr);
  ASSERT_TRUE(cursor.SeekExactly(AsBytes(KeyOf(2))).Is(Code::kNotFound));
  cursor.Unlatch();
  EXPECT_EQ(cursor.place().leaf.frame, nullptr);
}

}  // namespace
}  // namespace rowan::entry_place_test
