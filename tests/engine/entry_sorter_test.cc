// SPDX-License-Identifier: GPL-2.0-only
// Sorting entries in memory and over runs of a file.
#include "engine/entry_sorter.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/format.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/test_settings.h"

namespace rowan {
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

Model Fill(EntrySorter* sorter, Random* random, uint64_t count) {
  Model model;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string key = RandomKey(random);
    const std::string payload(random->Below(50), static_cast<char>('a' + i % 26));
    const auto unique = static_cast<uint32_t>(random->Below(key.size() + 1));
    EXPECT_TRUE(sorter->Add({0, AsBytes(key), AsBytes(payload), unique}).ok());
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
  for (const char* name : {"rowan.sort_7", "rowan.sort_8", "space_7.rws"}) {
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
}  // namespace rowan
