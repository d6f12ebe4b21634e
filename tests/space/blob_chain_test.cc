// SPDX-License-Identifier: GPL-2.0-only
// Chains of off-page values: records and pages with any one byte changed, interruptions, budgets,
// and readers beside a writer.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "space/blob_page.h"
#include "space/blob_store.h"
#include "tests/space/space_fixture.h"
#include "tests/support/changed_bytes.h"
#include "tests/support/log_capture.h"

namespace rowan::blob_chain_test {
namespace {

constexpr SpaceId kSpace = SpaceFixture::kSpace;

class BlobChainTest : public testing::Test {
 protected:
  BlobChainTest() { EXPECT_TRUE(world_.Create().ok()); }
  BlobStore& store() { return *world_.storage().blobs(); }
  BlobRef Write(Bytes value) {
    const Result<BlobRef> ref = store().Write(kSpace, value, {});
    EXPECT_TRUE(ref.ok());
    return ref.ok() ? ref.value() : BlobRef{};
  }
  std::vector<PageNumber> PagesOf(const BlobRef& ref) {
    std::vector<PageNumber> pages;
    EXPECT_TRUE(store()
                    .VisitPages(ref,
                                [&](PageNumber page) {
                                  pages.push_back(page);
                                  return true;
                                })
                    .ok());
    return pages;
  }
  uint32_t UsedPages() { return world_.allocator().CheckSpace(kSpace).value(); }
  [[nodiscard]] size_t Capacity() const { return BlobPageCapacity(world_.page_size()); }

