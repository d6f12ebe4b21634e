// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/stored_values.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace rowan::stored_values_test {
namespace {

using Place = PlacedValue::Place;

/// A row with one null byte and two fixed ones, put together piece by piece.
class StoredRow {
 public:
  static constexpr RowShape kShape{.null_bytes = 1, .fixed_bytes = 2};

  StoredRow() : bytes_(BytesBeforeVariable(kShape)) {}

  StoredRow& Shared(const BlobRef& ref) {
    bytes_[0] |= kSharedBlobBit;
    bytes_.resize(bytes_.size() + kBlobRefBytes);
    StoreBlobRef(bytes_.data() + bytes_.size() - kBlobRefBytes, ref);
    return *this;
  }
  StoredRow& InRow(std::string_view value) { return Add(value.size() << 1, AsBytes(value)); }
  StoredRow& OffPage(const OffPageValue& value) {
    ByteBuffer reference;
    AppendReference(value, &reference);
    return Add(reference.size() << 1 | 1, reference);
  }
  StoredRow& InShared() { return Add(1, {}); }
  StoredRow& Add(uint64_t header, Bytes value) {
    std::byte varint[kVarintBytesMax];
    bytes_.insert(bytes_.end(), varint, PutVarint(varint, header));
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    return *this;
  }

  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] VariableReader Reader() const { return {kShape, bytes_}; }

 private:
  ByteBuffer bytes_;
};

BlobRef Blob(uint32_t page) { return {SpaceId{1}, PageNumber{page}, 5, 7}; }

/// Blobs by their first page.
class Blobs : public RowCodec::BlobReader {
 public:
  Result<Bytes> Read(const OffPageValue& value, uint32_t column) override {
    ++reads;
    last_column = column;
    const auto found = texts.find(value.base.first_page);
    if (found == texts.end()) return Status(Code::kIoError, "gone");
    return AsBytes(found->second);
  }

  std::map<PageNumber, std::string> texts;
  int reads = 0;
  uint32_t last_column = 0;
};

TEST(StoredValuesTest, ValuesAreReadInTheirOrder) {
  const StoredRow row =
      StoredRow().Shared(Blob(3)).InRow("one").InShared().OffPage({.base = Blob(4)}).InRow("");
  VariableReader reader = row.Reader();
  Bytes value;
  Place place{};
  ASSERT_TRUE(reader.Next(&value, &place));
  EXPECT_EQ(AsText(value), "one");
  EXPECT_EQ(place, Place::kInRow);
  ASSERT_TRUE(reader.Next(&value, &place));
  EXPECT_EQ(place, Place::kSharedBlob);
  ASSERT_TRUE(reader.Next(&value, &place));
  EXPECT_EQ(place, Place::kOwnBlob);
  EXPECT_TRUE(SameBlob(LoadReference(value).base, Blob(4)));
  ASSERT_TRUE(reader.Next(&value, &place));
  EXPECT_EQ(place, Place::kInRow);
  EXPECT_TRUE(value.empty());
  EXPECT_FALSE(reader.Next(&value, &place));  // the row ends here
}

TEST(StoredValuesTest, TheShortWayReadsWhatNextReads) {
  for (const size_t size : {0, 1, 63, 64, 8191}) {
    const std::string text(size, 'x');
    const StoredRow row = StoredRow().InRow(text).InRow("behind");
    VariableReader reader = row.Reader();
    Bytes value;
    ASSERT_TRUE(reader.TryNextShort(&value)) << size;
    EXPECT_EQ(AsText(value), text);
    ASSERT_TRUE(reader.TryNextShort(&value));
    EXPECT_EQ(AsText(value), "behind");
  }
}

TEST(StoredValuesTest, TheShortWayLeavesTheRestToNext) {
  const std::string text(8192, 'x');
  for (const StoredRow& row : {StoredRow().InRow(text), StoredRow().OffPage({.base = Blob(4)}),
                               StoredRow().Shared(Blob(3)).InShared()}) {
    VariableReader reader = row.Reader();
    Bytes value;
    Place place{};
    EXPECT_FALSE(reader.TryNextShort(&value));
    EXPECT_TRUE(reader.Next(&value, &place));
  }
}

TEST(StoredValuesTest, MalformedValuesAreRefused) {
  const std::byte three[3]{};
  const StoredRow rows[] = {
      StoredRow(),
      StoredRow().Add(0x80, {}),           // the length has an end elsewhere
      StoredRow().Add(4 << 1, three),      // longer than the row
      StoredRow().Add(3 << 1 | 1, three),  // too short for a reference
      StoredRow().InShared(),              // without a shared blob
  };
  for (const StoredRow& row : rows) {
    Bytes value;
    Place place{};
    EXPECT_FALSE(row.Reader().Next(&value, &place)) << row.bytes().size();
  }
}

TEST(StoredValuesTest, TheSharedBlobIsReadOnceAndOnlyWhenWanted) {
  const StoredRow row = StoredRow().Shared(Blob(3)).InShared().InShared().InShared();
  Blobs blobs;
  blobs.texts[PageNumber{3}] = std::string("\3one\0\5three", 11);
  SharedBlob shared(StoredRow::kShape, row.bytes(), &blobs);
  Bytes value;
  shared.Skip();
  EXPECT_EQ(blobs.reads, 0);
  ASSERT_TRUE(shared.Next(&value).ok());
  EXPECT_TRUE(value.empty());
  ASSERT_TRUE(shared.Next(&value).ok());
  EXPECT_EQ(AsText(value), "three");
  EXPECT_EQ(blobs.reads, 1);
  EXPECT_EQ(blobs.last_column, kSharedColumn);
  EXPECT_TRUE(shared.Next(&value).Is(Code::kCorrupt));  // there are three
}

TEST(StoredValuesTest, AValueIsFetchedFromWhereItStands) {
  const StoredRow row = StoredRow().Shared(Blob(3)).InShared().OffPage({.base = Blob(4)});
  Blobs blobs;
  blobs.texts = {{PageNumber{3}, "\6shared"}, {PageNumber{4}, "own"}};
  SharedBlob shared(StoredRow::kShape, row.bytes(), &blobs);
  VariableReader reader = row.Reader();
  std::vector<std::string> fetched;
  Bytes value;
  ValuePlace at;
  for (at.column = 8; reader.Next(&value, &at.place); ++at.column) {
    ASSERT_TRUE(FetchValue(at, &shared, &blobs, &value).ok());
    fetched.emplace_back(AsText(value));
  }
  EXPECT_EQ(fetched, (std::vector<std::string>{"shared", "own"}));
  EXPECT_EQ(blobs.last_column, 9u);
}

TEST(StoredValuesTest, ErrorsOfReadingAreToldAsTheyAre) {
  const StoredRow row = StoredRow().Shared(Blob(3)).OffPage({.base = Blob(4)});
  Blobs blobs;
  SharedBlob shared(StoredRow::kShape, row.bytes(), &blobs);
  Bytes value;
  EXPECT_TRUE(shared.Next(&value).Is(Code::kIoError));
  Place place{};
  VariableReader reader = row.Reader();
  ASSERT_TRUE(reader.Next(&value, &place));
  EXPECT_TRUE(FetchValue({place, 1}, &shared, &blobs, &value).Is(Code::kIoError));
}

}  // namespace
}  // namespace rowan::stored_values_test
