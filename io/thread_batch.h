// SPDX-License-Identifier: GPL-2.0-only
// WriteBatch over a few threads that call File::Write and File::Read: works everywhere.
#pragma once

#include <cstdint>
#include <memory>

#include "io/write_batch.h"

namespace rowan {

std::unique_ptr<WriteBatch> MakeThreadBatch(uint32_t depth);

}  // namespace rowan
