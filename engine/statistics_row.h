// SPDX-License-Identifier: GPL-2.0-only
// A table's statistics as a row of the catalog's tree, where they outlive a restart. Format:
// docs/formats/catalog.md. Thread-safe.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "engine/table.h"

namespace rowan {

std::string EncodeStatistics(Table* table);
/// Publishes it in the table. kCorrupt, kNewerFormat: nothing is published.
Status DecodeStatistics(Bytes row, Table* table);

}  // namespace rowan
