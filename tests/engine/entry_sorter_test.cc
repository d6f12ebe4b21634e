// SPDX-License-Identifier: GPL-2.0-only
// Sorting entries in memory and over runs of a file.
#include "engine/sort/entry_sorter.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/format.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/test_settings.h"

namespace rowan::entry_sorter_test {
namespace {

using Model = std::multimap<std::string, std::pair<std::string, uint32_t>>;

constexpr char kFolder[] = "data";

/// Keys of all lengths that often share their first eight bytes.
std::string RandomKey(Random* random) {
  std::string key = random->OneIn(2) ? "prefixed" : "";
  const uint64_t length = random->Below(30);
  for (uint64_t i = 0; i < length; ++i) key.push_back(static_cast<char>(random->Below(256)));
  return key;
}

Model Fill(EntrySorter* sorter, Random* random, uint64_t count, uint32_t lanes = 1) {
  Model model;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string key = RandomKey(random);
    const std::string payload(random->Below(50), static_cast<char>('a' + i % 26));
    const auto unique = static_cast<uint32_t>(random->Below(key.size() + 1));
    const auto lane = static_cast<uint32_t>(random->Below(lanes));
    EXPECT_TRUE(sorter->Add({0, AsBytes(key), AsBytes(payload), unique}, lane).ok());
    model.emplace(key, std::make_pair(payload, unique));
  }
  return model;
}

/// Everything comes out once, in order; entries of equal keys in any order.
void ExpectSorted(EntrySorter* sorter, Model model) {
  ASSERT_TRUE(sorter->StartReading().ok());
  IndexEntry entry;
  std::string last;
  while (!model.empty()) {
    Result<bool> more = sorter->Next(&entry);
    ASSERT_TRUE(more.ok());
    ASSERT_TRUE(*more) << model.size() << " entries are missing";
    const std::string key(AsText(entry.key));
    ASSERT_LE(last, key);
    last = key;
    const auto wanted =
        std::make_pair(std::string(AsText(entry.payload)), entry.unique_prefix_bytes);
    auto [first, end] = model.equal_range(key);
    while (first != end && first->second != wanted) ++first;
    ASSERT_NE(first, end) << "an entry that was not added, or added less often";
    model.erase(first);
  }
  ASSERT_FALSE(sorter->Next(&entry).value());
  ASSERT_FALSE(sorter->Next(&entry).value());
}

class EntrySorterTest : public ::testing::Test {
 protected:
  EntrySorterTest() : files_(TestSeed()) { EXPECT_TRUE(files_.CreateFolder(kFolder).ok()); }
  FaultFileSystem files_;
  Random random_{TestSeed()};
};

TEST_F(EntrySorterTest, NothingComesOutOfNothing) {
  EntrySorter sorter(&files_, kFolder, "1", 1 << 20);
  ExpectSorted(&sorter, {});
}

TEST_F(EntrySorterTest, WhatFitsInMemoryWritesNoFile) {
  EntrySorter sorter(&files_, kFolder, "1", 1 << 20);
  ExpectSorted(&sorter, Fill(&sorter, &random_, 3000));
  EXPECT_EQ(sorter.runs(), 0U);
  EXPECT_TRUE(files_.List(kFolder).value().empty());
}

TEST_F(EntrySorterTest, RunsAreMergedAndTheFileGoes) {
  {
    EntrySorter sorter(&files_, kFolder, "1", 20000);
    ExpectSorted(&sorter, Fill(&sorter, &random_, 20000));
    EXPECT_GT(sorter.runs(), 50U);
    EXPECT_EQ(files_.List(kFolder).value().size(), 1U);
  }
  EXPECT_TRUE(files_.List(kFolder).value().empty());
}

TEST_F(EntrySorterTest, LanesAreMergedWhetherTheyFitInMemoryOrNot) {
  for (const uint64_t count : {0, 3, 100, 20000}) {
    const uint32_t lanes = 2 + static_cast<uint32_t>(random_.Below(6));
    {
      EntrySorter sorter(&files_, kFolder, "1", 60000, lanes);
      // One lane has few entries or none, which stay in memory beside the others' runs.
      Model model = Fill(&sorter, &random_, count, lanes - 1);
      for (const char letter : {'a', 'z'}) {
        if (random_.OneIn(2)) continue;
        const std::string key(random_.Below(20), letter);
        ASSERT_TRUE(sorter.Add({.key = AsBytes(key)}, lanes - 1).ok());
        model.emplace(key, std::make_pair(std::string(), 0));
      }
      for (uint32_t lane = 0; lane < lanes; ++lane) {
        if (random_.OneIn(2)) {
          ASSERT_TRUE(sorter.FinishLane(lane).ok());
        }
      }
      EXPECT_EQ(sorter.entries(), model.size());
      ExpectSorted(&sorter, model);
      EXPECT_EQ(files_.List(kFolder).value().size(), count == 20000 ? lanes - 1 : 0);
    }
    EXPECT_TRUE(files_.List(kFolder).value().empty());
  }
}

TEST_F(EntrySorterTest, LanesShareTheMemory) {
  uint64_t runs[2];
  for (const uint32_t lanes : {1U, 4U}) {
    EntrySorter sorter(&files_, kFolder, "1", 100000, lanes);
    ExpectSorted(&sorter, Fill(&sorter, &random_, 30000, lanes));
    runs[lanes / 4] = sorter.runs();
  }
  EXPECT_GT(runs[1], 3 * runs[0]);  // each of a fourth of the size
}

TEST_F(EntrySorterTest, AnEntryLargerThanTheMemoryIsARunOfItsOwn) {
  EntrySorter sorter(&files_, kFolder, "1", 100);
  Model model;
  for (const char letter : {'c', 'a', 'b'}) {
    const std::string key(5000, letter);
    ASSERT_TRUE(sorter.Add({.key = AsBytes(key)}).ok());
    model.emplace(key, std::make_pair(std::string(), 0));
  }
  ExpectSorted(&sorter, model);
}

TEST_F(EntrySorterTest, LeftoversAreRemovedAndOtherFilesStay) {
  for (const char* name : {"rowan.sort_7", "rowan.sort_7_lane1", "space_7.rws"}) {
    ASSERT_TRUE(files_.Open(std::string(kFolder) + "/" + name, {.create = true}).ok());
  }
  ASSERT_TRUE(EntrySorter::RemoveLeftovers(&files_, kFolder).ok());
  EXPECT_EQ(files_.List(kFolder).value(), std::vector<std::string>{"space_7.rws"});
}

TEST_F(EntrySorterTest, AFullDiskIsReported) {
  EntrySorter sorter(&files_, kFolder, "1", 2000);
  files_.Inject({.call = FileCall::kWrite, .lasting = true, .code = Code::kNoSpace});
  Status status;
  for (int i = 0; status.ok() && i < 1000; ++i) {
    const std::string key = Format("{:050}", i);
    status = sorter.Add({.key = AsBytes(key)});
  }
  EXPECT_TRUE(status.Is(Code::kNoSpace));
}

}  // namespace
}  // namespace rowan::entry_sorter_test
