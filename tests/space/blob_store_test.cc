// SPDX-License-Identifier: GPL-2.0-only
// Off-page values of every size: written, read in pieces, freed, freed again; with power cuts
// between and with pages that have found other owners.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "space/blob_page.h"
#include "space/blob_store.h"
#include "tests/space/space_fixture.h"

namespace rowan::blob_store_test {
namespace {

constexpr SpaceId kSpace = SpaceFixture::kSpace;

std::string MakeValue(size_t size, uint64_t seed) {
  Random random(seed);
  std::string value(size, '\0');
  for (char& c : value) c = static_cast<char>(random.Next());
  return value;
}

class BlobTest : public testing::Test {
 protected:
  BlobTest() : file_system_(TestSeed()), fixture_(&file_system_, {}) {
    EXPECT_TRUE(fixture_.Create().ok());
    Reset();
  }
  void Reset() { store_ = std::make_unique<BlobStore>(&fixture_.allocator()); }
  uint32_t UsedPages() { return fixture_.allocator().CheckSpace(kSpace).value(); }
  void ExpectValue(const BlobRef& ref, const std::string& value) {
    std::string read(value.size(), '\0');
    const MutableBytes target(reinterpret_cast<std::byte*>(read.data()), read.size());
    ASSERT_TRUE(store_->Read(ref, 0, target).ok());
    ASSERT_TRUE(read == value);
    ASSERT_TRUE(store_->Check(ref).ok());
  }

  FaultFileSystem file_system_;
  SpaceFixture fixture_;
  std::unique_ptr<BlobStore> store_;
};

TEST_F(BlobTest, ValuesOfAllSizesComeBackAndLeaveNoPages) {
  const size_t capacity = BlobPageCapacity(TestPageSizeBytes());
  const uint32_t before = UsedPages();
  for (const size_t size :
       {size_t{0}, size_t{1}, capacity - 1, capacity, capacity + 1, capacity * 5 + 17}) {
    SCOPED_TRACE(size);
    const std::string value = MakeValue(size, size);
    int undo_calls = 0;
    BlobRef logged;
    Result<BlobRef> ref = store_->Write(kSpace, AsBytes(value), [&](MiniTxn*, const BlobRef& r) {
      ++undo_calls;
      logged = r;
      return Status::Ok();
    });
    ASSERT_TRUE(ref.ok());
    EXPECT_EQ(undo_calls, 1);
    EXPECT_EQ(logged.first_page, ref->first_page);
    std::byte stored[kBlobRefBytes];
    StoreBlobRef(stored, *ref);
    const BlobRef loaded = LoadBlobRef(stored);
    ExpectValue(loaded, value);
    if (size > 10) {
      std::byte part[5];
      ASSERT_TRUE(store_->Read(*ref, size - 7, part).ok());
      EXPECT_EQ(AsText(part), value.substr(size - 7, 5));
      EXPECT_TRUE(store_->Read(*ref, size - 4, part).Is(Code::kInvalidArgument));
    }
    ASSERT_TRUE(store_->Free(loaded).ok());
    EXPECT_EQ(UsedPages(), before);
    EXPECT_TRUE(store_->Free(loaded).ok()) << "freeing again does no harm";
  }
}

TEST_F(BlobTest, FreeingAgainSparesTheNextOwnerOfThePages) {
  const std::string value = MakeValue(3 * TestPageSizeBytes(), 1);
  Result<BlobRef> first = store_->Write(kSpace, AsBytes(value), {});
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(store_->Free(*first).ok());
  Result<BlobRef> second = store_->Write(kSpace, AsBytes(value), {});
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(first->first_page, second->first_page);
  ASSERT_TRUE(store_->Free(*first).ok());
  ExpectValue(*second, value);
}

TEST_F(BlobTest, AValueThatMayBeGoneIsReadOnlyWhileItIsThere) {
  const std::string value = MakeValue(3 * TestPageSizeBytes(), 1);
  Result<BlobRef> first = store_->Write(kSpace, AsBytes(value), {});
  ASSERT_TRUE(first.ok());
  std::string read(value.size(), '\0');
  const MutableBytes target(reinterpret_cast<std::byte*>(read.data()), read.size());
  ASSERT_TRUE(store_->TryRead(*first, target).ok());
  EXPECT_TRUE(read == value);
  ASSERT_TRUE(store_->Free(*first).ok());
  EXPECT_TRUE(store_->TryRead(*first, target).Is(Code::kNotFound));
  Result<BlobRef> second = store_->Write(kSpace, AsBytes(value), {});
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(store_->TryRead(*first, target).Is(Code::kNotFound));
  EXPECT_TRUE(store_->Read(*first, 0, target).Is(Code::kCorrupt));
}

TEST_F(BlobTest, AFailingUndoRecordLeavesNothing) {
  const uint32_t before = UsedPages();
  Result<BlobRef> ref = store_->Write(kSpace, AsBytes(MakeValue(100, 1)),
                                      [](MiniTxn*, BlobRef) { return Status(Code::kIoError); });
  EXPECT_TRUE(ref.status().Is(Code::kIoError));
  EXPECT_EQ(UsedPages(), before);
}

TEST_F(BlobTest, HalfWrittenAndHalfFreedValuesAreFreedAfterACrash) {
  Random random(TestSeed());
  const uint32_t before = UsedPages();
  ASSERT_TRUE(fixture_.pool().FlushAndCheckpoint().ok());
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE(file_system_.Describe());
    const std::string value = MakeValue(8 * TestPageSizeBytes(), static_cast<uint64_t>(round));
    BlobRef ref;
    const auto remember = [&ref](MiniTxn*, const BlobRef& r) {
      ref = r;
      return Status::Ok();
    };
    if (random.OneIn(2)) {
      // Cut off while it is freed.
      ASSERT_TRUE(store_->Write(kSpace, AsBytes(value), remember).ok());
      ASSERT_TRUE(fixture_.log().WaitDurable(fixture_.log().tail()).ok());
      file_system_.PowerOffAfter(random.Below(3));
      store_->Free(ref).Ignore();  // whatever comes of it
    } else {
      file_system_.PowerOffAfter(random.Below(3));
      store_->Write(kSpace, AsBytes(value), remember).status().Ignore();
    }
    fixture_.log().WaitDurable(fixture_.log().tail()).Ignore();
    fixture_.Kill();
    file_system_.Crash(random.Next());
    const Status started = fixture_.Start();
    ASSERT_TRUE(started.ok()) << started.message();
    Reset();
    // What rollback or purge would do with the undo record, if that survived.
    if (ref.first_page != kNoPage) {
      ASSERT_TRUE(store_->Free(ref).ok());
    }
    ASSERT_EQ(UsedPages(), before);
    ASSERT_TRUE(fixture_.log().WaitDurable(fixture_.log().tail()).ok());
  }
}

}  // namespace
}  // namespace rowan::blob_store_test
