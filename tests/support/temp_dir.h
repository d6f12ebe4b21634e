// SPDX-License-Identifier: GPL-2.0-only
// A folder of its own for one test, removed with everything in it at the end. Not thread-safe.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace rowan {

class TempDir {
 public:
  TempDir() {
    std::string pattern = ::testing::TempDir() + "/rowan_test_XXXXXX";
    const char* made = ::mkdtemp(pattern.data());
    if (made == nullptr) ADD_FAILURE() << "cannot create a folder like " << pattern;
    path_ = pattern;
  }
  ~TempDir() {
    std::error_code ignored;  // a folder left behind is no failure of the test
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace rowan
