// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/key_statistics.h"

#include <algorithm>
#include <vector>

#include "sql/key.h"
#include "sql/table.h"

#include "plugin/server/instance.h"

namespace rowan {
namespace {

/// How many rows share the first `part` + 1 parts of a key, as counted, if they were. Parts of the
/// primary key after the declared ones never stay unknown: the server's guess for declared parts
/// would fall below 1 there, and a skip scan divides by its integer part.
float RowsPerKey(const KEY& key, uint part, const std::vector<float>& counted) {
  const bool unique = (key.flags & HA_NOSAME) != 0 && (key.flags & HA_NULL_PART_KEY) == 0;
  if (unique && part + 1 >= key.user_defined_key_parts) return 1.0F;
  if (part < counted.size()) return std::max(counted[part], 1.0F);
  return part < key.user_defined_key_parts ? REC_PER_KEY_UNKNOWN : 1.0F;
}

}  // namespace

void KeyStatistics::Publish(const TablePart& part, bool always) {
  const TABLE& table = *part.server_table();
  Cardinalities* cardinalities = part.table()->cardinalities();
  const bool outdated = cardinalities->Outdated(part.table()->statistics().rows);
  const uint64_t state = cardinalities->version() * 2 + (outdated ? 1 : 0);
  if (!always && part.table() == table_ && state == state_) return;
  table_ = part.table();
  state_ = state;
  // Statements never count: the background does, and until then the optimizer guesses.
  if (outdated) g_engine->WantStatistics();
  for (uint i = 0; i < table.s->keys; ++i) {
    // How many values share a code does not tell how many are equal.
    if ((table.key_info[i].flags & HA_SPATIAL) != 0) continue;
    const std::vector<float> rows =
        outdated ? std::vector<float>() : cardinalities->Of(part.codec().IndexNumberOfKey(i));
    KEY& key = table.key_info[i];
    for (uint j = 0; j < key.actual_key_parts; ++j) {
      const float per_key = RowsPerKey(key, j, rows);
      key.set_records_per_key(j, per_key);
      if (key.rec_per_key == nullptr) continue;
      key.rec_per_key[j] =
          per_key == REC_PER_KEY_UNKNOWN ? 0 : static_cast<ulong>(std::max(per_key, 1.0F));
    }
  }
}

double RowsReadTime(const Table::Statistics& now, uint ranges, ha_rows rows) {
  if (rows <= 2) return static_cast<double>(rows);
  // Neighbouring rows share pages: a fraction of the whole scan, plus a descent for each range.
  const auto scan = static_cast<double>(std::max<uint64_t>(now.clustered_pages, 1));
  const auto total = static_cast<double>(std::max<uint64_t>(now.rows, 1));
  if (static_cast<double>(rows) >= total) return scan;
  return static_cast<double>(ranges) + static_cast<double>(rows) / total * scan;
}

}  // namespace rowan
