// SPDX-License-Identifier: GPL-2.0-only
// Cases of a test in a text file: a line each, `what is given => what is expected`, with columns
// that `|` separates; other lines, and those that begin with #, are for the reader. Plain
// functions.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace rowan {

struct TextCase {
  std::string line;
  std::vector<std::string> given;     ///< columns
  std::vector<std::string> expected;  ///< columns
};

inline std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// The parts between `separator`s, as they are.
inline std::vector<std::string> Split(const std::string& text, char separator) {
  std::istringstream stream(text + separator);
  std::vector<std::string> parts;
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

inline std::vector<TextCase> ReadTextCases(const std::string& path) {
  std::ifstream stream(path);
  std::vector<TextCase> cases;
  for (std::string line; std::getline(stream, line);) {
    const size_t arrow = line.find("=>");
    if (line.starts_with("#") || arrow == std::string::npos) continue;
    cases.push_back({line, Split(line.substr(0, arrow), '|'), Split(line.substr(arrow + 2), '|')});
  }
  return cases;
}

}  // namespace rowan
