// SPDX-License-Identifier: GPL-2.0-only
// What the optimizer and SHOW TABLE STATUS learn. info() takes no lock that writers hold.
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include <algorithm>

#include "sql/key.h"

#include "plugin/server/instance.h"
#include "plugin/server/system_variables.h"
#include "plugin/server/table_statistics.h"

namespace rowan {

namespace {

/// How many rows share the first `part` + 1 parts of a key, by what was counted, if it was. Parts
/// of the primary key after the declared ones never stay unknown: the server's guess for declared
/// parts goes on below 1 there, and a skip scan divides by its whole part.
float RowsPerKey(const KEY& key, uint part, const std::vector<float>& counted) {
  const bool unique = (key.flags & HA_NOSAME) != 0 && (key.flags & HA_NULL_PART_KEY) == 0;
  if (unique && part + 1 >= key.user_defined_key_parts) return 1.0F;
  if (part < counted.size()) return std::max(counted[part], 1.0F);
  return part < key.user_defined_key_parts ? REC_PER_KEY_UNKNOWN : 1.0F;
}

}  // namespace

int ha_rowan::info(uint flag) {
  if ((flag & HA_STATUS_ERRKEY) != 0) errkey = duplicate_key_;
  // Also with the variable part: INFORMATION_SCHEMA asks for nothing else of a cached table.
  if ((flag & (HA_STATUS_CONST | HA_STATUS_CONST_WHEN_UPDATED | HA_STATUS_VARIABLE)) != 0) {
    PublishRowsPerKey((flag & HA_STATUS_CONST) != 0);
  }
  if ((flag & (HA_STATUS_VARIABLE | HA_STATUS_CONST)) != 0) {
    ShowStatistics(engine_table()->statistics(), flag);
  }
  if ((flag & HA_STATUS_TIME) != 0) stats.update_time = engine_table()->update_time();
  if ((flag & HA_STATUS_AUTO) != 0 && table->found_next_number_field != nullptr) {
    stats.auto_increment_value = engine_table()->auto_increment();
  }
  return 0;
}

void ha_rowan::ShowStatistics(const Table::Statistics& now, uint flag) {
  FillStatistics(now, &stats);
  // 0 would let the optimizer treat the table as empty, which only a snapshot can tell.
  if (stats.records == 0 && (flag & HA_STATUS_TIME) == 0) stats.records = 1;
  stats.mrr_length_per_rec = ref_length + sizeof(void*);
  stats.block_size = static_cast<uint>(g_engine->options().storage.page_size_bytes);
}

void ha_rowan::PublishRowsPerKey(bool always) {
  Cardinalities* cardinalities = engine_table()->cardinalities();
  const bool outdated = cardinalities->Outdated(engine_table()->statistics().rows);
  const uint64_t state = cardinalities->version() * 2 + (outdated ? 1 : 0);
  if (!always && state == published_cardinalities_) return;
  published_cardinalities_ = state;
  // Statements never count: the background does, and the optimizer guesses until then.
  if (outdated) g_engine->WantStatistics();
  for (uint i = 0; i < table->s->keys; ++i) {
    // How many values share a code says nothing about how many are equal.
    if ((table->key_info[i].flags & HA_SPATIAL) != 0) continue;
    const std::vector<float> rows =
        outdated ? std::vector<float>() : cardinalities->Of(codec().IndexNumberOfKey(i));
    KEY& key = table->key_info[i];
    for (uint part = 0; part < key.actual_key_parts; ++part) {
      const float per_key = RowsPerKey(key, part, rows);
      key.set_records_per_key(part, per_key);
      if (key.rec_per_key == nullptr) continue;
      key.rec_per_key[part] =
          per_key == REC_PER_KEY_UNKNOWN ? 0 : static_cast<ulong>(std::max(per_key, 1.0F));
    }
  }
}

double ha_rowan::scan_time() {
  return static_cast<double>(std::max<uint64_t>(engine_table()->statistics().clustered_pages, 1));
}

double ha_rowan::read_time(uint index, uint ranges, ha_rows rows) {
  // MAX_KEY asks for the table itself.
  const bool secondary = index < table->s->keys && codec().IndexNumberOfKey(index) != 0;
  if (secondary) return handler::read_time(index, ranges, rows);
  return RowsReadTime(engine_table()->statistics(), ranges, rows);
}

double ha_rowan::RowsReadTime(const Table::Statistics& now, uint ranges, ha_rows rows) {
  if (rows <= 2) return static_cast<double>(rows);
  // Neighbouring rows share pages: a share of the whole scan, plus a descent for each range.
  const auto scan = static_cast<double>(std::max<uint64_t>(now.clustered_pages, 1));
  const auto total = static_cast<double>(std::max<uint64_t>(now.rows, 1));
  if (static_cast<double>(rows) >= total) return scan;
  return static_cast<double>(ranges) + static_cast<double>(rows) / total * scan;
}

longlong ha_rowan::get_memory_buffer_size() const {
  return static_cast<longlong>(BufferPoolBytes());
}

}  // namespace rowan
