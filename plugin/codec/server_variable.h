// SPDX-License-Identifier: GPL-2.0-only
// System variables of other components, by name. Thread safety: any thread with a connection.
#pragma once

#include <string>

namespace rowan {

/// As the current connection has it; empty when there is none of this name.
std::string ServerVariable(const char* name);

}  // namespace rowan
