// SPDX-License-Identifier: GPL-2.0-only
// WriteBatch over libaio.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "io/write_batch.h"

namespace rowan {

/// kUnsupported when the kernel does not permit it; `*refusal` then says why, without full stop.
Result<std::unique_ptr<WriteBatch>> MakeAioBatch(uint32_t depth, std::string* refusal);

}  // namespace rowan
