// SPDX-License-Identifier: GPL-2.0-only
#include "base/function_ref.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace rowan {
namespace {

int Twice(FunctionRef<int(int)> function, int argument) { return function(function(argument)); }

TEST(FunctionRefTest, CallsWhatTheCallerHasAndCopiesNothing) {
  int calls = 0;
  auto count = [&calls, unique = std::make_unique<int>(3)](int argument) {
    ++calls;
    return argument + *unique;
  };
  EXPECT_EQ(Twice(count, 1), 7);
  EXPECT_EQ(calls, 2);
}

TEST(FunctionRefTest, PassesReferencesOnAndTakesWhatConverts) {
  std::string text;
  const auto add = [](std::string& target) { target += 'x'; };
  const FunctionRef<void(std::string&)> append = add;
  append(text);
  append(text);
  EXPECT_EQ(text, "xx");
  const auto narrow = [](short argument) { return static_cast<short>(argument + 1); };
  EXPECT_EQ(Twice(narrow, 5), 7);
}

int AddThree(int argument) { return argument + 3; }

TEST(FunctionRefTest, TakesFunctionsAndConstantObjects) {
  EXPECT_EQ(Twice(AddThree, 1), 7);
  const auto add_four = [](int argument) { return argument + 4; };
  EXPECT_EQ(Twice(add_four, 1), 9);
}

TEST(FunctionRefTest, SaysWhetherItRefersToAnything) {
  EXPECT_FALSE(FunctionRef<void()>());
  EXPECT_FALSE(FunctionRef<void()>(nullptr));
  EXPECT_TRUE(FunctionRef<void()>([] {}));
}

}  // namespace
}  // namespace rowan
