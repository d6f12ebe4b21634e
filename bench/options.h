// SPDX-License-Identifier: GPL-2.0-only
// What the commands share: parsing options, names of sync methods, checks that end the program.
// Single-threaded use.
#pragma once

#include <string>
#include <vector>

#include <boost/program_options.hpp>

#include "base/status.h"
#include "engine/options.h"

namespace rowan {

/// Fills `values`. False when the command is already done: it printed its help.
bool ParseOptions(const std::vector<std::string>& arguments, const std::string& usage,
                  const boost::program_options::options_description& options,
                  boost::program_options::variables_map* values);

/// The methods named in a comma-separated list; "all" means all. Throws std::invalid_argument.
std::vector<LogSyncMethod> ParseMethods(const std::string& names);
/// Positive numbers of a comma-separated list. Throws std::invalid_argument.
std::vector<int> ParseNumbers(const std::string& numbers);

/// Ends the program with a sentence unless `status` is Ok.
void Require(Status status, const std::string& what);

}  // namespace rowan
