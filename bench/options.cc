// SPDX-License-Identifier: GPL-2.0-only
#include "bench/options.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace rowan {
namespace {

std::vector<std::string> Split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

}  // namespace

bool ParseOptions(const std::vector<std::string>& arguments, const std::string& usage,
                  const boost::program_options::options_description& options,
                  boost::program_options::variables_map* values) {
  namespace po = boost::program_options;
  // Takes nothing without a name, so that a forgotten one is an error.
  const po::positional_options_description none;
  po::store(po::command_line_parser(arguments).options(options).positional(none).run(), *values);
  if (values->count("help") != 0) {
    std::cout << usage << "\n\n" << options;
    return false;
  }
  po::notify(*values);
  return true;
}

std::vector<LogSyncMethod> ParseMethods(const std::string& names) {
  std::vector<LogSyncMethod> methods;
  for (const std::string& name : Split(names)) {
    const size_t before = methods.size();
    for (size_t i = 1; i < kLogSyncMethods; ++i) {
      const auto method = static_cast<LogSyncMethod>(i);
      if (name == "all" || name == LogSyncMethodName(method)) methods.push_back(method);
    }
    if (methods.size() == before) throw std::invalid_argument("no sync method '" + name + "'");
  }
  if (methods.empty()) throw std::invalid_argument("no sync method named");
  return methods;
}

std::vector<int> ParseNumbers(const std::string& numbers) {
  std::vector<int> parsed;
  for (const std::string& text : Split(numbers)) {
    char* end = nullptr;
    const long number = std::strtol(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || number < 1 || number > 100000) {
      throw std::invalid_argument("'" + text + "' is not a number from 1 to 100000");
    }
    parsed.push_back(static_cast<int>(number));
  }
  if (parsed.empty()) throw std::invalid_argument("no number given");
  return parsed;
}

void Require(Status status, const std::string& what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what.c_str(), status.message());
  std::exit(1);
}

}  // namespace rowan
