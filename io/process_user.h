// SPDX-License-Identifier: GPL-2.0-only
// The user that the process is to the file system, for messages about permissions. Thread-safe.
#pragma once

#include <string>

namespace rowan {

/// The effective user's name and number.
std::string ProcessUser();

}  // namespace rowan
