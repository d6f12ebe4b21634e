// SPDX-License-Identifier: GPL-2.0-only
// StoredValues: off-page values in the space of a SpaceFixture and what they must be: a model that
// an instance is compared with after a crash, a restore or a repair. A plain value: a copy is what
// the instance had at that time. Thread safety: none.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "space/blob_page.h"
#include "space/blob_store.h"
#include "tests/space/space_fixture.h"

namespace rowan {

class StoredValues {
 public:
  /// Writes a value of up to four pages, or frees one.
  void Change(SpaceFixture* world, Random* random) {
    if (random->OneIn(3) && !values_.empty()) {
      const auto gone =
          std::next(values_.begin(), static_cast<ptrdiff_t>(random->Below(values_.size())));
      ASSERT_TRUE(world->storage().blobs()->Free(gone->second.ref).ok());
      values_.erase(gone);
      return;
    }
    std::string text(random->Below(4 * world->page_size()), '\0');
    for (char& letter : text) letter = static_cast<char>(random->Next());
    Result<BlobRef> ref = world->storage().blobs()->Write(
        SpaceFixture::kSpace, AsBytes(text), [](MiniTxn*, const BlobRef&) { return Status::Ok(); });
    ASSERT_TRUE(ref.ok()) << ref.status().message();
    values_[++written_] = {*ref, std::move(text)};
  }
  void ChangeSome(SpaceFixture* world, Random* random, int times) {
    for (; times > 0; --times) ASSERT_NO_FATAL_FAILURE(Change(world, random));
  }
  /// Each value is there, and no page is in use for anything else.
  void ExpectIn(SpaceFixture* world) const {
    const size_t capacity = BlobPageCapacity(world->page_size());
    size_t pages = kOwnPages;
    for (const auto& [number, value] : values_) {
      std::string read(value.text.size(), '\0');
      const MutableBytes target(reinterpret_cast<std::byte*>(read.data()), read.size());
      const Status status = world->storage().blobs()->Read(value.ref, 0, target);
      ASSERT_TRUE(status.ok()) << status.message() << ", value " << number;
      ASSERT_TRUE(read == value.text) << "value " << number;
      pages += std::max<size_t>(1, (value.text.size() + capacity - 1) / capacity);
    }
    EXPECT_EQ(world->allocator().CheckSpace(SpaceFixture::kSpace).value(), pages);
  }
  /// A page that a value begins on. REQUIRES: there is one.
  [[nodiscard]] PageId SomePage() const {
    return {SpaceFixture::kSpace, values_.begin()->second.ref.first_page};
  }
  [[nodiscard]] bool empty() const { return values_.empty(); }

 private:
  static constexpr size_t kOwnPages = 2;  ///< of the space: its header and its bitmap
  struct Value {
    BlobRef ref;
    std::string text;
  };
  std::map<uint64_t, Value> values_;  ///< by when they were written
  uint64_t written_ = 0;
};

}  // namespace rowan