  FaultFileSystem files_{TestSeed()};
  SpaceFixture world_{&files_, {}};
  Random random_{TestSeed()};
};

TEST_F(BlobChainTest, ARecordFillsAPageOrIsRefused) {
  const PageId id{kSpace, PageNumber(9)};
  std::vector<std::byte> page(world_.page_size());
  for (const size_t size : {size_t{0}, size_t{1}, Capacity(), Capacity() + 1}) {
    std::vector<std::byte> body = RandomBytes(&random_, blob_layout::kRecordHeader + size);
    StoreLe<uint32_t>(body.data() + 8, static_cast<uint32_t>(size));
    ASSERT_EQ(LoadBlobPageRecord(page, id, body), size <= Capacity());
    if (size > Capacity()) continue;
    const BlobPageView view(page);
    EXPECT_TRUE(view.Is(LoadLe<uint32_t>(body.data()), LoadLe<uint32_t>(body.data() + 4)));
    EXPECT_EQ(view.whole_size(), LoadLe<uint32_t>(body.data() + 12));
    EXPECT_TRUE(EqualBytes(view.data(), Bytes(body).subspan(blob_layout::kRecordHeader)));
    EXPECT_EQ(view.next(), kNoPage);
    EXPECT_EQ(PageIdOf(page.data()), id);
    StoreLe<uint32_t>(body.data() + 8, static_cast<uint32_t>(size + 1));
    EXPECT_FALSE(LoadBlobPageRecord(page, id, body)) << "says that it has more";
    EXPECT_FALSE(LoadBlobPageRecord(page, id, Bytes(body).first(blob_layout::kRecordHeader - 1)));
  }
}

TEST_F(BlobChainTest, AnyFieldOfAPageThatIsAnotherIsDamage) {
  const std::vector<std::byte> value = RandomBytes(&random_, 2 * Capacity() + 7);
  const BlobRef ref = Write(value);
  const std::vector<PageNumber> pages = PagesOf(ref);
  ASSERT_EQ(pages.size(), 3u);
  std::vector<std::byte> read(value.size());
  for (const PageNumber page : pages) {
    for (const size_t field : {blob_layout::kNext, blob_layout::kBirth, blob_layout::kPosition,
                               blob_layout::kBytesHere}) {
      const auto flip = [&] {
        Result<PageGuard> guard = world_.pool().Fix({kSpace, page}, LatchMode::kExclusive);
        ASSERT_TRUE(guard.ok());
        const_cast<std::byte*>(guard->page())[field] ^= std::byte{0x40};
      };
      SCOPED_TRACE(testing::Message() << "page " << page.value() << ", field " << field);
      const LogCapture quiet;
      ASSERT_NO_FATAL_FAILURE(flip());
      EXPECT_TRUE(store().Check(ref).Is(Code::kCorrupt));
      // A link behind the last page is nothing that a reader follows.
      if (page != pages.back() || field != blob_layout::kNext) {
        EXPECT_FALSE(store().Read(ref, 0, read).ok());
        EXPECT_TRUE(store().TryRead(ref, read).Is(Code::kNotFound));
      }
      ASSERT_NO_FATAL_FAILURE(flip());
    }
  }
  ASSERT_TRUE(store().Read(ref, 0, read).ok());
  EXPECT_EQ(read, value);
}

TEST_F(BlobChainTest, AnInterruptedWriteIsAPartThatCanBeFreed) {
  const uint32_t before = UsedPages();
  const std::vector<std::byte> value = RandomBytes(&random_, 5 * Capacity());
  std::atomic<bool> interrupted{false};
  BlobRef part;
  const auto note = [&](MiniTxn*, const BlobRef& ref) {
    part = ref;
    interrupted = true;
    return Status::Ok();
  };
  EXPECT_TRUE(store().Write(kSpace, value, note, &interrupted).status().Is(Code::kInterrupted));
  EXPECT_EQ(UsedPages(), before + 1);
  std::vector<std::byte> read(value.size());
  EXPECT_TRUE(store().Read(part, 0, read, &interrupted).Is(Code::kInterrupted));
  ASSERT_TRUE(store().Free(part).ok());
  EXPECT_EQ(UsedPages(), before);
}

TEST_F(BlobChainTest, FreeingInSmallStepsFreesEachPageOnce) {
  const uint32_t before = UsedPages();
  const BlobRef ref = Write(RandomBytes(&random_, 9 * Capacity()));
  for (uint32_t left = 9; left > 1;) {
    const uint64_t steps = random_.Between(0, 3);
    WorkBudget budget(steps);
    const Status status = store().Free(ref, &budget);
    const uint32_t freed = std::min<uint32_t>(left, static_cast<uint32_t>(steps) + 1);
    left -= freed;
    EXPECT_TRUE(left == 0 ? status.ok() : status.Is(Code::kBusy));
    ASSERT_EQ(UsedPages(), before + left);
    ASSERT_EQ(PagesOf(ref).size(), left);
  }
  ASSERT_TRUE(store().Free(ref).ok());
  EXPECT_EQ(UsedPages(), before);
}

// As purge does after a crash. On disk the page may still have the value, or nothing at all.
TEST_F(BlobChainTest, FreeingAgainBesideLaterOwnersOfThePageChangesNothing) {
  for (const bool written : {false, true}) {
    SCOPED_TRACE(written ? "the value is on disk" : "the page was never written");
    const BlobRef freed = Write(RandomBytes(&random_, 2 * Capacity()));
    if (written) {
      ASSERT_TRUE(world_.pool().FlushAndCheckpoint().ok());
    }
    ASSERT_TRUE(store().Free(freed).ok());
    const uint32_t before = UsedPages();
    std::atomic<bool> stop{false};
    std::thread purge([&] {
      while (!stop) EXPECT_TRUE(store().Free(freed).ok());
    });
    const std::vector<std::byte> value = RandomBytes(&random_, 2 * Capacity());
    for (int round = 0; round < 3000 && !HasFailure(); ++round) {
      const BlobRef other = Write(value);
      EXPECT_EQ(other.first_page, freed.first_page) << "the test needs the same page";
      EXPECT_TRUE(store().Free(other).ok());
    }
    stop = true;
    purge.join();
    EXPECT_EQ(UsedPages(), before);
  }
}

// What TryRead brings is the whole of a value that was there.
TEST_F(BlobChainTest, ReadersBesideAWriterSeeWholeValuesOrNone) {
  const size_t size = 3 * Capacity();
  BlobRef refs[3];
  std::mutex mutex;  // of refs
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> seen{0};
  std::thread reader([&] {
    std::vector<std::byte> read(size);
    for (uint64_t i = 0; !stop; ++i) {
      BlobRef ref;
      {
        const std::lock_guard lock(mutex);
        ref = refs[i % 3];
      }
      if (ref.first_page == kNoPage || !store().TryRead(ref, read).ok()) continue;
      ++seen;
      if (std::count(read.begin(), read.end(), read.front()) != static_cast<ptrdiff_t>(size)) {
        ADD_FAILURE() << "parts of two values";
      }
    }
  });
  for (int round = 0; round < 150 || (seen == 0 && round < 5000); ++round) {
    const std::vector<std::byte> value(size, static_cast<std::byte>(round));
    const BlobRef ref = Write(value);
    BlobRef old;
    {
      const std::lock_guard lock(mutex);
      old = std::exchange(refs[round % 3], ref);
    }
    ASSERT_TRUE(old.first_page == kNoPage || store().Free(old).ok());
  }
  stop = true;
  reader.join();
  EXPECT_GT(seen, 0u);
}

}  // namespace
}  // namespace rowan::blob_chain_test
