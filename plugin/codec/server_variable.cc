// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/server_variable.h"

#include "sql/current_thd.h"

#include "plugin/compat/server_line.h"

namespace rowan {

std::string ServerVariable(const char* name) { return VariableText(current_thd, name); }

}  // namespace rowan
