// SPDX-License-Identifier: GPL-2.0-only
// System variables of other components, by name. Thread safety: any thread with a connection.
#pragma once

#include <string>

namespace rowan {

/// The value in the current connection; empty when there is no such variable.
std::string ServerVariable(const char* name);

}  // namespace rowan
