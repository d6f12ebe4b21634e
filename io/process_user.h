// SPDX-License-Identifier: GPL-2.0-only
// Who the process is to the file system, for messages about rights. Thread-safe.
#pragma once

#include <string>

namespace rowan {

/// The effective user's name and number.
std::string ProcessUser();

}  // namespace rowan
