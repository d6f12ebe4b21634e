// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/constant.h"

namespace rowan {

bool Constant::Evaluate() { return false; }

}  // namespace rowan
