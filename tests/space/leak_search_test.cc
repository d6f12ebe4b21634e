// SPDX-License-Identifier: GPL-2.0-only
// Pages that walks meet twice, among walks beside which others wrote.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "space/blob_store.h"
#include "space/leak_search.h"
#include "tests/space/space_fixture.h"
#include "tests/support/log_capture.h"

namespace rowan::leak_search_test {
namespace {

constexpr SpaceId kSpace = SpaceFixture::kSpace;

class LeakSearchTest : public testing::Test {
 protected:
  LeakSearchTest() : file_system_(TestSeed()), fixture_(&file_system_, {}) {
    EXPECT_TRUE(fixture_.Create().ok());
    BlobStore store(&fixture_.allocator());
    const std::string value(size_t{3} * TestPageSizeBytes(), 'v');
    Result<BlobRef> ref =
        store.Write(kSpace, AsBytes(value), [](MiniTxn*, const BlobRef&) { return Status::Ok(); });
    EXPECT_TRUE(ref.ok());
    const auto note = [&](PageNumber page) {
      pages_.push_back(page);
      return true;
    };
    EXPECT_TRUE(store.VisitPages(*ref, note).ok());
  }

  /// A walk that passes over the last page.
  Status SearchWithout(bool quiet_walk) {
    LeakSearch search(&fixture_.allocator(), kSpace);
    return search.Run([&](LeakSearch::PageVisit reach, bool* quiet) {
      *quiet = quiet_walk;
      for (const PageNumber page : pages_) {
        if (page != pages_.back()) reach(page);
      }
      return Status::Ok();
    });
  }
  /// A walk for each entry, the last one repeated: was it quiet?
  Status Search(const std::vector<bool>& quiet_walks, bool meets_twice) {
    walks_ = 0;
    LeakSearch search(&fixture_.allocator(), kSpace);
    return search.Run([&](LeakSearch::PageVisit reach, bool* quiet) {
      *quiet = quiet_walks[std::min(walks_++, quiet_walks.size() - 1)];
      for (const PageNumber page : pages_) reach(page);
      if (meets_twice) reach(pages_.back());
      return Status::Ok();
    });
  }

  FaultFileSystem file_system_;
  SpaceFixture fixture_;
  std::vector<PageNumber> pages_;
  size_t walks_ = 0;
};

TEST_F(LeakSearchTest, WhatIsMetOnceIsRightAtOnce) {
  EXPECT_TRUE(Search({false}, false).ok());
  EXPECT_EQ(walks_, 1u);
}

TEST_F(LeakSearchTest, APageMetTwiceIsFoundThoughSomeWalksWereDisturbed) {
  for (const std::vector<bool>& quiet : std::vector<std::vector<bool>>{
           {true}, {false, true}, {true, false, true}, {false, false, false, true}}) {
    const Status found = Search(quiet, true);
    EXPECT_TRUE(found.Is(Code::kCorrupt));
    EXPECT_EQ(found.detail(), pages_.back().value());
  }
}

TEST_F(LeakSearchTest, NobodyIsBlamedForWhatOnlyDisturbedWalksMet) {
  EXPECT_TRUE(Search({false}, true).ok());
  EXPECT_TRUE(Search({true, false}, true).ok());
}

TEST_F(LeakSearchTest, APageThatNobodyHasIsFoundByName) {
  const LogCapture log;
  const Status found = SearchWithout(true);
  EXPECT_TRUE(found.Is(Code::kCorrupt));
  EXPECT_EQ(found.detail(), pages_.back().value());
  EXPECT_TRUE(log.Has("nothing refers to it")) << log.Text();
}

TEST_F(LeakSearchTest, APageThatOnlyAnOldVersionMayHaveIsLeftAloneUnlessItWasQuiet) {
  EXPECT_TRUE(SearchWithout(false).ok());
}

TEST_F(LeakSearchTest, APageThatIsTakenOrFreedMeanwhileIsNotLost) {
  BlobStore store(&fixture_.allocator());
  LeakSearch search(&fixture_.allocator(), kSpace);
  Result<BlobRef> passing = store.Write(kSpace, AsBytes("v"), {});
  ASSERT_TRUE(passing.ok());
  const Status status = search.Run([&](LeakSearch::PageVisit reach, bool* quiet) {
    *quiet = true;
    for (const PageNumber page : pages_) reach(page);
    EXPECT_TRUE(store.Free(*passing).ok());  // in use at first
    passing = store.Write(kSpace, AsBytes("v"), {});
    EXPECT_TRUE(store.Free(*passing).ok());
    return Status::Ok();
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(LeakSearchTest, AWalkThatFailsIsItsError) {
  LeakSearch search(&fixture_.allocator(), kSpace);
  const Status failed =
      search.Run([](LeakSearch::PageVisit, bool*) { return Status(Code::kInterrupted); });
  EXPECT_TRUE(failed.Is(Code::kInterrupted));
}

}  // namespace
}  // namespace rowan::leak_search_test
