// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/row_placement.h"

#include <gtest/gtest.h>

#include <string>

namespace rowan {
namespace {

using Place = PlacedValue::Place;

constexpr RowRoom kRoom{
    .fixed_bytes = 10, .wanted_bytes = 1000, .most_bytes = 2000, .large_value_bytes = 100};

/// The place of each of these lengths, as letters: row, own blob, shared; "" when it does not fit.
std::string Places(const RowRoom& room, const std::vector<size_t>& lengths,
                   size_t* row_bytes = nullptr) {
  const std::string bytes(1 << 20, 'x');
  std::vector<PlacedValue> values;
  for (const size_t length : lengths) {
    values.push_back({.value = AsBytes(std::string_view(bytes).substr(0, length))});
  }
  const std::optional<size_t> size = PlaceValues(room, &values);
  if (!size.has_value()) return "";
  if (row_bytes != nullptr) *row_bytes = *size;
  std::string places;
  for (const PlacedValue& value : values) places += "ros"[static_cast<size_t>(value.place)];
  return places;
}

TEST(RowPlacementTest, WhatFitsStaysInTheRow) {
  size_t bytes = 0;
  EXPECT_EQ(Places(kRoom, {}, &bytes), "");
  EXPECT_EQ(bytes, 10u);
  EXPECT_EQ(Places(kRoom, {300, 20, 600}, &bytes), "rrr");
  EXPECT_EQ(bytes, 10 + InRowBytes(300) + InRowBytes(20) + InRowBytes(600));
}

TEST(RowPlacementTest, LargeValuesMoveLongestFirstUntilTheRowHasNoMoreThanWanted) {
  size_t bytes = 0;
  EXPECT_EQ(Places(kRoom, {300, 800, 20, 600}, &bytes), "rorr");
  EXPECT_EQ(bytes, 10 + InRowBytes(300) + InRowBytes(20) + InRowBytes(600) + kOwnBlobRowBytes);
  EXPECT_EQ(Places(kRoom, {300, 1500, 800, 600}), "roor");
}

TEST(RowPlacementTest, OfEqualLengthsTheFirstMoves) { EXPECT_EQ(Places(kRoom, {600, 600}), "or"); }

TEST(RowPlacementTest, SmallValuesMoveTogetherAndOnlyWhereTheRowWouldNotFit) {
  // 1500 bytes of small values are more than wanted, but fit.
  EXPECT_EQ(Places(kRoom, std::vector<size_t>(15, 90)), std::string(15, 'r'));
  size_t bytes = 0;
  EXPECT_EQ(Places(kRoom, std::vector<size_t>(22, 90), &bytes), "s" + std::string(21, 'r'));
  EXPECT_EQ(bytes, 10 + 21 * InRowBytes(90) + kSharedBlobRowBytes + kBlobRefBytes);
}

TEST(RowPlacementTest, BeyondSixteenBlobsTheRestIsShared) {
  EXPECT_EQ(Places(kRoom, std::vector<size_t>(36, 150)),
            std::string(16, 'o') + std::string(9, 's') + std::string(11, 'r'));
}

TEST(RowPlacementTest, WhereReferencesTakeTooMuchAllIsShared) {
  RowRoom room = kRoom;
  room.most_bytes = room.wanted_bytes = 100;
  EXPECT_EQ(Places(room, std::vector<size_t>(10, 150)), std::string(10, 's'));
}

TEST(RowPlacementTest, TooManyColumnsDoNotFitHoweverManyMove) {
  EXPECT_FALSE(Places(kRoom, std::vector<size_t>(1900, 150)).empty());
  EXPECT_EQ(Places(kRoom, std::vector<size_t>(2100, 150)), "");
}

}  // namespace
}  // namespace rowan
