// SPDX-License-Identifier: GPL-2.0-only
// The user that the file system takes the process for, for messages about permissions. Thread-safe.
#pragma once

#include <string>

namespace rowan {

/// The effective user's name and number.
std::string ProcessUser();

}  // namespace rowan
