// SPDX-License-Identifier: GPL-2.0-only
// Values with partial changes over them, beside the values themselves.
#include "space/off_page_value.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "space/value_changes.h"
#include "tests/support/changed_bytes.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

using Value = std::vector<std::byte>;

class PartialChangesTest : public testing::Test {
 protected:
  BlobRef Store(const Value& bytes) {
    const PageNumber page(static_cast<uint32_t>(blobs_.size()) + 1);
    blobs_[page] = bytes;
    return {SpaceId(20), page, bytes.size(), page.value()};
  }
  Status Assemble(const OffPageValue& value, Value* target) {
    target->assign(value.size_bytes(), std::byte{0});
    const auto read = [this](const BlobRef& blob, MutableBytes bytes) {
      if (blob.first_page == lost_) return Status(Code::kIoError);
      const Value& stored = blobs_.at(blob.first_page);
      EXPECT_EQ(stored.size(), bytes.size());
      std::copy(stored.begin(), stored.end(), bytes.begin());
      return Status::Ok();
    };
    return AssembleValue(value, read, *target);
  }
  /// Some bytes of the value become others; the list of those.
  Value Change(Value* value) {
    const Value before = *value;
    for (uint64_t i = random_.Between(1, 5); i > 0; --i) {
      const size_t at = random_.Below(value->size());
      const size_t bytes = std::min<size_t>(value->size() - at, random_.Between(1, 40));
      const Value patch = RandomBytes(&random_, bytes);
      std::copy(patch.begin(), patch.end(), value->begin() + static_cast<ptrdiff_t>(at));
    }
    ByteRanges ranges;
    EXPECT_TRUE(FindDifferences(before, *value, UINT64_MAX, &ranges));
    Value changes;
    AppendChanges(ranges, *value, &changes);
    EXPECT_EQ(changes.size(), ChangesBytes(ranges));
    return changes;
  }

  std::map<PageNumber, Value> blobs_;
  PageNumber lost_ = kNoPage;
  Random random_{TestSeed()};
};

TEST_F(PartialChangesTest, BasePatchAndRecentChangesAreTheValue) {
  for (int round = 0; round < 200; ++round) {
    Value value = RandomBytes(&random_, random_.Between(1, 3000));
    OffPageValue stored{.base = Store(value)};
    if (random_.OneIn(2)) stored.patch = Store(Change(&value));
    if (random_.OneIn(2)) stored.recent = Change(&value);
    Value reference;
    AppendReference(stored, &reference);
    Value read;
    ASSERT_TRUE(Assemble(LoadReference(reference), &read).ok());
    ASSERT_EQ(read, value);
    std::vector<BlobRef> blobs;
    AppendBlobsOf(stored, &blobs);
    ASSERT_EQ(blobs.size(), stored.has_patch() ? 2u : 1u);
  }
}

TEST_F(PartialChangesTest, ChangesThatDoNotFitAreDamageAndErrorsOfReadingAreThose) {
  Value value = RandomBytes(&random_, 500);
  OffPageValue stored{.base = Store(value)};
  stored.patch = Store(Change(&value));
  stored.recent = Change(&value);
  Value read;
  for (const PageNumber lost : {stored.base.first_page, stored.patch.first_page}) {
    lost_ = lost;
    EXPECT_TRUE(Assemble(stored, &read).Is(Code::kIoError));
  }
  lost_ = kNoPage;
  OffPageValue cut = stored;
  cut.recent.pop_back();
  EXPECT_TRUE(Assemble(cut, &read).Is(Code::kCorrupt));
  OffPageValue shorter = stored;
  shorter.base = Store(Value(3));
  EXPECT_TRUE(Assemble(shorter, &read).Is(Code::kCorrupt));
}

// Whatever a list has become, nothing outside of the value is touched.
TEST_F(PartialChangesTest, AListWithAByteChangedIsRefusedOrStaysWithinTheValue) {
  Value value = RandomBytes(&random_, 300);
  Value changes = Change(&value);
  ForEachChangedByte(changes, &random_, [&](size_t) {
    Value guarded(value.size() + 64, std::byte{0x77});
    const bool applied = ApplyChanges(changes, MutableBytes(guarded).subspan(32, value.size()));
    ByteRanges ranges;
    EXPECT_EQ(AppendRangesOf(changes, value.size(), &ranges), applied);
    for (size_t i = 0; i < 32; ++i) {
      ASSERT_EQ(guarded[i], std::byte{0x77});
      ASSERT_EQ(guarded[guarded.size() - 1 - i], std::byte{0x77});
    }
  });
}

TEST_F(PartialChangesTest, ValuesAreTheSameIfTheirBlobsAndChangesAre) {
  const OffPageValue value{Store(Value(9)), Store(Value(9)), RandomBytes(&random_, 4)};
  EXPECT_TRUE(SameValue(value, value));
  for (const int what : {0, 1, 2, 3}) {
    OffPageValue other = value;
    if (what == 0) other.base.first_page = PageNumber(99);
    if (what == 1) other.base.birth ^= 1;
    if (what == 2) other.patch.space = SpaceId(21);
    if (what == 3) other.recent.push_back(std::byte{0});
    EXPECT_FALSE(SameValue(value, other)) << what;
  }
}

}  // namespace
}  // namespace rowan
